"""The quality to expect, at the end of `dragoman train`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.analysis import testing
from dragoman.analysis.verdict import verdict
from dragoman.errors import NonFiniteError
from dragoman.tasks.translation.testing import load_testing
from tests.cli.running import Done, Run
from tests.cli.test_train import SMALL
from tests.tasks.models import PAIRS, pairs_file, write_pairs


def trained(run: Run, model: Path) -> Done:
    return run("train", pairs_file(), "--out", model, "--epochs", "1", *SMALL)


def test_training_ends_with_the_quality_to_expect(tmp_path: Path, run: Run) -> None:
    done = trained(run, tmp_path / "m")
    assert (done.code, done.err) == (0, "")
    pairs = load_testing(tmp_path / "m")
    found = Translator.load(tmp_path / "m").evaluate(pairs)
    expected = verdict(found.judged)
    assert (
        f"{len(pairs)} testing pairs, beam of 4: BLEU {found.bleu.value:.1f}, chrF {found.chrf.value:.1f}" in done.out
    )
    assert f"Quality: {expected.expect}.\n{expected.caveat}\nNext:\n" in done.out
    assert "Quality" not in trained(run, tmp_path / "m").out, "nothing was trained"


def test_train_and_evaluate_judge_by_the_same_pairs(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a testing part with more pairs than a verdict takes, sorted by length as corpora are."""
    monkeypatch.setattr(testing, "JUDGED", 12)
    given = sorted(PAIRS, key=lambda pair: (len(pair[0]), pair))
    file = write_pairs(tmp_path / "sorted.tsv", given)
    ended = run("train", file, "--out", tmp_path / "m", "--epochs", "1", *SMALL)
    assert "12 testing pairs, beam of 4" in ended.out
    evaluated = run("evaluate", tmp_path / "m")
    [after], [again] = (
        [done.lines[i : i + 2] for i, line in enumerate(done.lines) if line.startswith("Quality: ")]
        for done in (ended, evaluated)
    )
    assert after == again
    assert "of 12 sentences" in after[1]


def test_a_quality_that_cannot_be_measured_costs_no_model(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverged(*_: object) -> None:
        raise NonFiniteError("the network has diverged")

    monkeypatch.setattr(Translator, "evaluate", diverged)
    done = trained(run, tmp_path / "m")
    assert (done.code, done.err) == (0, "")
    assert "The quality was not measured: the network has diverged" in done.out
    assert "Next:" in done.out


def test_a_model_without_testing_pairs_has_no_verdict(tmp_path: Path, run: Run) -> None:
    done = run(
        "train", pairs_file(), "--out", tmp_path / "m", "--epochs", "1", *SMALL, "--set", "data.shares=[0.9, 0.1, 0.0]"
    )
    assert (done.code, done.err) == (0, "")
    assert "Quality" not in done.out
