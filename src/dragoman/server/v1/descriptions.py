"""Parts of the OpenAPI description that FastAPI cannot find in signatures."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from dragoman.server.v1.requests import PredictForm, PredictRequest


def inlined(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model, with the definitions of other models put where they are used."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def replaced(found: Any) -> Any:
        if isinstance(found, dict):
            if "$ref" in found:
                rest = {name: value for name, value in found.items() if name != "$ref"}
                return {**replaced(definitions[found["$ref"].rpartition("/")[2]]), **rest}
            return {name: replaced(value) for name, value in found.items()}
        return [replaced(each) for each in found] if isinstance(found, list) else found

    whole: dict[str, Any] = replaced(schema)
    return whole


PREDICT_BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": inlined(PredictRequest)},
        "multipart/form-data": {"schema": inlined(PredictForm)},
    },
}
EVENTS: dict[str, Any] = {
    "description": "The text, part by part; or with `stream` false a JSON object.",
    "content": {
        "text/event-stream": {
            "example": 'data: {"text": "there was"}\n\ndata: {"done": true, "tokens": 2, "reason": "length"}\n\n',
        }
    },
}
