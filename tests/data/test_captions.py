"""A folder of images with a table of captions, and what can be wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dragoman.data.captions import CaptionTable, find_table
from dragoman.data.colour_captions import ColourCaptions, colours_of
from dragoman.errors import DataError, FileFormatError
from dragoman.tasks.captioning.corpus import open_corpus
from dragoman.tasks.captioning.settings import CaptionData


def write_png(path: Path, pixels: Any) -> None:
    Image.fromarray(pixels).save(path, "PNG")


RED, BLUE = (np.full((8, 8, 3), colour, np.uint8) for colour in ((200, 0, 0), (0, 0, 200)))


def folder(place: Path, lines: list[str], images: dict[str, Any] | None = None) -> Path:
    for name, pixels in (images or {"a.png": RED, "b.png": BLUE}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        write_png(place / name, pixels)
    (place / "captions.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def table_of(place: Path, **options: Any) -> CaptionTable:
    return CaptionTable(find_table(place), **options)


def test_several_captions_of_an_image(tmp_path: Path) -> None:
    place = folder(tmp_path, ["a.png\tred", "a.png\tall red", "b.png\tblue, or not"])
    table = table_of(place)
    assert [(line.name, line.caption) for line in table] == [
        ("a.png", "red"),
        ("a.png", "all red"),
        ("b.png", "blue, or not"),
    ]
    assert table.images_without_caption() == []


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("c.png\tgreen", r"captions.tsv, line 2: a caption without its image \(no such file .*\): 'c.png'"),
        ("../a.png\tred", r"line 2: an image outside the folder .*name images relative to the folder"),
        ("sub/../../a.png\tred", "line 2: an image outside the folder"),
        ("/etc/passwd\tred", "line 2: an image outside the folder"),
        ("C:\\x.png\tred", "line 2: an image outside the folder"),
        ("..\\x.png\tred", "line 2: an image outside the folder"),
        ("link.png\tred", "line 2: an image outside the folder"),
        ("b.png\t ", "line 2: empty caption"),
        ("b.png", "line 2: wrong number of columns"),
        ("\tblue", "line 2: empty image"),
        (".\tred", "line 2: a caption without its image"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, line: str, error: str) -> None:
    place = folder(tmp_path / "photos", ["a.png\tred", line])
    write_png(tmp_path / "outside.png", RED)
    (place / "link.png").symlink_to(tmp_path / "outside.png")
    with pytest.raises(DataError, match=error):
        list(table_of(place))
    table = table_of(place, on_bad_line="skip")
    assert [entry.name for entry in table] == ["a.png"]
    assert table.reading.problems


def test_images_without_a_caption_are_counted(tmp_path: Path) -> None:
    place = folder(tmp_path, ["a.png\tred"], {"a.png": RED, "b.png": BLUE, "more/c.PNG": BLUE})
    assert table_of(place).images_without_caption() == ["b.png", "more/c.PNG"]
    corpus = open_corpus(CaptionData(files=(str(place),)))
    assert corpus.left_out() == ["2 images without a caption: b.png, more/c.PNG"]


def test_which_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no table of captions; expected captions.tsv"):
        find_table(tmp_path)
    (tmp_path / "one.tsv").write_text("", encoding="utf-8")
    assert find_table(tmp_path).name == "one.tsv"
    (tmp_path / "two.tsv").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"several tables \(one.tsv, two.tsv\)"):
        find_table(tmp_path)
    (tmp_path / "captions.tsv").write_text("", encoding="utf-8")
    assert find_table(tmp_path).name == "captions.tsv"


def many(place: Path, copies: int = 1) -> Path:
    """60 images of two captions each; with copies under other names."""
    images, lines = {}, []
    for i, copy in ((i, copy) for i in range(60) for copy in range(copies)):
        pixels = np.full((8, 8, 3), (4 * i, 255 - 4 * i, 90), np.uint8)
        images[f"{i}-{copy}.png"] = pixels
        lines += [f"{i}-{copy}.png\timage {i}", f"{i}-{copy}.png\tthe {i}th image"]
    return folder(place, lines, images)


def test_all_captions_of_an_image_are_in_one_part(tmp_path: Path) -> None:
    """And so are those of a copy under another name."""
    place = many(tmp_path, copies=2)
    dataset = open_corpus(CaptionData(files=(str(place),), shares=(0.6, 0.2, 0.2))).dataset(0)
    parts = {
        name: {str(dataset.encoded[0][i].tobytes()) for i in dataset.part(name).samples}
        for name in dataset.about["parts"]
    }
    assert dataset.about["samples"] == 240
    assert all(parts.values()), "each part has some"
    assert not parts["training"] & parts["validation"]
    assert not parts["training"] & parts["testing"]
    assert not parts["validation"] & parts["testing"]


def test_parts_as_they_are_given(tmp_path: Path) -> None:
    place = many(tmp_path)
    lines = (place / "captions.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (place / "captions.tsv").unlink()
    for name, some in {"training": lines[:80], "validation": lines[80:100], "testing": lines[100:]}.items():
        (place / f"{name}.tsv").write_text("".join(some), encoding="utf-8")
    corpus = open_corpus(CaptionData(files=(str(place),)))
    assert corpus.settings.split == "given"
    assert corpus.dataset(0).about["parts"] == {"training": 80, "validation": 20, "testing": 20}


def test_images_that_cannot_be_read(tmp_path: Path) -> None:
    place = folder(tmp_path, ["a.png\tred", "b.png\tblue"])
    (place / "b.png").write_bytes(b"no image")
    corpus = open_corpus(CaptionData(files=(str(place),)))
    with pytest.raises(DataError, match=r"captions.tsv, line 2: an image that cannot be read .*not a PNG or JPEG"):
        list(corpus.folders[0])
    skipping = open_corpus(CaptionData(files=(str(place),), on_bad_line="skip"))
    assert [caption for _, caption in skipping.folders[0]] == ["red"]
    write_png(place / "b.png", BLUE[:4])
    with pytest.raises(DataError, match=r"b.png has 4 x 8 pixels .*, expected 8 x 8"):
        open_corpus(CaptionData(files=(str(place),))).dataset(0)


def test_no_such_folder_and_settings_that_do_not_fit(tmp_path: Path) -> None:
    for settings, given, error in [
        ({"files": ("nowhere",)}, {}, "nowhere does not exist; expected a folder with captions.tsv"),
        ({"files": ("scenes",)}, {"shares": [0.8, 0.1, 0.1]}, "`scenes` come in parts"),
        ({"files": (str(tmp_path),)}, {"scenes": 50}, "data.scenes is the size of the built-in corpus"),
        ({"files": ()}, {}, "name one"),
    ]:
        with pytest.raises(Exception, match=error):
            open_corpus(CaptionData(**settings), given)


def test_what_one_says_who_sees_colours_alone(tmp_path: Path) -> None:
    both = RED.copy()
    both[4:] = BLUE[4:]
    assert colours_of(RED) != colours_of(BLUE) != colours_of(both)
    learnt = ColourCaptions.learn([(RED, "red"), (RED, "red"), (RED, "a wall"), (BLUE, "blue")])
    assert (learnt.caption(RED), learnt.caption(BLUE), learnt.caption(both)) == ("red", "blue", "red")
    (tmp_path / "x.json").write_text(learnt.to_json(), encoding="utf-8")
    assert ColourCaptions.load(tmp_path / "x.json") == learnt
    (tmp_path / "x.json").write_text("[]", encoding="utf-8")
    with pytest.raises(FileFormatError, match="cannot be read as captions of colours"):
        ColourCaptions.load(tmp_path / "x.json")
