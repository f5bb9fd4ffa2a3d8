"""Decoding one PNG or JPEG file: what comes out, and what is refused before it can do harm."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from PIL import Image

from dragoman.data.images import read_picture
from dragoman.data.images.picture import as_pixels
from dragoman.errors import DataError
from tests.drawn_images import png_header

GREY = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5


def saved(tmp_path, image, name="a.png", **options):
    image.save(tmp_path / name, **options)
    return tmp_path / name


def test_a_png_gives_its_pixels_grey_or_in_colour(tmp_path):
    path = saved(tmp_path, Image.fromarray(GREY))
    found = read_picture(path)
    np.testing.assert_array_equal(found.pixels[:, :, 0], GREY)
    assert str(found.shape) == "6 x 8 pixels, grey"
    np.testing.assert_array_equal(read_picture(path, channels=3).pixels, np.repeat(GREY[:, :, None], 3, axis=2))
    assert read_picture(path, resize=(3, 4)).pixels.shape == (3, 4, 1)
    colour = saved(tmp_path, Image.new("RGB", (4, 2), (255, 0, 10)), "b.jpg", quality=100)
    assert np.abs(read_picture(colour).pixels.astype(int) - (255, 0, 10)).max() < 6
    assert read_picture(colour, channels=1).pixels.shape == (2, 4, 1)


@pytest.mark.parametrize(
    ("image", "options", "expected"),
    [
        (Image.new("1", (2, 2), 1), {}, [255]),
        (Image.new("LA", (2, 2), (0, 0)), {}, [255]),  # transparent: the white behind it
        (Image.new("RGBA", (2, 2), (0, 0, 0, 128)), {}, [127, 127, 127]),
        (Image.new("RGB", (2, 2), (9, 8, 7)).convert("P", palette=Image.Palette.ADAPTIVE), {}, [9, 8, 7]),
        (Image.fromarray(np.full((2, 2), 0x80FF, np.uint16)), {}, [0x80]),
    ],
    ids=["bilevel", "transparent grey", "half transparent", "palette", "16 bits"],
)
def test_odd_modes_become_grey_or_colour(tmp_path, image, options, expected):
    found = read_picture(saved(tmp_path, image, **options)).pixels
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[0, 0], expected)


def test_a_photograph_is_turned_as_its_camera_says(tmp_path):
    image = Image.fromarray(GREY)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    path = saved(tmp_path, image, "turned.jpg", exif=exif)
    assert read_picture(path).shape[:2] == (8, 6)


def test_an_animation_is_refused(tmp_path):
    frames = [Image.new("L", (4, 4), value) for value in (0, 99, 200)]
    path = saved(tmp_path, frames[0], save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match=r"a\.png is an animation of 3 images"):
        read_picture(path)


@pytest.mark.parametrize("size", [(50_000, 50_000), (6_000, 6_000)])
def test_a_hostile_image_is_refused_before_it_takes_memory(tmp_path, size):
    path = tmp_path / "bomb.png"
    path.write_bytes(png_header(*size, content=b"\0" * 1_000_000))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"bomb\.png has .* pixels, more than the 33,554,432 that are read"):
        read_picture(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("kept", [9, 60, 400])
@pytest.mark.parametrize("name", ["a.png", "a.jpg"])
def test_truncated_files_are_named(tmp_path, kept, name):
    noise = np.random.default_rng(0).integers(0, 256, (40, 40), np.uint8)
    path = saved(tmp_path, Image.fromarray(noise), name)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=rf"{name} is (damaged|not a PNG or JPEG)"):
        read_picture(path)


def test_other_files_are_named(tmp_path):
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(DataError, match=r"a\.png is not a PNG or JPEG image"):
        read_picture(tmp_path / "a.png")
    Image.new("L", (2, 2)).save(tmp_path / "gif.png", format="GIF")
    with pytest.raises(DataError, match="is not a PNG or JPEG image; convert it first"):
        read_picture(tmp_path / "gif.png")
    with pytest.raises(DataError, match="does not exist"):
        read_picture(tmp_path / "missing.png")
    with pytest.raises(DataError, match="is a folder"):
        read_picture(tmp_path)
    corrupt = bytearray(png_header(4, 4, b"\0" * 20))
    corrupt[45] ^= 255
    (tmp_path / "b.png").write_bytes(corrupt)
    with pytest.raises(DataError, match=r"b\.png is damaged"):
        read_picture(tmp_path / "b.png")


def test_arrays_must_be_images():
    assert as_pixels(np.ones((2, 3))).shape == (2, 3, 1)
    with pytest.raises(DataError, match=r"whole ones from 0 to 255"):
        as_pixels(np.full((2, 2), 0.5))
    with pytest.raises(DataError, match=r"shape \(2, 2, 2\)"):
        as_pixels(np.zeros((2, 2, 2)))
