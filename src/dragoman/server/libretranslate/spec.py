"""Describe the routes: Swagger 2.0 as LibreTranslate has it at `/spec`, and the bodies for our own OpenAPI page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman import __version__

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
CODE: Schema = {"type": "string", "example": "en"}
FIELDS: dict[str, tuple[str, Schema]] = {
    "q": ("Text, or in JSON a list of texts", {"type": "string", "example": "The plant is green."}),
    "s": ("Better translation", {"type": "string", "example": "La planta es verde."}),
    "source": ('Language of the text; "auto" detects it', {"type": "string", "example": "en"}),
    "target": ("Language of the translation", {"type": "string", "example": "es"}),
    "format": ("Format of the text", {"type": "string", "enum": ["text", "html"], "default": "text"}),
    "alternatives": ("Number of other translations", {"type": "integer", "minimum": 0, "default": 0}),
    "file": ("File to translate", {"type": "file"}),
    "api_key": ("API key, where the server asks for one", TEXT),
}
DEFINITIONS: dict[str, Schema] = {
    "error": {"type": "object", "required": ["error"], "properties": {"error": TEXT}},
    "detection": {
        "type": "object",
        "required": ["confidence", "language"],
        "properties": {"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": CODE},
    },
    "language": {
        "type": "object",
        "required": ["code", "name", "targets"],
        "properties": {"code": CODE, "name": TEXT, "targets": {"type": "array", "items": CODE}},
    },
}
TRANSLATION: Schema = {
    "type": "object",
    "required": ["translatedText"],
    "properties": {
        "translatedText": {"description": "Text, or a list of texts"},
        "detectedLanguage": {"description": "A detection, or one for each text"},
        "alternatives": {"type": "array", "items": {}, "description": "Texts, or a list of texts for each text"},
    },
}
SETTINGS: Schema = {
    "type": "object",
    "properties": {
        "charLimit": {"type": "integer"},
        "frontendTimeout": {"type": "integer"},
        "apiKeys": {"type": "boolean"},
        "keyRequired": {"type": "boolean"},
        "suggestions": {"type": "boolean"},
        "filesTranslation": {"type": "boolean"},
        "supportedFilesFormat": {"type": "array", "items": TEXT},
        "language": {"type": "object"},
    },
}


@dataclass(frozen=True)
class Operation:
    """One route.

    fields  names of FIELDS that it reads; those before "|" must be there
    answer  schema of its JSON; None: it is not JSON
    errors  statuses of errors
    """

    path: str
    method: str
    summary: str
    fields: str = ""
    answer: Schema | None = None
    errors: tuple[int, ...] = ()

    @property
    def required(self) -> list[str]:
        return self.fields.partition("|")[0].split()

    @property
    def names(self) -> list[str]:
        return self.fields.replace("|", " ").split()


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/definitions/{name}"}}


LIMITS = (400, 403, 413, 429, 503)
OPERATIONS = (
    Operation(
        "/translate", "post", "Translate text", "q source target | format alternatives api_key", TRANSLATION, LIMITS
    ),
    Operation("/detect", "post", "Detect the language of a text", "q | api_key", _list_of("detection"), LIMITS),
    Operation("/languages", "get", "Languages that are served", answer=_list_of("language"), errors=(403, 503)),
    Operation(
        "/translate_file",
        "post",
        "Translate a file",
        "file source target | api_key",
        {"type": "object", "required": ["translatedFileUrl"], "properties": {"translatedFileUrl": TEXT}},
        LIMITS,
    ),
    Operation("/download_file/{name}", "get", "Download a translated file", errors=(403, 404)),
    Operation(
        "/suggest",
        "post",
        "Suggest a better translation",
        "q s source target | api_key",
        {"type": "object", "properties": {"success": {"type": "boolean"}}},
        LIMITS,
    ),
    Operation("/frontend/settings", "get", "What a page needs to know", answer=SETTINGS, errors=(403, 503)),
    Operation("/health", "get", "Whether the models are ready", answer={"type": "object"}, errors=(403, 503)),
)


def swagger() -> dict[str, Any]:
    """The description of all routes in Swagger 2.0."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _swagger_operation(operation)
    return {
        "swagger": "2.0",
        "info": {"title": "Dragoman", "version": __version__, "description": "The LibreTranslate API."},
        "basePath": "/",
        "paths": paths,
        "definitions": DEFINITIONS,
    }


def _swagger_operation(operation: Operation) -> dict[str, Any]:
    success: Schema = {"description": "Success"} | ({"schema": operation.answer} if operation.answer else {})
    error = {"description": "Error", "schema": {"$ref": "#/definitions/error"}}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "tags": ["LibreTranslate"],
        "parameters": [_parameter(name, name in operation.required) for name in operation.names],
        "responses": {"200": success} | {str(status): error for status in operation.errors},
    }
    if "{name}" in operation.path:
        described["parameters"] = [{"in": "path", "name": "name", "required": True, "type": "string"}]
    if operation.fields:
        kinds = ["multipart/form-data", "application/x-www-form-urlencoded"]
        described["consumes"] = kinds[:1] if "file" in operation.names else kinds
    return described


def _parameter(name: str, required: bool) -> dict[str, Any]:
    description, schema = FIELDS[name]
    kept = {key: value for key, value in schema.items() if key != "example"}  # parameters have none in Swagger 2.0
    return {"in": "formData", "name": name, "required": required, "description": description, **kept}


def request_body(path: str) -> dict[str, Any]:
    """The body of a POST route in OpenAPI 3, which FastAPI cannot know: the route reads three content types."""
    operation = next(one for one in OPERATIONS if one.path == path)
    properties = {name: {**FIELDS[name][1], "description": FIELDS[name][0]} for name in operation.names}
    files = "file" in operation.names
    if files:
        properties["file"] = {"type": "string", "format": "binary", "description": FIELDS["file"][0]}
    schema = {"type": "object", "required": operation.required, "properties": properties}
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds[2 * files :]}}}
