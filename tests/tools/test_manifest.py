"""The comparison of two recordings notices a change. It goes with the tool, when issues 32 and 33 are done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.manifest.comparing import compare

DATA = {"pairs": {"parts": "bytes[9] 0a", "batches": ["1b", "2c"]}}


def recorded(place: Path, **sections: Any) -> Path:
    place.mkdir()
    for name, found in sections.items():
        (place / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    return place


def test_compare_notices_a_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = recorded(tmp_path / "old", data=DATA, costs={"seconds": 1.0}, settings={})
    same = recorded(tmp_path / "same", data=DATA, costs={"seconds": 2.0})
    changed = recorded(tmp_path / "changed", data={"pairs": {"parts": "bytes[9] 0a", "batches": ["1b", "3d"]}})
    failed = recorded(tmp_path / "failed", data={**DATA, "FAILED": "ImportError"})
    assert compare(old, same) == 0
    assert "data: equal (3 values)" in (said := capsys.readouterr().out)
    assert "not compared: settings" in said
    assert compare(old, changed) == 1
    assert capsys.readouterr().out.count("data / pairs / batches / 1\n    old  2c\n    new  3d") == 1
    assert compare(failed, failed) == 1
    assert compare(old, recorded(tmp_path / "other", networks={})) == 1
