"""The private copy of the models that are served."""

from __future__ import annotations

import os
import resource
import tempfile
from pathlib import Path

import pytest

from dragoman.errors import ConfigurationError, FileFormatError
from dragoman.server.pinning import PREFIX, PinnedModels

FILES = {"model.json": "{}", "weights.safetensors": "weights", "golden.jsonl": "{}\n", "evaluation/report.json": "{}"}
LEFT_OUT = {"testing.jsonl.gz": "customers", "checkpoints/latest": "7", ".lock": "1", "configuration.toml": ""}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for name, text in (FILES | LEFT_OUT).items():
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "model"


def files(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}


def test_a_copy_has_what_serving_needs_and_stays_as_it_was(model: Path) -> None:
    pinned = PinnedModels.copy({"model": model})
    (model / "weights.safetensors").write_text("another")  # in place, as `cp` does
    assert files(pinned.places["model"]) == FILES
    pinned.remove()
    assert not pinned.folder.exists()


@pytest.mark.parametrize(
    ("name", "same"), [("weights.safetensors", False), ("model.json", False), ("golden.jsonl", True), (".lock", True)]
)
def test_the_digest_tells_models_apart(model: Path, name: str, same: bool) -> None:
    before = PinnedModels.copy({"a": model})
    (model / name).write_text("changed")
    after = PinnedModels.copy({"b": model})
    assert (before.digests["a"] == after.digests["b"]) == same


def test_messages_name_directories_to_the_operator_and_models_to_clients(model: Path) -> None:
    pinned = PinnedModels.copy({"name": model})
    message = f"{pinned.places['name']}/weights.safetensors is damaged"
    assert pinned.for_operator(message) == f"{model}/weights.safetensors is damaged"
    assert pinned.for_clients(message) == "name/weights.safetensors is damaged"


def test_a_pipe_is_refused(model: Path) -> None:
    (model / "weights.safetensors").unlink()
    os.mkfifo(model / "weights.safetensors")
    with pytest.raises(FileFormatError, match=r"model/weights\.safetensors is not a regular file"):
        PinnedModels.copy({"model": model})
    assert not list(Path(tempfile.gettempdir()).iterdir())


def test_a_copy_for_which_there_is_no_room_is_told(model: Path) -> None:
    (model / "weights.safetensors").write_bytes(bytes(10_000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, before[1]))
    try:
        with pytest.raises(ConfigurationError, match=r"File too large.*TMPDIR"):
            PinnedModels.copy({"model": model})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_copies_of_servers_that_were_killed_are_removed(model: Path) -> None:
    used, abandoned = PinnedModels.copy({"model": model}), PinnedModels.copy({"model": model})
    abandoned.lock.close()  # as the system does when a process ends
    unknown = Path(tempfile.mkdtemp(prefix=PREFIX))
    assert PinnedModels.copy({"model": model}).folder.exists()
    assert (used.folder.exists(), abandoned.folder.exists(), unknown.exists()) == (True, False, True)
