"""Where the pictures of a training come from: folders of classes, tables of files, IDX and npz files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.data.images.idx import is_idx, read_idx
from dragoman.data.images.npz import read_npz
from dragoman.data.images.picture import EXTENSIONS, Picture, Shape, as_pixels, converted, read_picture
from dragoman.data.splits import PARTS
from dragoman.errors import DataError
from dragoman.graph import Array
from dragoman.wording import counted


class TabSeparated(csv.excel_tab):
    """Cells between tabs; quotation marks are ordinary characters."""

    quoting = csv.QUOTE_NONE


TABLES = {".tsv": TabSeparated, ".csv": csv.excel}
FOLDERS = {  # what folders of a part are called
    "training": ("training", "train"),
    "validation": ("validation", "valid", "val", "dev"),
    "testing": ("testing", "test"),
}
IDX_NAMES = {"training": "train", "testing": "t10k"}
HEADINGS = ("file", "image", "path", "filename")
LONGEST_LINE = 1 << 16
SHOWN = 5

Sample = tuple[Picture, str]  # and its label


@dataclass(frozen=True)
class Reading:
    """How pictures are read.

    channels  1 for grey, 3 for colour; None: as each picture has them
    resize    to (height, width)
    skip      leave out pictures that cannot be read, and count them, instead of an error
    """

    channels: int | None = None
    resize: tuple[int, int] | None = None
    skip: bool = False


@dataclass
class Pictures:
    """Pictures with their labels, decoded each time they are iterated over.

    read     yields the samples, or what is wrong with one
    files    that they are read from, for the digest, each with the name that counts
    ignored  files beside them that are no images
    """

    read: Callable[[Reading], Iterator[Sample | DataError]]
    files: list[tuple[str, Path]]
    reading: Reading = Reading()
    ignored: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Sample]:
        self.skipped.clear()
        for found in self.read(self.reading):
            if not isinstance(found, DataError):
                yield found
            elif self.reading.skip:
                self.skipped.append(str(found))
            else:
                raise found

    def shape(self) -> Shape:
        """That of the first picture that can be read: all others must have it."""
        for picture, _ in self:
            return picture.shape
        raise DataError("there is no image that can be read")

    def left_out(self) -> list[str]:
        """What was not used, in sentences."""
        lines = []
        if self.ignored:
            more = "" if len(self.ignored) == 1 else ", ..."
            lines.append(
                f"{counted(len(self.ignored), 'file')} left out, not named as PNG or JPEG: {self.ignored[0]}{more}"
            )
        if self.skipped:
            lines.append(f"{counted(len(self.skipped), 'image')} skipped")
            lines += [f"    {why}" for why in self.skipped[:SHOWN]]
        return lines


Found = Pictures | dict[str, Pictures]  # to be split, or by part


def find_pictures(names: Sequence[str]) -> Found:
    """The pictures of a folder, a table, an IDX file or an npz archive."""
    if len(names) != 1:
        raise DataError(f"images are read from one folder or file, got {len(names)}; put them into one folder")
    path = Path(names[0])
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path")
    if path.is_dir():
        return _of_folder(path)
    if path.suffix.lower() in TABLES:
        return of_table(path)
    if path.suffix.lower() == ".npz":
        return _of_npz(path)
    if is_idx(path):
        return _of_idx(path)
    raise DataError(
        f"{path} is none of: a folder with a sub-folder for each class, a table (.tsv, .csv) of files and labels, "
        "an .npz archive, an IDX file"
    )


# Folders


def _of_folder(folder: Path) -> Found:
    """MNIST's four files, parts with classes in them, or classes."""
    idx = {part: _idx_images(folder, name) for part, name in IDX_NAMES.items()}
    if idx["training"] is not None:
        found = {part: _of_idx(path) for part, path in idx.items() if path is not None}
        return found if len(found) > 1 else found["training"]
    parts = {part: folder / called for part, names in FOLDERS.items() for called in names if (folder / called).is_dir()}
    if "training" in parts and any(_sub_folders(parts["training"])):
        return {part: of_classes(parts[part]) for part in PARTS if part in parts}
    return of_classes(folder)


def _sub_folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def of_classes(folder: Path) -> Pictures:
    """The pictures of a folder with one sub-folder for each class."""
    files: list[tuple[str, Path]] = []
    ignored: list[Path] = []
    for place in _sub_folders(folder):
        for path in sorted(place.iterdir()):
            if path.name.startswith("."):
                continue
            if path.suffix.lower() in EXTENSIONS:
                files.append((f"{place.name}/{path.name}", path))
            else:
                ignored.append(path)
    if not files:
        raise DataError(
            f"{folder} holds no images; expected a sub-folder for each class with PNG or JPEG files in it, such as "
            f"{folder / 'cat' / '1.png'}, or the files of MNIST"
        )

    def read(reading: Reading) -> Iterator[Sample | DataError]:
        return _decoded([(path, path.parent.name) for _, path in files], reading)

    return Pictures(read, files, ignored=ignored)


def _decoded(files: Sequence[tuple[Path, str]], reading: Reading) -> Iterator[Sample | DataError]:
    """Files with their labels."""
    for path, label in files:
        try:
            yield read_picture(path, reading.channels, reading.resize), label
        except DataError as error:
            yield error


# Tables


def of_table(path: Path) -> Pictures:
    """The pictures that a table names: `file<TAB>label`, relative to its own folder and inside it."""
    rows = list(table_rows(path))
    if not rows:
        raise DataError(f"{path} has no rows; expected lines of a file and its label")

    def read(reading: Reading) -> Iterator[Sample | DataError]:
        return _decoded(rows, reading)

    return Pictures(read, [("table", path), *((label, place) for place, label in rows)])


def table_rows(path: Path) -> Iterator[tuple[Path, str]]:
    """File and text of each row; files that leave the table's folder are refused. A first line of headings is left
    out."""
    folder = path.parent.resolve()
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(_bounded(lines, path), TABLES[path.suffix.lower()])
            for row in rows:
                if not any(cell.strip() for cell in row):
                    continue
                place = f"{path}, line {rows.line_num}"
                if len(row) != 2 or not all(cell.strip() for cell in row):
                    raise DataError(f"{place}: expected a file and a label, got {len(row)} cells: {row!r:.80}")
                name, label = (cell.strip() for cell in row)
                if rows.line_num == 1 and name.lower() in HEADINGS:
                    continue
                yield inside(folder, path.parent, name, place), label
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a table: {error}") from None


def _bounded(lines: Iterator[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise DataError(f"{path}, line {number}: longer than {LONGEST_LINE:,} characters; is it a table?")
        yield line


def inside(folder: Path, given: Path, name: str, place: str) -> Path:
    """The file of this name in a folder (resolved; as it was given); an error if it lies elsewhere or is missing."""
    if "\0" in name:
        raise DataError(f"{place}: a file name with a NUL character")
    found = given / name
    if Path(name).is_absolute() or not found.resolve().is_relative_to(folder):
        raise DataError(f"{place}: {name} leaves the folder of the table; files must lie inside {given}")
    if not found.is_file():
        raise DataError(f"{place}: there is no file {found}; correct the name, or remove the line")
    return found


# Arrays


def _of_arrays(images: Array, labels: Array, name: str, file: Path) -> Pictures:
    """Pictures of arrays [n, H, W] or [n, H, W, C] and [n]."""
    if images.ndim not in (3, 4) or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(
            f"{name}: images {images.shape} and labels {labels.shape} do not fit; expected [n, H, W] or [n, H, W, C] "
            "and [n]"
        )
    if labels.dtype.kind not in "biuU":
        raise DataError(f"{name}: labels of type {labels.dtype}; expected whole numbers or texts")

    def read(reading: Reading) -> Iterator[Sample | DataError]:
        for i, (image, label) in enumerate(zip(images, labels, strict=True)):
            where = f"{name}, image {i + 1}"
            try:
                pixels = converted(as_pixels(image, where), reading.channels, reading.resize, where)
                yield Picture(where, pixels), str(label)
            except DataError as error:
                yield error

    return Pictures(read, [(file.name, file)])


def _of_npz(path: Path) -> Found:
    found = {part: _of_arrays(*arrays, name=f"{path} ({part})", file=path) for part, arrays in read_npz(path).items()}
    return found if len(found) > 1 else found["training"]


def _idx_images(folder: Path, name: str) -> Path | None:
    """MNIST's images of a part: train-images-idx3-ubyte, train-images.idx3-ubyte, or the same compressed."""
    found = sorted(path for path in folder.glob(f"{name}-images*idx3*") if path.is_file())
    return found[0] if found else None


def _of_idx(path: Path) -> Pictures:
    """An IDX file of images; its labels lie in the file of the same name with `labels` and `idx1`."""
    labels = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    if labels == path or not labels.is_file():
        raise DataError(f"{path}: its labels are expected in {labels.name} beside it, which does not exist")
    found = _of_arrays(read_idx(path), read_idx(labels), str(path), path)
    found.files.append((labels.name, labels))
    return found
