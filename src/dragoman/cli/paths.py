"""Detect arguments that are probably names of files that do not exist, so that they are not translated as text.

No rule separates all names from all texts. In doubt it is a name: the error shows how to translate it as text, while
the translation of a mistyped name could be mistaken for that of the file.
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
WEB = ("com", "net", "org")  # top-level domains: 'example.com' is a text
FEW = 3  # maximum number of words in a file name with spaces
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
    except (OSError, ValueError):  # too long for a name, or with a character that names cannot have
        return False


def refuse_path(text: str, command: str = "translate") -> None:
    """Raise an error for a text that was probably meant to name a file."""
    if is_two_files(text) and all(exists(name.strip()) for name in text.split(",")):
        raise DataError(f"{text} names two files; give the one to {command}")
    if looks_like_path(text):
        shown = text if text == text.strip() else repr(text)
        raise DataError(f"{shown} does not exist; check the path. {as_text(command)}")


def looks_like_path(text: str) -> bool:
    """Return whether a text was probably meant to name a file. 'and/or' and 'Go to example.com' are texts."""
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
    """Return whether it is like 'My File.txt'; with spaces, the extension must be a known one."""
    if _extension(text) not in KNOWN_EXTENSIONS:
        return False
    if _ANCHORED.match(text) or _is_directory(str(Path(text).parent)):
        return True
    return len(text.split()) <= FEW and not _PUNCTUATION.search(text)


def _is_shaped_like_path(text: str) -> bool:
    """Return whether it is a name with an extension, or in nested folders; '12/05/2024' and 'km/h' are not."""
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
