"""What to do about a part that is empty and needed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import DataError
from dragoman.tasks.parts import PREPARED, check_validation


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("folder/training.tsv", "put pairs into folder/validation.tsv"),
        ("folder/training.tsv.gz", "put pairs into folder/validation.tsv.gz"),
        (f"folder/{PREPARED}", r"dragoman data prepare --shares"),
        ("pairs.tsv", "name another file as data.validation"),
        (None, "raise the second of data.shares"),
    ],
)
def test_the_remedy_is_one_for_this_data(
    file: str | None, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path(file or "pairs.tsv").touch()
    given = "folder" if file and file.startswith("folder") else "pairs.tsv"
    settings: Any = SimpleNamespace(
        task="translation",
        data=SimpleNamespace(split="given" if file else "random", files=(given,)),
        stopping=SimpleNamespace(patience=2),
        progress=SimpleNamespace(every=None, scores=(), samples=0),
        checkpoints=SimpleNamespace(best_by="error", average=1),
    )
    check_validation(settings, {"validation": 1})
    with pytest.raises(DataError, match=f"empty, but stopping.patience needs it; .*{remedy}.*, or leave it out"):
        check_validation(settings, {"validation": 0})
