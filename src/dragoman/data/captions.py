"""A folder of images with a table of captions: `file<TAB>caption`, several lines for an image with several captions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from dragoman.data.images.picture import EXTENSIONS
from dragoman.data.readers import Layout, Reading, Record, read_records
from dragoman.data.records import OnBadLine
from dragoman.errors import DataError
from dragoman.wording import counted

TABLE = "captions.tsv"
LAYOUT = Layout("captions")
SHOWN = 3  # names of images without a caption in a message


@dataclass(frozen=True)
class Captioned:
    """A line of the table: an image, its caption, and where the line stands."""

    image: Path
    name: str
    caption: str
    file: str
    number: int


class CaptionTable:
    """The captions of a folder, read each time they are iterated over.

    table  the file; its images are named relative to its folder, and stand inside that folder
    """

    def __init__(self, table: Path, encoding: str = "utf-8", on_bad_line: OnBadLine = "error") -> None:
        self.table, self.folder = table, table.parent
        self.reading: Reading = read_records([str(table)], LAYOUT, "tsv", encoding, on_bad_line)

    def __iter__(self) -> Iterator[Captioned]:
        inside = self.folder.resolve()
        for record in self.reading:
            name, caption = record.fields
            reason = _outside(name) or _missing(self.folder / name, inside)
            if reason:
                self.reading.problems.add(reason, record.file, record.line, name, _advice(record, reason))
            else:
                yield Captioned(self.folder / name, name, caption, record.file, record.line)

    def images_without_caption(self) -> list[str]:
        """The images of the folder that no line names, by their names."""
        named = {entry.image.resolve() for entry in self}
        found = (path for path in sorted(self.folder.rglob("*")) if path.suffix.lower() in EXTENSIONS)
        return [str(path.relative_to(self.folder)) for path in found if path.is_file() and path.resolve() not in named]


def _outside(name: str) -> str:
    """Why a name cannot be one of this folder: it leads out of it, on this system or on another."""
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(name)
        if path.anchor or ".." in path.parts:
            return "an image outside the folder"
    return ""


def _missing(path: Path, inside: Path) -> str:
    """Why there is no such image: links may not lead out of the folder, either."""
    try:
        if not path.is_file():
            return "a caption without its image"
        return "" if path.resolve().is_relative_to(inside) else "an image outside the folder"
    except (OSError, ValueError):
        return "a caption without its image"


def _advice(record: Record, reason: str) -> str:
    if reason == "an image outside the folder":
        return f"name images relative to the folder of {record.file}"
    return "no such file in the folder of the table"


def find_table(folder: Path) -> Path:
    """The table of a folder: captions.tsv, or the only .tsv file there is."""
    if (folder / TABLE).is_file():
        return folder / TABLE
    tables = sorted(path for path in folder.glob("*.tsv") if path.is_file())
    if len(tables) == 1:
        return tables[0]
    found = f"several tables ({', '.join(path.name for path in tables[:SHOWN])})" if tables else "no table of captions"
    raise DataError(f"{folder} has {found}; expected {TABLE} with lines `file<TAB>caption`")


def without_caption(names: list[str]) -> str:
    """What to tell of images that no line names."""
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{counted(len(names), 'image')} without a caption: {shown}"
