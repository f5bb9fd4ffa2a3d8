"""Commands in this process, the models they work on, and a cache of the tests' own."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from dragoman.cli import main
from tests.cli.running import Done, Run, text_stream
from tests.tasks.conftest import own_cache, taught, translator, undertrained, word_translator

__all__ = ["own_cache", "taught", "translator", "undertrained", "word_translator"]

engine_state = sys.modules["dragoman.graph.operation"]  # `dragoman.graph.operation` itself is the decorator


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`dragoman ...` without a new process; a bug is an exception here too."""

    def command(*arguments: str | Path, stdin: bytes = b"") -> Done:
        capsys.readouterr()
        for state in ("_engine", "_chosen"):  # a command chooses the engine of its process; restored after the test
            monkeypatch.setattr(engine_state, state, getattr(engine_state, state))
        monkeypatch.setattr(sys, "argv", ["dragoman", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", text_stream(stdin))
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        assert isinstance(code, int)
        return Done(code, *capsys.readouterr())

    return command


@pytest.fixture
def model(undertrained: Path, tmp_path: Path) -> Path:
    """A copy of a trained model, to write into."""
    return Path(shutil.copytree(undertrained, tmp_path / "model"))
