"""From images with captions to a captioner, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Captioner
from dragoman.data.scenes import described, draw, held_out_scenes
from dragoman.errors import ConfigurationError, DataError, DragomanWarning, FileFormatError
from dragoman.tasks.captioning.evaluation import CaptionScores
from dragoman.tasks.captioning.testing import CaptionedImage, grouped, load_testing
from dragoman.tasks.training import train_model
from tests.tasks.captioning.captioned import photos, recurrent, tiny, trained
from tests.tasks.items import check_items

SHORT: dict[str, Any] = {"stopping": {"epochs": 1}}


@pytest.fixture(scope="module")
def captioner(own_cache: None) -> Captioner:
    return Captioner.load(trained())


def test_files_arrays_and_several_captions(captioner: Captioner) -> None:
    path = photos() / "1.png"
    pixels = captioner.images.read(path).pixels
    found = captioner.caption([path, pixels, str(path)])
    assert len(set(found)) == 1, "the same image, however it is given"
    (several,) = captioner.captions([path], options(beam=3, alternatives=3))
    assert len(several.alternatives) == 3
    assert several.as_dict()["caption"] == several.text
    scores = [score for _, score in several.alternatives]
    assert scores == sorted(scores, reverse=True)
    assert captioner.caption([path], sample=True, seed=1) == captioner.caption([path], sample=True, seed=1)
    check_items(captioner.caption, [path, pixels], "an image")
    check_items(captioner.captions, [str(path), pixels], "an image")


def options(**given: Any) -> Any:
    from dragoman.tasks.translation.options import DecodingOptions

    return DecodingOptions(**given)


def test_an_image_of_another_size(captioner: Captioner) -> None:
    small = np.zeros((16, 16, 3), np.uint8)
    with pytest.raises(DataError, match=r"has 16 x 16 pixels .*, expected 32 x 32"):
        captioner.caption([small])


def test_saved_and_loaded(captioner: Captioner, tmp_path: Path) -> None:
    captioner.save(tmp_path / "copy")
    again = Captioner.load(tmp_path / "copy")
    assert again.caption([photos() / "1.png"]) == captioner.caption([photos() / "1.png"])
    with pytest.raises(FileFormatError, match="keeps no testing images"):
        load_testing(tmp_path / "copy")


def test_where_words_looked(captioner: Captioner) -> None:
    found = captioner.look(photos() / "1.png", "a red circle")
    assert found.tokens[-1] == "[END]"
    assert found.weights.shape == (len(found.tokens), 4, 4)
    np.testing.assert_allclose(found.weights.sum(axis=(1, 2)), 1, atol=1e-5)
    heads = [captioner.look(photos() / "1.png", "a red circle", head=head).weights for head in (1, 2)]
    np.testing.assert_allclose(np.mean(heads, axis=0), found.weights, atol=1e-6)
    with pytest.raises(ConfigurationError, match="--head 3: the last decoder has 2 heads"):
        captioner.look(photos() / "1.png", "a red circle", head=3)


def test_the_testing_part_has_held_out_pairs(captioner: Captioner) -> None:
    kept = load_testing(trained())
    said = [described(image.captions[0]) for image in kept]
    assert [each is not None and each.is_held_out for each in said] == [False] * 10 + [True] * 10
    assert captioner.metadata.data.parts == {"training": 60, "validation": 10, "testing": 20}


def test_the_report_counts_held_out_pairs_by_themselves(captioner: Captioner) -> None:
    report = captioner.evaluate(load_testing(trained()))
    assert {"exact", "bleu", "chrf", "baseline_exact", "held_out_exact", "held_out_bleu"} <= report.metrics.keys()
    beside, objects, mistakes = report.tables
    assert [(row[0], row[1]) for row in beside.rows] == [
        ("this model", 10),
        ("colours alone", 10),
        ("this model, pairs held out", 10),
        ("colours alone, pairs held out", 10),
    ]
    assert "version:" in beside.note, "a score never stands without its signature"
    assert sum(int(row[1]) for row in objects.rows) == 10
    assert objects.columns[0] == "objects"
    assert mistakes.rows


def test_a_captioner_that_is_right(captioner: Captioner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact, BLEU and chrF of one who says what is given, and of one who is wrong once."""
    samples = load_testing(trained())
    scores = CaptionScores([sample.captions[0] for sample in samples], [sample.captions for sample in samples])
    assert scores.exact == 1
    assert scores.scores["BLEU"][0] == pytest.approx(100)
    wrong = CaptionScores(["a dog", *scores.written[1:]], scores.given)
    assert wrong.exact == pytest.approx(1 - 1 / len(samples))
    assert wrong.scores["BLEU"][0] < 100
    either = CaptionScores(["b  c", "a"], [("a", "b c"), ("a",)])
    assert either.exact == 1, "any of the given captions, white space aside"


def test_captions_of_equal_images_are_together() -> None:
    one, other = (draw(scene) for scene in held_out_scenes(2))
    found = grouped([("1", one, "a"), ("2", other, "b"), ("3", one.copy(), "c")])
    assert [(image.name, image.captions) for image in found] == [("1", ("a", "c")), ("2", ("b",))]


def test_trained_on_a_folder(tmp_path: Path) -> None:
    settings = tiny({"data": {"files": [str(photos())], "shares": [0.6, 0.2, 0.2]}}, SHORT)
    del settings["data"]["scenes"]
    with pytest.warns(DragomanWarning, match="captions to train on: expect a model that memorizes"):
        model = train_model(settings, tmp_path / "model")[0]
    tested = load_testing(tmp_path / "model")
    assert sum(len(image.captions) for image in tested) == model.metadata.data.parts["testing"]
    assert sum(model.metadata.data.parts.values()) == 50
    report = model.evaluate([*tested, CaptionedImage("other", tested[0].pixels, ("something else",))])
    assert report.tables[1].columns[0] == "words", "not all of them are captions of scenes"


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_convolutions_with_a_recurrent_decoder(cell: str, own_cache: None) -> None:
    with pytest.warns(DragomanWarning):
        model = train_model(recurrent({"architecture": f"convolutional-{cell}"}, SHORT))[0]
    assert isinstance(model.caption([photos() / "1.png"])[0], str)
    assert model.evaluate(grouped([("1", model.images.read(photos() / "1.png").pixels, "a")])).figures == {}
    with pytest.raises(ConfigurationError, match="this network has no attention"):
        model.look(photos() / "1.png", head=1)


def test_settings_that_do_not_fit(own_cache: None) -> None:
    for changes, error in [
        ({"network": {"patch": 5}}, "patches of 5 x 5 pixels do not cut images of 32 x 32"),
        ({"start": {"vectors": {"target": "x"}}}, "are for translators"),
        ({"data": {"scenes": 5}}, "greater than or equal to 20"),
    ]:
        with pytest.raises(ConfigurationError, match=error):
            train_model(tiny(changes, SHORT))


def test_fine_tuned_with_its_vocabulary(tmp_path: Path, own_cache: None) -> None:
    settings = {
        "task": "captioning",
        "threads": 1,
        "data": {"files": [str(photos())]},
        "start": {"model": str(trained()), "train": "decoder"},
        "optimizer": {"batch": 16},
        "stopping": {"epochs": 1},
    }
    tuned = train_model(settings)[0]
    base = Captioner.load(trained())
    assert tuned.tokenizer.size == base.tokenizer.size
    before, after = (dict(model.network.named_arrays()) for model in (base, tuned))
    np.testing.assert_array_equal(before["patch_embedding.weights"], after["patch_embedding.weights"])
    assert not np.array_equal(before["output.weights"], after["output.weights"])
