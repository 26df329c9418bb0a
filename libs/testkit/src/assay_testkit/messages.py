"""Values of any contract, made from its published schema."""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar, cast

from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from assay_contracts.base import Model

M = TypeVar("M", bound=Model)
Schema = Mapping[str, JsonValue]

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_FORMATS = {
    "uuid": st.uuids().map(str),
    "date-time": st.just("2026-02-20T12:00:00Z"),
}
_PATTERNS = {
    "^[0-9a-f]{64}$": st.just("ab" * 32),
}


@cache
def message_of(contract: type[M]) -> st.SearchStrategy[M]:
    """Any instance of the contract, as far as its schema tells what it may be."""
    schema = contract.model_json_schema()
    definitions = cast("Mapping[str, Schema]", schema.get("$defs", {}))
    adapter = TypeAdapter(contract)

    def is_valid(value: object) -> bool:
        try:
            adapter.validate_python(value)
        except ValueError:
            return False
        return True

    values = _of(schema, definitions, 0).filter(is_valid)
    return values.map(adapter.validate_python)


def _of(schema: Schema, named: Mapping[str, Schema], depth: int) -> st.SearchStrategy[object]:
    if "$ref" in schema:
        return _of(named[str(schema["$ref"]).rpartition("/")[2]], named, depth + 1)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(cast("list[object]", schema["enum"]))
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return st.one_of([_of(each, named, depth) for each in cast("list[Schema]", choices)])
    if schema.get("type") == "object":
        return _object(schema, named, depth)
    if schema.get("type") == "array":
        return _array(schema, named, depth)
    return _scalar(schema)


def _scalar(schema: Schema) -> st.SearchStrategy[object]:
    least = int(cast("int", schema.get("minimum", 0)))
    most = int(cast("int", schema.get("maximum", 100)))
    return {
        "string": _string(schema),
        "integer": st.integers(least, most),
        "number": st.floats(0.5, 1.0),
        "boolean": st.booleans(),
        "null": st.none(),
    }.get(str(schema.get("type")), st.just({}))


def _object(schema: Schema, named: Mapping[str, Schema], depth: int) -> st.SearchStrategy[object]:
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    required = set(cast("list[str]", schema.get("required", [])))
    fields = {name: _of(each, named, depth + 1) for name, each in properties.items()}
    return st.fixed_dictionaries(
        {name: each for name, each in fields.items() if name in required},
        optional={name: each for name, each in fields.items() if name not in required},
    )


def _array(schema: Schema, named: Mapping[str, Schema], depth: int) -> st.SearchStrategy[object]:
    if "prefixItems" in schema:
        items = cast("list[Schema]", schema["prefixItems"])
        return st.tuples(*(_of(each, named, depth + 1) for each in items)).map(list)
    least = int(cast("int", schema.get("minItems", 0)))
    if depth > 4 and least == 0:
        return st.just([])
    each = _of(cast("Schema", schema.get("items", {})), named, depth + 1)
    return st.lists(each, min_size=least, max_size=max(least, 2))


def _string(schema: Schema) -> st.SearchStrategy[str]:
    if schema.get("format") in _FORMATS:
        return _FORMATS[str(schema["format"])]
    if "pattern" in schema:
        pattern = str(schema["pattern"])
        if pattern in _PATTERNS:
            return _PATTERNS[pattern]
        return st.from_regex(pattern, fullmatch=True)
    least = int(cast("int", schema.get("minLength", 0)))
    return _TEXT if least == 0 else st.text("abc", min_size=least, max_size=least + 3)
