"""File names that were meant as such but lead nowhere: they must not come back as translations.

No rule tells every name from every text. Where one could be either, it is taken for a name: the error gives the command
that translates it all the same, while the translation of a mistyped name would be taken for that of the file.
"""

from __future__ import annotations

import re
from pathlib import Path

from dragoman.data.documents import BY_EXTENSION
from dragoman.data.readers import FORMATS
from dragoman.data.readers.aligned import is_two_files
from dragoman.data.source import COMPRESSIONS
from dragoman.errors import DataError

TABLES = ("tsv", "csv", "jsonl", "parquet")
TABLE_EXTENSIONS = {extension: name for name in TABLES for extension in FORMATS[name].extensions if extension != "txt"}
KNOWN_EXTENSIONS = {*BY_EXTENSION, *TABLE_EXTENSIONS, "txt", "text", *(ending[1:] for ending in COMPRESSIONS)}
WEB = ("com", "net", "org")  # ends of hosts, which are texts: 'example.com'
FEW = 3  # words that a file name with spaces in it has at most
_ANCHORED = re.compile(r"(?:~|\.{1,2})?[/\\](?=\S)|[A-Za-z]:[/\\]")
_PUNCTUATION = re.compile(r'[?!;:…¿¡"“”«»]|[.,](?=\s|$)')  # of a sentence
_NAME = re.compile(r"\S*\w\.(?:[a-z][a-z0-9]{1,4}|[A-Z][A-Z0-9]{1,4})")  # test.en, all.tvs; not Hello.World, 2.5kg
_SHORT_NAME = re.compile(r"[\w-]{3,}\.[a-z]")  # main.c; not a.k.a, p.m
_INITIALS = re.compile(r"(?:\w\.){2,}\w{1,2}")  # U.S.SR


def as_text(command: str = "translate") -> str:
    what = "translate the words themselves" if command == "translate" else "read the words themselves"
    return f"To {what}, pipe them in: echo WORDS | dragoman {command} MODEL"


def exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False


def refuse_path(text: str, command: str = "translate") -> None:
    """Raise an error for a text that was probably meant to name a file."""
    if is_two_files(text) and all(exists(name.strip()) for name in text.split(",")):
        raise DataError(
            f"{text} names two files; name the one that is to be {'translated' if command == 'translate' else 'read'}"
        )
    if looks_like_path(text):
        shown = text if text == text.strip() else repr(text)
        raise DataError(f"{shown} does not exist; check the path. {as_text(command)}")


def looks_like_path(text: str) -> bool:
    """Whether a text that names no file was probably meant to name one. 'and/or' and 'Go to example.com' are texts."""
    text = text.strip()
    if "://" in text or "\n" in text:
        return False
    if _is_host(text.split(" ")[-1]) and not _ANCHORED.match(text):
        return False
    if re.search(r"\s", text):
        return _is_spaced_path(text)
    if _extension(text) in KNOWN_EXTENSIONS or _ANCHORED.match(text) or text.endswith(("/", "\\")):
        return True
    first, slash, _ = text.partition("/")
    if slash and _is_directory(first):
        return True
    return not _PUNCTUATION.search(text) and _is_shaped_like_path(text)


def _is_spaced_path(text: str) -> bool:
    """'My File.txt'; with spaces, the extension has to be one that files are known by."""
    if _extension(text) not in KNOWN_EXTENSIONS:
        return False
    if _ANCHORED.match(text) or _is_directory(str(Path(text).parent)):
        return True
    return len(text.split()) <= FEW and not _PUNCTUATION.search(text)


def _is_shaped_like_path(text: str) -> bool:
    """A name with an extension, or a name in folders of folders; '12/05/2024' and 'km/h' are none."""
    *folders, name = re.split(r"[/\\]", text)
    if (_NAME.fullmatch(name) and not _INITIALS.fullmatch(name)) or _SHORT_NAME.fullmatch(name):
        return True
    return len(folders) > 1 and all((*folders, name)) and any(letter.isalpha() for letter in text)


def _is_host(word: str) -> bool:
    return _extension(word) in WEB and not re.search(r"[/\\~]", word)


def _extension(text: str) -> str:
    return text.rpartition(".")[2].lower() if "." in text else ""


def _is_directory(name: str) -> bool:
    return name not in (".", "/") and exists(name) and Path(name).is_dir()
