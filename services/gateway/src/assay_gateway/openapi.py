"""The OpenAPI document, where FastAPI says more or less than is true."""

from typing import Any

from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Make this app's document true."""
    written = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = written()
            for item in described["paths"].values():
                for operation in item.values():
                    for parameter in operation.get("parameters", ()):
                        parameter["schema"] = _without_null(parameter["schema"])
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way of doing this


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or it is not; there is no way to send one that is null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**kinds[0], **rest}
