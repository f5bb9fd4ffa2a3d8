"""From `dragoman data split` to `dragoman train`: its files, its folder, and parts that are empty or far too small."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman.data.splits import PARTS, Splitting, assign_parts
from dragoman.tasks import planning
from dragoman.tasks.configuration import read_toml
from dragoman.tasks.model import load_metadata
from dragoman.tasks.planning import Speed
from dragoman.tasks.translation.testing import load_testing
from tests.cli.running import Done, Run
from tests.tasks.models import PAIRS, pairs_file, told_history, write_pairs

SMALL = [
    *("--threads", "1", "--epochs", "1"),
    *("--set", "network.depth=16", "--set", "network.perceptron_depth=32", "--set", "network.heads=2"),
    *("--set", "optimizer.batch=32"),
]
THREE_FIFTHS = ["--shares", "60,20,20"]
TENTHS = ["--set", "data.shares=[0.8, 0.1, 0.1]"]


@pytest.fixture
def parts(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a split of all pairs, beside which the commands run."""
    monkeypatch.chdir(tmp_path)
    done = run("data", "split", pairs_file(), "--out", "parts", *THREE_FIFTHS)
    assert done.code == 0, done.err
    return Path("parts")


def warnings_of_parts(done: Done) -> list[str]:
    """All warnings but that of a small corpus."""
    return [line for line in done.lines if line.startswith("warning: ") and "pairs to train on" not in line]


def pairs_of(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


# A file of a split


@pytest.mark.parametrize("name", ["training", "testing"])
def test_a_file_of_a_split_is_split_like_any_other(name: str, parts: Path, run: Run) -> None:
    done = run("train", parts / f"{name}.tsv", "--out", "model", *SMALL, *TENTHS)
    assert done.code == 0, done.err
    assert not warnings_of_parts(done)
    found = load_metadata(Path("model")).data.parts
    total = len(pairs_of(parts / f"{name}.tsv"))
    assert sum(found.values()) == total
    for part, share in zip(PARTS, (0.8, 0.1, 0.1), strict=True):
        assert found[part] == pytest.approx(share * total, abs=4 * (share * (1 - share) * total) ** 0.5), part
        assert found[part] > 0


def test_split_says_how_to_train_on_its_folder(parts: Path, run: Run) -> None:
    done = run("data", "split", pairs_file(), "--out", "my parts")
    assert "Next: dragoman train 'my parts' --out model" in done.out
    assert done.code == 0


# The folder of a split


def test_a_folder_is_trained_on_with_its_parts_as_they_are(parts: Path, run: Run) -> None:
    done = run("train", "parts/", "--out", "model", *SMALL, "--scores", "chrf")
    assert (done.code, done.err) == (0, "")
    assert not warnings_of_parts(done)
    expected = {name: pairs_of(parts / f"{name}.tsv") for name in PARTS}
    metadata = load_metadata(Path("model"))
    assert metadata.data.parts == {name: len(pairs) for name, pairs in expected.items()}
    assert (metadata.data.files, metadata.data.split) == (("parts/",), "given")
    assert metadata.data.shares == pytest.approx([len(expected[name]) / len(PAIRS) for name in PARTS])
    assert load_testing(Path("model")) == expected["testing"]
    assert {"validation_error", "chrf"} <= told_history(Path("model"))[-1].keys()
    assert f"{len(expected['validation'])} validation" in run("inspect", "model").out
    assert "parts as given" in run("inspect", "model").out


def test_only_the_training_file_of_a_folder_is_learnt_from(parts: Path, run: Run) -> None:
    with (parts / "validation.tsv").open("a", encoding="utf-8") as file:
        file.write("A xylophone sounds.\tSuena un xilófono.\n")
    assert run("train", "parts", "--out", "model", *SMALL, "--set", "data.tokenizer=words").code == 0
    known = Path("model/source-tokenizer.json").read_text(encoding="utf-8")
    assert "sister" in known
    assert "xylophone" not in known


def test_a_testing_file_can_be_evaluated_on(parts: Path, run: Run) -> None:
    assert run("train", "parts", "--out", "model", *SMALL).code == 0
    done = run("evaluate", "model", "parts/testing.tsv", "--beam", "1")
    assert done.code == 0, done.err
    assert f"{len(pairs_of(parts / 'testing.tsv'))} sentences" in done.out


def test_fine_tuning_on_a_folder(parts: Path, undertrained: Path, run: Run) -> None:
    done = run("train", "parts", "--out", "model", "--from", undertrained, "--epochs", "1")
    assert done.code == 0, done.err
    assert load_metadata(Path("model")).data.parts["training"] == len(pairs_of(parts / "training.tsv"))
    tokenizer = "source-tokenizer.json"
    assert (Path("model") / tokenizer).read_bytes() == (undertrained / tokenizer).read_bytes()


def test_columns_may_be_turned_around(parts: Path, run: Run) -> None:
    assert run("train", "parts", "--columns", "2,1", "--out", "model", *SMALL).code == 0
    assert load_testing(Path("model")) == [pair[::-1] for pair in pairs_of(parts / "testing.tsv")]


def test_a_folder_is_planned_for(parts: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []

    def measure(settings: Any, dataset: Any) -> Speed:
        counted.append(dataset.about["parts"])
        return Speed(1000, 0.01, 5000.0, 100, 1.0, 2**20)

    monkeypatch.setattr(planning, "measure", measure)
    done = run("plan", "parts")
    assert done.code == 0, done.err
    assert counted[0] == {name: len(pairs_of(parts / f"{name}.tsv")) for name in PARTS}
    assert "Next: dragoman train parts --budget 1h" in done.out


def test_the_same_command_and_the_saved_configuration_resume(parts: Path, run: Run) -> None:
    command = ["train", "parts", "--out", "model", *SMALL]
    assert run(*command).code == 0
    again = run(*command)
    assert again.code == 0, again.err
    assert "Nothing left to do" in again.out
    assert read_toml(Path("model/configuration.toml"))["data"]["split"] == "given"
    again = run("train", "model/configuration.toml")
    assert again.code == 0, again.err
    assert "Nothing left to do" in again.out


@pytest.mark.parametrize("name", PARTS)
def test_a_folder_with_another_part_is_another_training(name: str, parts: Path, run: Run) -> None:
    command = ["train", "parts", "--out", "model", *SMALL]
    assert run(*command).code == 0
    with (parts / f"{name}.tsv").open("a", encoding="utf-8") as file:
        file.write("Our teacher sleeps.\tNuestro maestro duerme.\n")
    done = run(*command)
    assert (done.code, done.out) == (2, "")
    assert "was trained on other data than parts holds now" in done.err


def test_pairs_that_moved_to_another_part_are_another_training(parts: Path, run: Run) -> None:
    command = ["train", "parts", "--out", "model", *SMALL]
    (parts / "testing.tsv").unlink()
    assert run(*command).code == 0
    (parts / "validation.tsv").rename(parts / "testing.tsv")
    assert "was trained on other data" in run(*command).err


@pytest.mark.parametrize("setting", ["data.split=sample", "data.split=source", "data.shares=[0.8, 0.1, 0.1]"])
def test_a_folder_is_not_split_again(setting: str, parts: Path, run: Run) -> None:
    done = run("train", "parts", "--out", "model", *SMALL, "--set", setting)
    assert (done.code, done.out) == (2, "")
    assert f"parts is a folder, whose parts are used as they are; leave {setting.partition('=')[0]} out" in done.err
    assert not Path("model").exists()


def test_a_recipe_that_splits_does_not_mind_a_folder(parts: Path, run: Run) -> None:
    done = run("train", "parts", "--out", "model", *SMALL, "--recipe", "thesis")
    assert done.code == 0, done.err
    assert load_metadata(Path("model")).data.parts["training"] == len(pairs_of(parts / "training.tsv"))


# Folders that lack something


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_without_validation_pairs_the_last_weights_are_kept_with_a_warning(how: str, parts: Path, run: Run) -> None:
    (parts / "validation.tsv").unlink()
    if how == "empty":
        (parts / "validation.tsv").touch()
    done = run("train", "parts", "--out", "model", *SMALL)
    assert done.code == 0, done.err
    assert f"warning: parts/validation.tsv is {how}: nothing is validated" in done.out
    assert "the last weights are kept" in done.out
    assert load_metadata(Path("model")).data.parts["validation"] == 0


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_without_testing_pairs_evaluate_needs_a_file(how: str, parts: Path, run: Run) -> None:
    (parts / "testing.tsv").unlink()
    if how == "empty":
        (parts / "testing.tsv").touch()
    done = run("train", "parts", "--out", "model", *SMALL)
    assert done.code == 0, done.err
    assert f"warning: parts/testing.tsv is {how}: `dragoman evaluate` will need a file of pairs" in done.out


def test_a_setting_that_needs_the_missing_file_is_named(parts: Path, run: Run) -> None:
    (parts / "validation.tsv").unlink()
    done = run("train", "parts", "--out", "model", *SMALL, "--patience", "2", "--scores", "bleu")
    assert (done.code, done.out) == (2, "")
    assert "the validation part is empty, but stopping.patience and progress.scores need it" in done.err
    assert "put pairs into parts/validation.tsv" in done.err
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothing"], "nothing is a folder without training.tsv; expected one that `dragoman data split` wrote"),
        (["parts", "pairs.tsv"], "'parts' is a folder and must be the only argument"),
        (["pairs.tsv", "--set", "data.split=given"], "pairs.tsv is not a folder"),
        (["bare"], "bare/training.tsv is empty"),
    ],
)
def test_folders_that_cannot_be_trained_on(arguments: list[str], expected: str, parts: Path, run: Run) -> None:
    Path("nothing").mkdir()
    Path("nothing/validation.tsv").touch()
    shutil.copytree(parts, "bare")
    Path("bare/training.tsv").write_bytes(b"")
    write_pairs(Path("pairs.tsv"), PAIRS)
    done = run("train", *arguments, "--out", "model", *SMALL)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert not Path("model").exists()


# Parts that are far from their share, or empty


def already_split(path: Path, part: str) -> str:
    """Pairs that a training with seed 0 and shares of 60, 20 and 20 per cent would all put into one part."""
    found = assign_parts([source for source, _ in PAIRS], Splitting())
    return write_pairs(path, [pair for pair, i in zip(PAIRS, found, strict=True) if PARTS[i] == part])


def test_a_part_far_from_its_share_is_warned_of(tmp_path: Path, run: Run) -> None:
    file = already_split(tmp_path / "training.tsv", "training")
    done = run("train", file, "--out", tmp_path / "model", *SMALL, "--set", "data.shares=[0.5, 0.3, 0.2]")
    assert done.code == 0, done.err
    warnings = warnings_of_parts(done)
    assert len(warnings) == 3
    assert "pairs (83." in warnings[0]
    assert "are in the training part, far from its share of 50.0%" in warnings[0]
    assert "may have been split with this seed before" in warnings[0]
    assert "another --seed" in warnings[0]
    assert "the testing part is empty although its share is 20.0%" in warnings[2]


def test_an_empty_validation_part_is_warned_of(tmp_path: Path, run: Run) -> None:
    file = already_split(tmp_path / "training.tsv", "training")
    done = run("train", file, "--out", tmp_path / "model", *SMALL, "--set", "data.shares=[0.6, 0.2, 0.2]")
    assert done.code == 0, done.err
    assert "warning: the validation part is empty although its share is 20.0% of" in done.out
    assert "the last weights are kept" in done.out


def test_few_pairs_may_be_far_from_their_shares_by_chance(tmp_path: Path, run: Run) -> None:
    """One validation pair where two were expected is nothing to warn of."""
    file = write_pairs(tmp_path / "few.tsv", PAIRS[:40])
    done = run("train", file, "--out", tmp_path / "model", *SMALL, "--seed", "29")
    assert done.code == 0, done.err
    assert load_metadata(tmp_path / "model").data.parts == {"training": 36, "validation": 1, "testing": 3}
    assert not warnings_of_parts(done)


def test_a_share_of_nothing_is_a_choice(tmp_path: Path, run: Run) -> None:
    done = run("train", pairs_file(), "--out", tmp_path / "model", *SMALL, "--set", "data.shares=[1.0, 0.0, 0.0]")
    assert done.code == 0, done.err
    assert not warnings_of_parts(done)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--patience", "2"], "stopping.patience needs"),
        (["--scores", "chrf"], "progress.scores needs"),
        (["--samples", "1"], "progress.samples needs"),
        (["--set", "progress.every=5"], "progress.every needs"),
        (["--set", "checkpoints.best_by=accuracy"], "checkpoints.best_by needs"),
        (["--set", "checkpoints.average=2"], "checkpoints.average needs"),
        (["--patience", "2", "--samples", "1", "--scores", "chrf"], "patience, progress.scores and progress.samples"),
    ],
)
def test_an_empty_part_that_is_needed_ends_the_command(
    options: list[str], named: str, tmp_path: Path, run: Run
) -> None:
    share = ["--set", "data.shares=[0.9, 0.0, 0.1]"]
    done = run("train", pairs_file(), "--out", tmp_path / "model", *SMALL, *share, *options)
    assert (done.code, done.out) == (2, "")
    assert "the validation part is empty, but " in done.err
    assert named in done.err
    assert "data.shares" in done.err
    assert not (tmp_path / "model").exists(), "a training that never began leaves nothing behind"


def test_plan_warns_too(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "measure", lambda *_: Speed(1000, 0.01, 5000.0, 100, 1.0, 2**20))
    config = tmp_path / "config.toml"
    file = already_split(tmp_path / "training.tsv", "training")
    config.write_text(f'[data]\nfiles = ["{file}"]\nshares = [0.6, 0.2, 0.2]\n', encoding="utf-8")
    done = run("plan", config)
    assert done.code == 0, done.err
    assert "warning: the validation part is empty although its share is 20.0% of" in done.out


def test_splitting_a_part_again_is_warned_of(parts: Path, run: Run) -> None:
    done = run("data", "split", "parts/training.tsv", "--out", "again", *THREE_FIFTHS)
    assert done.code == 0, done.err
    assert "warning: the validation part is empty although its share is 20.0%" in done.out
    assert "another --seed" in done.out
    done = run("data", "split", "parts/training.tsv", "--out", "again", "--seed", "1", *THREE_FIFTHS)
    assert not warnings_of_parts(done)
    assert min(len(pairs_of(Path(f"again/{name}.tsv"))) for name in PARTS) > 0


def test_a_split_without_a_training_part_writes_nothing(parts: Path, run: Run) -> None:
    done = run("data", "split", "parts/testing.tsv", "--out", "again", *THREE_FIFTHS)
    assert (done.code, done.out) == (2, "")
    assert "pairs is in the training part; add pairs, or try another --seed" in done.err
    assert not Path("again/training.tsv").exists()


def test_sources_that_occur_very_often_are_warned_of(tmp_path: Path, run: Run) -> None:
    """Equal sources stay together: a part may be far too large though the split was a fair one."""
    often = [("The same.", f"Lo mismo, {i}.") for i in range(300)]
    file = write_pairs(tmp_path / "in.tsv", often + PAIRS[:100])
    done = run("data", "split", file, "--out", tmp_path / "parts", *THREE_FIFTHS)
    assert done.code == 0, done.err
    assert "a few sources occur often" in done.out
