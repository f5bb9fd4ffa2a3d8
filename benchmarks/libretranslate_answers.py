"""Answers of the servers that benchmarks/libretranslate.py compares, and the form of their JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Answer:
    status: int
    value: Any  # JSON, or a text that says what else it is

    @classmethod
    def of(cls, response: httpx.Response) -> Answer:
        kind = response.headers.get("content-type", "")
        if "json" in kind:
            return cls(response.status_code, _followed(response.json(), response.url))
        if response.status_code == 200 and "version=0.0.4" in kind:
            names = re.findall(r"^# TYPE (libretranslate_\w+ \w+)$", response.text, flags=re.MULTILINE)
            return cls(200, " and ".join(sorted(names)))
        return cls(response.status_code, f"({kind.partition(';')[0]})")

    @property
    def shape(self) -> str:
        if isinstance(self.value, dict) and list(self.value) == ["error"]:
            return f"error: {self.value['error']}"
        return self.value if isinstance(self.value, str) else shape(self.value)


def _followed(value: Any, asked: httpx.URL) -> Any:
    """An answer with what it points to: the translated file; of a description its version and routes."""
    if isinstance(value, dict) and "translatedFileUrl" in value:
        file = httpx.get(asked.join(value["translatedFileUrl"]))
        name = re.sub("[0-9a-f-]{36}[.]", "UUID.", value["translatedFileUrl"].rpartition("/")[2])
        disposition = file.headers["content-disposition"].partition(";")[0]
        return {"translatedFileUrl": name, "file": file.text, "disposition": disposition}
    if isinstance(value, dict) and "swagger" in value:
        return {"swagger": value["swagger"], "paths": sorted(re.sub("[{<].*", "", path) for path in value["paths"])}
    return value


def shape(value: Any) -> str:
    """The form of JSON: names and types."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {shape(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return f"[{' | '.join(dict.fromkeys(shape(each) for each in value))}]"
    return {bool: "true/false", int: "number", float: "number", str: "text", type(None): "null"}[type(value)]
