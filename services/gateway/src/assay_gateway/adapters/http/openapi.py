"""The OpenAPI document, where FastAPI says more or less than is true."""

from fastapi import FastAPI

Schema = dict[str, object]


class TrueDocument(FastAPI):
    """An app whose document says nothing that no client can do."""

    def openapi(self) -> Schema:
        if self.openapi_schema is None:
            for item in super().openapi()["paths"].values():
                for operation in item.values():
                    for parameter in operation.get("parameters", ()):
                        parameter["schema"] = _without_null(parameter["schema"])
        assert self.openapi_schema is not None
        return self.openapi_schema


def _without_null(schema: Schema) -> Schema:
    """A parameter is there or it is not; there is no way to send one that is null."""
    kinds = schema.get("anyOf", ())
    assert isinstance(kinds, list | tuple)
    possible = [kind for kind in kinds if kind != {"type": "null"}]
    if len(possible) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**possible[0], **rest}
