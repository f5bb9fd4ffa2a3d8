"""A training is resumed on the same data, by whatever path they are named."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigurationError
from dragoman.tasks.configuration import read_toml
from dragoman.tasks.model import load_metadata
from dragoman.tasks.training import train_model
from tests.tasks.models import PAIRS, tiny, write_pairs

SHORT: dict[str, Any] = {"stopping": {"epochs": None, "steps": 2}}


def on(*names: str, **data: Any) -> dict[str, Any]:
    return tiny(SHORT, {"data": {"files": list(names), **data}})


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model trained on `pairs.tsv` in the directory where the commands run."""
    monkeypatch.chdir(tmp_path)
    write_pairs(Path("pairs.tsv"), PAIRS)
    train_model(on("pairs.tsv"), Path("model"))
    return Path("model")


def resumes(settings: dict[str, Any], model: Path) -> bool:
    before = (model / "weights.safetensors").read_bytes()
    _, outcome = train_model(settings, model)
    return outcome.records == [] and (model / "weights.safetensors").read_bytes() == before


def test_other_spellings_of_a_path_are_the_same_file(begun: Path, tmp_path: Path) -> None:
    Path("link.tsv").symlink_to("pairs.tsv")
    for name in ("./pairs.tsv", "model/../pairs.tsv", str(tmp_path / "pairs.tsv"), "link.tsv", "pairs.tsv"):
        assert resumes(on(name), begun), name


def test_the_same_file_from_another_directory(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert resumes(on("../pairs.tsv"), Path("../model"))


def test_a_file_that_was_moved_or_renamed_is_known_by_its_contents(begun: Path) -> None:
    Path("corpora").mkdir()
    Path("pairs.tsv").rename("corpora/tatoeba.tsv")
    assert resumes(on("corpora/tatoeba.tsv"), begun)


def test_the_name_that_was_given_last_is_kept(begun: Path) -> None:
    """So that the saved configuration can be trained with again."""
    Path("pairs.tsv").rename("tatoeba.tsv")
    train_model(on("tatoeba.tsv"), begun)
    assert load_metadata(begun).data.files == ("tatoeba.tsv",)
    saved = read_toml(begun / "configuration.toml")
    assert saved["data"]["files"] == ["tatoeba.tsv"]
    assert resumes(saved, begun)


def test_other_contents_are_other_data_under_any_name(begun: Path) -> None:
    write_pairs(Path("fewer.tsv"), PAIRS[:-1])
    with pytest.raises(ConfigurationError, match=r"was trained on other data than fewer\.tsv holds now"):
        train_model(on("fewer.tsv"), begun)


def test_the_order_of_files_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, some in (("a.tsv", PAIRS[:200]), ("b.tsv", PAIRS[200:])):
        write_pairs(Path(name), some)
    train_model(on("a.tsv", "b.tsv"), Path("model"))
    assert resumes(on("./a.tsv", "./b.tsv"), Path("model"))
    with pytest.raises(ConfigurationError, match="was trained on other data"):
        train_model(on("b.tsv", "a.tsv"), Path("model"))


def test_the_same_bytes_read_in_another_format_are_refused(begun: Path) -> None:
    shutil.copy("pairs.tsv", "pairs.csv")
    with pytest.raises(ConfigurationError, match=r"pairs\.tsv was read as tsv, pairs\.csv would be read as csv"):
        train_model(on("pairs.csv"), begun)


def test_a_folder_of_parts_is_known_by_its_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    for name, some in (("training", PAIRS[:300]), ("validation", PAIRS[300:330]), ("testing", PAIRS[330:])):
        write_pairs(Path("parts") / f"{name}.tsv", some)
    settings = on("parts")
    del settings["data"]["shares"]
    train_model(settings, Path("model"))
    for name in ("parts/", "./parts", str(tmp_path / "parts")):
        settings["data"]["files"] = [name]
        assert resumes(settings, Path("model")), name


def test_other_spellings_of_the_path_of_a_starting_model(begun: Path, tmp_path: Path) -> None:
    def tuned(name: str) -> dict[str, Any]:
        return on("pairs.tsv") | {"start": {"model": name}}

    train_model(tuned("model"), Path("tuned"))
    for name in ("./model", "model/", str(tmp_path / "model")):
        assert resumes(tuned(name), Path("tuned")), name
    shutil.copytree("model", "other")
    with pytest.raises(ConfigurationError, match=r"start\.model = 'model' then, 'other' now"):
        train_model(tuned("other"), Path("tuned"))
