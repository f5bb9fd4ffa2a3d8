"""A language model writes on from a text, and says how probable a text is."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import value_of
from dragoman.tasks.language_model.generator import GenerationOptions, TextGenerator
from dragoman.tasks.translation.translator import Translator
from tests.tasks.items import check_texts
from tests.tasks.language_model.conftest import SONG, settings


def test_it_sings_on(generator: TextGenerator) -> None:
    assert "".join(generator.generate("bad cog", tokens=60, temperature=0)) == (SONG * 4)[7:67]


def test_text_comes_as_it_is_written(generator: TextGenerator) -> None:
    pieces = generator.generate("bad", tokens=10**9)
    assert len(list(itertools.islice(pieces, 5))) == 5  # the rest is never written


def test_a_seed_writes_the_same_text_and_another_one_another(generator: TextGenerator) -> None:
    def written(**options: Any) -> str:
        return "".join(generator.generate("o", tokens=40, **{"temperature": 3.0, **options}))

    assert written(seed=1) == written(seed=1)
    assert written(seed=1) != written(seed=2)
    assert written(top_k=1) == written(temperature=0)
    assert written(top_p=1e-6) == written(temperature=0)


def test_samples_differ_and_the_first_is_what_generate_gives(generator: TextGenerator) -> None:
    options = GenerationOptions(tokens=30, temperature=3.0, seed=5)
    first, second = ("".join(pieces) for pieces in generator.samples("o", 2, options))
    assert first != second
    assert first == "".join(generator.generate("o", tokens=30, temperature=3.0, seed=5))


@pytest.mark.parametrize("stop", ["\n", "hum\nfi", "um"])
def test_it_ends_before_a_stop_string(stop: str, generator: TextGenerator) -> None:
    expected = SONG[7:].partition(stop)[0]
    assert "".join(generator.generate("bad cog", tokens=60, temperature=0, stop=(stop,))) == expected


def test_a_prompt_is_optional(generator: TextGenerator) -> None:
    assert "".join(generator.generate(tokens=8, temperature=0)) in ("bad cog ", "fix jet\n")


def test_a_prompt_with_unknown_characters_is_refused(generator: TextGenerator) -> None:
    with pytest.raises(DataError, match=r"do not occur in the text.*'日Q'; leave them out"):
        generator.generate("bad日Q日")


@pytest.mark.parametrize(
    "options", [{"tokens": -1}, {"temperature": -1.0}, {"top_k": 0}, {"top_p": 2.0}, {"stop": ("",)}]
)
def test_options_are_checked_before_anything_is_written(options: dict[str, Any], generator: TextGenerator) -> None:
    with pytest.raises(ConfigurationError):
        generator.generate("bad", **options)


@pytest.mark.ledger("L-55-incr")
@pytest.mark.parametrize("architecture", ["singer", "recurrent"])
def test_writing_token_by_token_is_one_pass_over_the_whole(architecture: str, request: pytest.FixtureRequest) -> None:
    """The incremental property: what is kept of the past gives the tokens that a pass over all of them gives."""
    model = TextGenerator.load(request.getfixturevalue(architecture))
    prompt = "cog hum\n"
    written = "".join(model.generate(prompt, tokens=18, temperature=0))
    labels = model.tokenizer.encode([prompt + written])[0]
    logits = value_of(model.network.plain(Batch.pack([labels])))
    best = logits[len(prompt) - 1 : -1, 3:].argmax(axis=1) + 3
    assert model.tokenizer.decode([best])[0] == written


def test_positions_that_end_somewhere_slide(tmp_path: Path) -> None:
    """Learned positions go as far as the window: then its last half is read again."""
    network = {"positions": "learned", "maximum_length": 32}
    given = settings(tmp_path, stopping={"steps": 40}, network=network)
    given.pop("task")
    model = TextGenerator.train(given["data"].pop("files"), **given)
    assert model.window == 32
    prompt = "bad cog hum\nfix jet\n"
    written = "".join(model.generate(prompt, tokens=60, temperature=0))
    assert len(written) == 60
    text = prompt + written
    after_sliding = text[:33][-16:]  # the 33rd does not fit any more
    labels = model.tokenizer.encode([after_sliding])[0]
    best = int(value_of(model.network.plain(Batch.pack([labels])))[-1, 3:].argmax()) + 3
    assert model.tokenizer.decode([[best]])[0] == text[33]
    assert "".join(model.generate(text * 2, tokens=5, temperature=0))  # a prompt longer than the window


def test_distances_reach_further_than_the_context(generator: TextGenerator) -> None:
    assert generator.window == 2 * 32
    assert "".join(generator.generate("bad cog", tokens=200, temperature=0)) == (SONG * 12)[7:207]


# Scores


def test_the_score_of_a_text_is_the_sum_over_its_characters(generator: TextGenerator) -> None:
    (found,) = generator.score(["bad cog"])
    labels = np.concatenate(([generator.begin], generator.tokenizer.encode(["bad cog"])[0]))
    logits = value_of(generator.network.plain(Batch.pack([labels[:-1]]))).astype(float)
    each = logits[np.arange(7), labels[1:]] - np.log(np.exp(logits).sum(axis=1))
    assert found.log_probability == pytest.approx(each.sum(), abs=1e-4)
    assert found.perplexity == pytest.approx(math.exp(-each.mean()), rel=1e-4)
    assert found.bits_per_character == pytest.approx(-each.sum() / math.log(2) / 7, abs=1e-4)


@pytest.mark.parametrize("architecture", ["singer", "recurrent"])
def test_scores_do_not_depend_on_other_texts(architecture: str, request: pytest.FixtureRequest) -> None:
    model = TextGenerator.load(request.getfixturevalue(architecture))
    texts = ["bad", "", "hum\nfix", SONG * 5]
    together = model.score(texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = model.score([text])
        assert found.log_probability == pytest.approx(alone.log_probability, abs=1e-3)
        assert found.tokens == len(text)
    assert math.isnan(together[1].perplexity)
    assert together[1].log_probability == 0


def test_what_it_knows_is_more_probable_than_what_it_does_not(generator: TextGenerator) -> None:
    known, shuffled, strange = generator.score(["bad cog hum", "gocd ab muh", "日日"])
    assert known.bits_per_character < 1 < shuffled.bits_per_character
    assert strange.unknown == 2


def test_every_token_of_a_long_text_counts_once_with_half_a_window_before_it(generator: TextGenerator) -> None:
    labels = generator.tokenizer.encode([SONG * 5])[0]
    (measured,) = generator.measure([labels])
    assert measured.counted.sum() == len(labels)
    assert (measured.places[measured.counted][32:] >= 16).all()
    (found,) = generator.score([SONG * 5])
    assert found.bits_per_character < 0.3


def test_a_recurrent_model_reads_a_text_from_its_beginning(recurrent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = TextGenerator.load(recurrent)
    (whole,) = model.score([SONG])
    monkeypatch.setattr("dragoman.tasks.language_model.scoring.ROWS", 7)
    (in_pieces,) = model.score([SONG])
    assert in_pieces.log_probability == pytest.approx(whole.log_probability, abs=1e-3)


# On disk


def test_a_saved_model_writes_and_scores_the_same(generator: TextGenerator, tmp_path: Path) -> None:
    generator.save(tmp_path / "copy")
    loaded = TextGenerator.load(tmp_path / "copy")
    assert list(loaded.generate("o", seed=3, tokens=20)) == list(generator.generate("o", seed=3, tokens=20))
    assert loaded.score(["bad"]) == generator.score(["bad"])


def test_models_of_other_tasks_say_which_command_they_are_for(singer: Path, undertrained: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a model for translation; use `dragoman translate"):
        TextGenerator.load(undertrained)
    with pytest.raises(ConfigurationError, match="is a model for language-model; use `dragoman generate"):
        Translator.load(singer)


def test_lists_and_texts_are_not_mixed_up(generator: TextGenerator) -> None:
    check_texts(generator.score, ["bad", "worse"])
    check_texts(generator.features, ["bad", "worse"])
    with pytest.raises(ConfigurationError, match="one text"):
        generator.generate(["bad"])  # type: ignore[arg-type]
