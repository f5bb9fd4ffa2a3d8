"""Whatever was found, as JSON that is the same for every recording of the same checkout."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

TIMES = frozenset({"seconds", "tokens_per_second", "busy", "training_seconds", "pairs_per_second"})
LONG = 50_000  # characters of a text that is recorded as it is


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def array(value: Any) -> str:
    """Type, shape and digest of an array: `float32[3, 4] 0a1b...`."""
    value = np.asarray(value)
    if value.dtype == object:
        return plain(value.tolist())  # type: ignore[no-any-return]
    return f"{value.dtype}{list(value.shape)} {digest(np.ascontiguousarray(value).tobytes())}"


def plain(value: Any) -> Any:
    """JSON of a value; times are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names if name not in TIMES}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): plain(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, np.ndarray):
        return array(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | set | frozenset):
        several = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain(each) for each in several]
    if isinstance(value, bytes):
        return f"bytes[{len(value)}] {digest(value)}"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and len(value) > LONG:
        return f"text[{len(value)}] {digest(value.encode(errors='surrogatepass'))} {value[:200]}"
    if isinstance(value, str | int | float | bool | None):
        return value
    return f"{type(value).__name__} {value}"


def tensors(path: Path) -> dict[str, Any]:
    """Every array of a safetensors file, and its metadata."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    found: dict[str, Any] = {"": plain(header.pop("__metadata__", {}))}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        found[name] = f"{about['dtype']}{about['shape']} {digest(content[8 + size + begin : 8 + size + end])}"
    return found


def file(path: Path) -> Any:
    """A file of a model, a checkpoint or a dataset."""
    if path.suffix == ".safetensors":
        return tensors(path)
    if path.suffix == ".json":
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return digest(path.read_bytes())
        if path.name == "state.json":
            found.pop("sha256")  # of the times too
        return plain(found) if path.stat().st_size < 2 * LONG else f"json {digest(path.read_bytes())}"
    if path.suffix == ".jsonl":
        return [plain(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".gz":  # its header has the time
        return plain(gzip.decompress(path.read_bytes()))
    if path.suffix in (".toml", ".md", ".txt", ".tsv", ".csv") or path.name in ("latest", "best"):
        return plain(path.read_text(encoding="utf-8"))
    return plain(path.read_bytes())


def directory(place: Path, prefix: str = "") -> dict[str, Any]:
    """Every file below a directory, by its name."""
    paths = sorted(path for path in place.rglob("*") if path.is_file())
    return {f"{prefix}{path.relative_to(place).as_posix()}": file(path) for path in paths}
