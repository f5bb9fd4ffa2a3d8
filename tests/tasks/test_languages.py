"""What the languages of a translator are called, where that comes from, and what tells them apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.loss import Loss
from dragoman.tasks.configuration import configuration
from dragoman.tasks.model import load_metadata
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.corpus import open_corpus
from dragoman.tasks.translation.settings import PairData
from dragoman.tasks.translation.testing import load_testing
from dragoman.text.language_id import identify
from dragoman.training import Callback
from dragoman.training.loop import Training
from tests.tasks.models import PAIRS, tiny, write_pairs
from tests.tasks.test_resuming import SETTINGS, check_same, stopped, uninterrupted
from tests.training.small_trainings import Heard

SHORT: dict[str, Any] = {"stopping": {"epochs": None, "steps": 2}}
NAMED: dict[str, Any] = {"data": {"languages": ["en", "es"]}}


def memory(path: Path, source: str = "en", target: str = "es", count: int = 360) -> str:
    """The pairs as TMX."""
    units = "".join(
        f'<tu><tuv xml:lang="{source}"><seg>{first}</seg></tuv><tuv xml:lang="{target}"><seg>{second}</seg></tuv></tu>'
        for first, second in PAIRS[:count]
    )
    path.write_text(f'<tmx version="1.4"><header srclang="{source}"/><body>{units}</body></tmx>', encoding="utf-8")
    return str(path)


def xliff(path: Path, target: str = ' target-language="ES_mx"') -> str:
    unit = "<trans-unit id='1'><source>Go.</source><target>Ve.</target></trans-unit>"
    path.write_text(
        f'<xliff version="1.2"><file source-language="EN"{target}><body>{unit}</body></file></xliff>', encoding="utf-8"
    )
    return str(path)


def languages(*files: str, **settings: Any) -> tuple[str, str] | None:
    return open_corpus(PairData(files=files, **settings)).languages


@pytest.fixture
def model(tmp_path: Path) -> Path:
    train_model(tiny(SHORT, NAMED), tmp_path / "model")
    return tmp_path / "model"


# Where they come from


def test_files_that_name_their_languages(tmp_path: Path) -> None:
    assert languages(memory(tmp_path / "a.tmx")) == ("en", "es")
    assert languages(memory(tmp_path / "b.tmx", "EN_us", "pt-br")) == ("en-US", "pt-BR")
    assert languages(memory(tmp_path / "c.tmx", "english", "spanish")) is None
    assert languages(xliff(tmp_path / "a.xlf")) == ("en", "es-MX")
    assert languages(xliff(tmp_path / "b.xlf", target="")) is None
    assert languages(memory(tmp_path / "a.tmx"), memory(tmp_path / "d.tmx", "en", "fr")) is None
    assert languages(memory(tmp_path / "a.tmx"), memory(tmp_path / "e.tmx")) == ("en", "es")
    assert languages(memory(tmp_path / "f.tmx", "en-US", "es-ES"), memory(tmp_path / "g.tmx", "en-GB", "es")) == (
        "en",
        "es",
    )
    (tmp_path / "s.jsonl").write_text('{"source": "en", "target": "es", "q": "Go.", "s": "Ve."}\n', encoding="utf-8")
    assert languages(str(tmp_path / "s.jsonl")) == ("en", "es")
    assert languages(memory(tmp_path / "b.tmx", "EN_us", "pt-br"), languages=("en", "pt")) == ("en", "pt")


def test_aligned_files_by_their_extensions(tmp_path: Path) -> None:
    for name in ("a.en", "a.es", "a.src", "b.txt", "c.txt"):
        (tmp_path / name).write_text("Go.\n", encoding="utf-8")
    assert languages(f"{tmp_path / 'a.en'},{tmp_path / 'a.es'}") == ("en", "es")
    assert languages(f"{tmp_path / 'a.es'},{tmp_path / 'a.en'}") == ("es", "en")
    assert languages(f"{tmp_path / 'a.src'},{tmp_path / 'a.es'}") is None
    assert languages(f"{tmp_path / 'b.txt'},{tmp_path / 'c.txt'}") is None


def test_built_in_corpora(tmp_path: Path) -> None:
    assert languages("phrases") == ("en", "es")
    assert languages("phrases", languages=("en-GB", "es")) == ("en-GB", "es")
    assert languages("reverse") is None


def test_codes_are_written_in_one_way_and_mistakes_told() -> None:
    settings: Any = configuration({"data": {"files": ["a.tsv"], "languages": ["EN", "pt_br"]}}).data
    assert settings.languages == ("en", "pt-BR")
    with pytest.raises(ConfigurationError, match=r"data\.languages: .*'english' is not the code of a language"):
        configuration({"data": {"files": ["a.tsv"], "languages": ["english", "es"]}})


# The model directory


def test_the_model_keeps_names_and_profiles(model: Path, tmp_path: Path) -> None:
    translator = Translator.load(model)
    assert translator.metadata.languages == ("en", "es")
    assert load_metadata(model).files.keys() == {"languages.json"}
    assert list(translator.profiles) == ["en", "es"]
    assert identify("The teacher sees the garden.", translator.profiles)[0] > ("en", 0.9)
    assert identify("Mi hermana pinta la casa.", translator.profiles)[0] > ("es", 0.9)
    translator.save(tmp_path / "copy")
    assert Translator.load(tmp_path / "copy").profiles == translator.profiles


def test_without_names_there_is_no_profile() -> None:
    assert load_metadata(uninterrupted()).languages is None
    assert not (uninterrupted() / "languages.json").exists()
    assert Translator.load(uninterrupted()).profiles == {}


def test_a_model_in_memory_has_them() -> None:
    settings = tiny(SHORT, NAMED)
    translator = Translator.train(settings["data"].pop("files"), **settings)
    assert translator.metadata.languages == ("en", "es")
    assert list(translator.profiles) == ["en", "es"]


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_damaged_profiles_are_named_and_restored(model: Path, damage: str) -> None:
    path = model / "languages.json"
    whole = path.read_bytes()
    path.unlink() if damage == "missing" else path.write_bytes(whole[:-9] + b"3" + whole[-8:])
    with pytest.raises(FileFormatError, match=r"languages\.json is (missing|damaged).*`dragoman train .*to restore it"):
        Translator.load(model)
    heard = Heard()
    assert train_model(tiny(SHORT, NAMED), model, heard)[1].records == []
    assert [str(path) in text for text in heard.notices if "restored from the data" in text] == [True]
    assert path.read_bytes() == whole


# Going on


def test_names_change_nothing_else(tmp_path: Path) -> None:
    """The same weights; and a training that is stopped ends like one that is not."""
    named = tiny(SETTINGS, NAMED)
    stopped(named, tmp_path / "model", 13)
    train_model(named, tmp_path / "model")
    weights = "weights.safetensors"
    assert (tmp_path / "model" / weights).read_bytes() == (uninterrupted() / weights).read_bytes()
    assert load_metadata(tmp_path / "model").data == load_metadata(uninterrupted()).data


def test_a_half_done_training_is_told_its_languages_later(tmp_path: Path) -> None:
    stopped(tiny(SETTINGS), tmp_path / "model", 13)
    stopped(tiny(SETTINGS, NAMED), tmp_path / "model", 17)
    assert list(Translator.load(tmp_path / "model").profiles) == ["en", "es"], "at once"
    train_model(tiny(SETTINGS), tmp_path / "model")
    assert load_metadata(tmp_path / "model").languages == ("en", "es"), "and they stay"
    train_model(tiny(SETTINGS, {"data": {"languages": ["en-GB", "es"]}}), tmp_path / "model")
    assert load_metadata(tmp_path / "model").languages == ("en-GB", "es")
    assert list(Translator.load(tmp_path / "model").profiles) == ["en-GB", "es"]


def test_the_files_fit_each_other_while_a_resumed_training_runs(tmp_path: Path) -> None:
    """A kill after the first step leaves a model that can be used."""
    model = tmp_path / "model"
    stopped(tiny(SETTINGS), model, 13)

    class Looking(Callback):
        seen: tuple[str, ...] = ()

        def step(self, step: int, loss: Loss, training: Training) -> None:
            self.seen = tuple(Translator.load(model).profiles)

    looking = Looking()
    train_model(tiny(SETTINGS, NAMED, {"stopping": {"epochs": None, "steps": 14}}), model, looking)
    assert looking.seen == ("en", "es")


def test_a_memory_is_resumed_without_saying_its_languages_again(tmp_path: Path) -> None:
    text = Path(memory(tmp_path / "a.tmx")).read_text(encoding="utf-8")
    more = text.replace("</tu>", '<tuv xml:lang="fr"><seg>Oui.</seg></tuv></tu>')
    (tmp_path / "a.tmx").write_text(more, encoding="utf-8")
    data = {"data": {"files": [str(tmp_path / "a.tmx")], "languages": ["es", "en"]}}
    stopped(tiny(SETTINGS, data), tmp_path / "model", 5)
    train_model(tiny(SETTINGS, {"data": {"files": [str(tmp_path / "a.tmx")]}}), tmp_path / "model")
    train_model(tiny(SETTINGS, data), tmp_path / "whole")
    check_same(tmp_path / "model", tmp_path / "whole")
    with pytest.raises(ConfigurationError, match="was trained on other data"):
        train_model(tiny(SETTINGS, {"data": {**data["data"], "languages": ["en", "fr"]}}), tmp_path / "model")


def test_fine_tuning_keeps_the_languages(model: Path, tmp_path: Path) -> None:
    few = write_pairs(tmp_path / "few.tsv", PAIRS[::5])
    settings = tiny(SHORT, {"data": {"files": [few]}, "start": {"model": str(model), "replay": 0}})
    del settings["network"]
    train_model(settings, tmp_path / "tuned")
    assert load_metadata(tmp_path / "tuned").languages == ("en", "es")
    assert Translator.load(tmp_path / "tuned").profiles == Translator.load(model).profiles
    named = {**settings, "data": {**settings["data"], "languages": ["en-GB", "es"]}}
    train_model(named, tmp_path / "other")
    assert list(Translator.load(tmp_path / "other").profiles) == ["en-GB", "es"]


def test_fine_tuning_reads_files_in_the_direction_of_the_model(model: Path, tmp_path: Path) -> None:
    """The memory is from Spanish; pairs of another model's language are refused."""
    settings = tiny(SHORT, {"data": {"files": [memory(tmp_path / "a.tmx", "en-US", "es-ES")]}})
    turned = Path(settings["data"]["files"][0])
    turned.write_text(
        turned.read_text(encoding="utf-8").replace('srclang="en-US"', 'srclang="es-ES"'), encoding="utf-8"
    )
    settings |= {"start": {"model": str(model), "replay": 0}}
    del settings["network"]
    train_model(settings, tmp_path / "tuned")
    tuned = Translator.load(tmp_path / "tuned")
    assert set(load_testing(tmp_path / "tuned")) <= set(PAIRS)
    assert tuned.metadata.languages == ("en", "es")
    settings["data"]["files"] = [memory(tmp_path / "b.tmx", "en", "fr")]
    with pytest.raises(DataError, match=r"no unit in en and es; its languages are en .360 texts., fr"):
        train_model(settings, tmp_path / "other")


def test_model_json_without_languages_is_that_of_an_earlier_version(model: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(model, tmp_path / "old"))
    told = json.loads((old / "model.json").read_text(encoding="utf-8"))
    for name in ("languages", "files"):
        del told[name]
    (old / "model.json").write_text(json.dumps(told), encoding="utf-8")
    translator = Translator.load(old)
    assert (translator.metadata.languages, translator.profiles) == (None, {})
