"""The toy task of the examples: a sound network gets all of it right."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dragoman.optimization import Adam
from tests.waiting import LONGEST

EXAMPLE = Path(__file__).parents[2] / "examples" / "reverse.py"


def test_every_unseen_sequence_is_written_backwards() -> None:
    finished = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=LONGEST, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.splitlines()[-1] == "500 of 500 unseen sequences written without a mistake: 100.0%"
    assert finished.stderr == ""


@pytest.fixture
def example() -> ModuleType:
    specification = importlib.util.spec_from_file_location("reverse", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.ledger("L-61-adam")
def test_the_example_trains_with_adam_as_it_comes(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reached(Exception):
        pass

    def train(network: Any, batches: Any, optimizer: Any, *_: Any, **__: Any) -> None:
        assert type(optimizer) is Adam
        assert vars(optimizer) == vars(Adam())
        raise Reached

    monkeypatch.setattr(example, "train", train)
    with pytest.raises(Reached):
        example.main()
