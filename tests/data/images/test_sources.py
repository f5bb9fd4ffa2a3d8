"""Folders, tables, IDX and npz: the same pictures from each, and clear errors for what is wrong with them."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from dragoman.data.images.sources import Reading, find_pictures
from dragoman.errors import DataError
from tests.drawn_images import drawn, write_folder, write_idx


def pictures(path):
    return [(picture.pixels[:, :, 0], label) for picture, label in find_pictures([str(path)])]


def assert_same(found, images, labels):
    assert [label for _, label in found] == [str(label) for label in labels]
    for (pixels, _), image in zip(found, images, strict=True):
        np.testing.assert_array_equal(pixels, image)


def test_a_folder_of_classes(tmp_path):
    images, names = drawn(9)
    write_folder(tmp_path, 9)
    order = sorted(range(9), key=lambda i: (names[i], f"{i}.png"))
    assert_same(pictures(tmp_path), images[order], names[order])


def test_files_that_are_no_images_are_told_and_broken_ones_skipped_on_request(tmp_path):
    write_folder(tmp_path, 6)
    (tmp_path / "disc" / "notes.txt").write_text("x")
    (tmp_path / "disc" / ".hidden").write_text("x")
    (tmp_path / "disc" / "z.png").write_text("no image")
    found = find_pictures([str(tmp_path)])
    with pytest.raises(DataError, match=r"z\.png is not a PNG or JPEG image"):
        list(found)
    found.reading = Reading(skip=True)
    assert len(list(found)) == 6
    told = "\n".join(found.left_out())
    assert "1 file left out, not named as PNG or JPEG" in told
    assert "1 image skipped" in told
    assert "z.png is not a PNG" in told


def test_folders_of_parts(tmp_path):
    for part, count in (("train", 9), ("val", 3), ("test", 6)):
        write_folder(tmp_path / part, count)
    found = find_pictures([str(tmp_path)])
    assert {part: len(list(each)) for part, each in found.items()} == {"training": 9, "validation": 3, "testing": 6}


@pytest.mark.parametrize(("name", "between"), [("labels.tsv", "\t"), ("labels.csv", ",")])
def test_a_table_of_files_and_labels(tmp_path, name, between):
    images, names = drawn(6)
    write_folder(tmp_path / "all", 6)
    lines = [between.join(("file", "label"))]
    lines += [between.join((f"all/{label}/{i}.png", f"a {label}")) for i, label in enumerate(names)]
    (tmp_path / name).write_text("\n".join(lines))
    assert_same(pictures(tmp_path / name), images, [f"a {label}" for label in names])


def test_a_table_that_leaves_its_folder_is_refused(tmp_path):
    write_folder(tmp_path / "outside", 3)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link.png").symlink_to(tmp_path / "outside" / "cross" / "0.png")
    for name in ("../outside/cross/0.png", str(tmp_path / "outside/cross/0.png"), "link.png"):
        (tmp_path / "inside" / "a.tsv").write_text(f"{name}\tcross\n")
        with pytest.raises(DataError, match=r"a\.tsv, line 1: .* leaves the folder"):
            find_pictures([str(tmp_path / "inside" / "a.tsv")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x.png\tcat\n", "line 1: there is no file"),
        ("x.png\n", "line 1: expected a file and a label, got 1 cells"),
        ("", "has no rows"),
    ],
)
def test_mistakes_in_tables_name_the_line(tmp_path, content, message):
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        find_pictures([str(tmp_path / "a.tsv")])


def write_mnist(folder, parts=("train", "t10k"), compressed=False):
    for part in parts:
        images, names = drawn(9)
        labels = np.unique(names, return_inverse=True)[1].astype(np.uint8)
        for path in (
            write_idx(folder / f"{part}-images-idx3-ubyte", images),
            write_idx(folder / f"{part}-labels-idx1-ubyte", labels),
        ):
            if compressed:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
                path.unlink()
    return images, labels


@pytest.mark.parametrize("compressed", [False, True])
def test_idx_plain_and_compressed(tmp_path, compressed):
    images, labels = write_mnist(tmp_path, compressed=compressed)
    found = find_pictures([str(tmp_path)])
    assert set(found) == {"training", "testing"}
    ending = ".gz" if compressed else ""
    assert_same(pictures(tmp_path / f"train-images-idx3-ubyte{ending}"), images, labels)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("change", ["promise", "cut", "more"])
def test_an_idx_file_that_promises_more_than_it_holds(tmp_path, compressed, change):
    write_mnist(tmp_path, ("train",))
    path = tmp_path / "train-images-idx3-ubyte"
    content = path.read_bytes()
    if change == "promise":
        content = content[:4] + b"\x7f\xff\xff\xff" + content[8:]
    else:
        content = content[:-5] if change == "cut" else content + b"12345"
    path.write_bytes(gzip.compress(content) if compressed else content)
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte promises .* bytes"):
        find_pictures([str(path)])


def test_other_mistakes_in_idx_files(tmp_path):
    write_mnist(tmp_path, ("train",))
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="labels are expected in train-labels-idx1-ubyte"):
        find_pictures([str(tmp_path)])
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(b"\0\0\x0d\x01" + b"\0" * 20)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"")
    with pytest.raises(DataError, match="type 0x0D; expected unsigned bytes"):
        find_pictures([str(path)])
    path.write_bytes(b"\0\0\x08\x03\0\0")
    with pytest.raises(DataError, match="ends inside its header"):
        find_pictures([str(path)])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    images, names = drawn(6)
    save(tmp_path / "a.npz", images=images, labels=names)
    assert_same(pictures(tmp_path / "a.npz"), images, names)
    numbers = np.arange(6)
    save(tmp_path / "b.npz", x_train=images, y_train=numbers, x_test=images[:3], y_test=numbers[:3])
    assert {part: len(list(each)) for part, each in find_pictures([str(tmp_path / "b.npz")]).items()} == {
        "training": 6,
        "testing": 3,
    }


def test_npz_with_pickled_objects_or_false_promises_is_refused(tmp_path):
    images, names = drawn(6)
    np.savez(tmp_path / "a.npz", images=images, labels=names.astype(object))
    with pytest.raises(DataError, match=r"labels\.npy holds pickled objects, which could run code"):
        find_pictures([str(tmp_path / "a.npz")])
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**12, 8, 8)})
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("images.npy", header.getvalue() + b"few")
        archive.writestr("labels.npy", header.getvalue())
    with pytest.raises(DataError, match="would take 64,000,000,000,000 bytes"):
        find_pictures([str(tmp_path / "b.npz")])
    np.savez(tmp_path / "c.npz", pictures=images)
    with pytest.raises(DataError, match=r"has no arrays `images` and `labels`.*; it has pictures"):
        find_pictures([str(tmp_path / "c.npz")])
    (tmp_path / "d.npz").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match=r"d\.npz cannot be read as an \.npz file"):
        find_pictures([str(tmp_path / "d.npz")])
    np.savez(tmp_path / "e.npz", images=images, labels=names[:3])
    with pytest.raises(DataError, match=r"images \(6, 8, 8\) and labels \(3,\) do not fit"):
        find_pictures([str(tmp_path / "e.npz")])


def test_what_is_no_place_of_images(tmp_path):
    with pytest.raises(DataError, match="holds no images; expected a sub-folder for each class"):
        find_pictures([str(tmp_path)])
    with pytest.raises(DataError, match="does not exist"):
        find_pictures([str(tmp_path / "missing")])
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match="is none of: a folder"):
        find_pictures([str(tmp_path / "a.png")])
