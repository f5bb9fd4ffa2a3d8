"""A translator whose embeddings begin with word vectors: start.vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Translator
from dragoman.data.tokenizer import word_splitter
from dragoman.errors import ConfigurationError, DataError, DragomanError
from dragoman.graph import Array, value_of
from dragoman.tasks.configuration import configuration, resolved
from dragoman.tasks.training import train_model
from dragoman.tasks.translation import task
from dragoman.tasks.vectors.embeddings import EMBEDDINGS, words_of
from dragoman.tasks.vectors.words import WordVectors
from tests.tasks.models import PAIRS, tiny

DEPTH = 16


def made(path: Path, texts: list[str], depth: int = DEPTH) -> WordVectors:
    """A file with a drawn vector for each word of some texts, in lower case."""
    split = word_splitter()
    words = sorted({word.lower() for text in texts for word in split(text)})
    vectors = WordVectors(words, np.random.default_rng(0).standard_normal((len(words), depth)).astype(np.float32))
    vectors.save(path)
    return vectors


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    made(tmp_path / "en.bin", [source for source, _ in PAIRS])
    made(tmp_path / "es.txt", [reference for _, reference in PAIRS])
    return {"source": str(tmp_path / "en.bin"), "target": str(tmp_path / "es.txt")}


def trained(files: dict[str, Any], out: Path, *changes: dict[str, Any]) -> tuple[Translator, list[str]]:
    told: list[str] = []
    translator, _ = train_model(tiny({"start": {"vectors": files}}, *changes), out, tell=told.append)
    return translator, told


def row_of(translator: Translator, side: Any, word: str) -> Array:
    tokenizer = getattr(translator, f"{side}_tokenizer")
    table = value_of(getattr(translator.network, EMBEDDINGS[side]).table)
    found: Array = table[words_of(tokenizer).index(word)]
    return found


def cosine(a: Array, b: Array) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.ledger("B-7.1-finetune")
@pytest.mark.parametrize("freeze", [True, False])
@pytest.mark.parametrize("architecture", ["transformer", "gru-attention"])
def test_embeddings_begin_with_vectors_and_stay_or_are_trained(
    architecture: str, freeze: bool, files: dict[str, str], tmp_path: Path
) -> None:
    chosen = tiny({"start": {"vectors": {**files, "freeze": freeze}}, "architecture": architecture})
    if architecture != "transformer":
        chosen["network"] = {"depth": DEPTH, "units": 16}
    told: list[str] = []
    translator, _ = train_model(chosen, tmp_path / "model", tell=told.append)
    for side, word in (("source", "The"), ("target", "casa")):
        row, vector = row_of(translator, side, word), WordVectors.load(files[side])[word.lower()]
        if freeze:
            assert cosine(row, vector) == pytest.approx(1, abs=1e-6)
        else:
            assert 0.3 < cosine(row, vector) < 0.9999
        (line,) = [line for line in told if line.startswith(f"{side} embedding: ")]
        assert line.endswith(f" tokens that can be a word start with a vector ({files[side]})")
    settings = resolved(tmp_path / "model" / "configuration.toml")
    assert (settings.start.vectors.source, settings.start.vectors.freeze) == (files["source"], freeze)


def test_one_side_alone_is_filled_and_frozen(files: dict[str, str], tmp_path: Path) -> None:
    translator, told = trained({"target": files["target"], "freeze": True}, tmp_path / "model")
    assert cosine(row_of(translator, "target", "casa"), WordVectors.load(files["target"])["casa"]) > 0.99999
    assert abs(cosine(row_of(translator, "source", "house"), WordVectors.load(files["source"])["house"])) < 0.9
    assert not any(line.startswith("source embedding") for line in told)
    plain, _ = train_model(tiny({"stopping": {"epochs": 1}}))
    assert [p.frozen for p in plain.network.parameters()].count(True) == 0
    assert [p.frozen for p in translator.network.parameters()].count(True) == 1


def test_a_training_goes_on_without_the_files_and_still_leaves_the_tables_alone(
    files: dict[str, str], tmp_path: Path
) -> None:
    first, _ = trained({**files, "freeze": True}, tmp_path / "model", {"stopping": {"epochs": 1}})
    for file in files.values():
        Path(file).unlink()
    again, told = trained({**files, "freeze": True}, tmp_path / "model", {"stopping": {"epochs": 2}})
    assert again.metadata.training["epochs"] == 2
    assert not any("have a vector" in line for line in told)
    for side, moved in (("source", False), ("target", False), ("output", True)):
        name = f"{EMBEDDINGS[side]}.table" if side != "output" else "output.weights"
        before, after = (dict(t.network.named_arrays())[name] for t in (first, again))
        assert (before != after).any() is np.bool_(moved), name
    with pytest.raises(ConfigurationError, match=r"start\.vectors\.freeze = True then, False now"):
        trained(files, tmp_path / "model")


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ({"source": "gone.bin"}, r"gone\.bin does not exist"),
        ({"target": "pairs.txt"}, r"pairs\.txt cannot be read as word vectors"),
    ],
)
def test_files_are_looked_at_before_the_data(
    vectors: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.txt").write_text("hello\n", encoding="utf-8")

    def never(*_: object) -> None:
        raise AssertionError("the data were read")

    monkeypatch.setattr(task, "open_corpus", never)
    with pytest.raises(DragomanError, match=told):
        trained(vectors, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_vectors_that_do_not_fit_are_told(files: dict[str, str], tmp_path: Path) -> None:
    made(tmp_path / "deep.txt", ["the house"], depth=20)
    with pytest.raises(
        ConfigurationError,
        match=r"start\.vectors\.source: .*deep\.txt: vectors of depth 20 for a source embedding of depth 16; train "
        r"vectors with --depth 16",
    ):
        trained({"source": str(tmp_path / "deep.txt")}, tmp_path / "model")
    made(tmp_path / "other.txt", ["дом собака"])
    with pytest.raises(ConfigurationError, match=r"start\.vectors\.target: .* none of the .*another language\?"):
        trained({"target": str(tmp_path / "other.txt")}, tmp_path / "model")
    (tmp_path / "cut.bin").write_bytes((tmp_path / "en.bin").read_bytes()[:-5])
    with pytest.raises(DragomanError, match=r"cut\.bin cannot be read as word vectors: it ends after"):
        trained({"source": str(tmp_path / "cut.bin")}, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (
            {"model": "other", "vectors": {"source": "en.bin"}},
            r"start: a model has its own embeddings: use start\.model or start\.vectors, not both",
        ),
        ({"vectors": {"freeze": True}}, r"start\.vectors: there are no vectors to freeze; set source, target or both"),
        ({"vectors": "en.bin"}, r"'start\.vectors' is a section, such as start\.vectors\.source = "),
        ({"vectors": {"sorce": "en.bin"}}, r"unknown setting 'start\.vectors\.sorce'; did you mean "),
        ({"vectors": {"freeze": "maybe"}}, r"start\.vectors\.freeze: Input should be a valid boolean"),
    ],
)
def test_mistakes_in_the_settings_are_told(start: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        configuration({"start": start})


def test_a_name_that_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory; name the files in it"):
        trained({"source": str(tmp_path)}, tmp_path / "model")
