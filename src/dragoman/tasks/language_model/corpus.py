"""From the data settings of a configuration to a prepared text, found again when nothing changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.source import STANDARD_INPUT
from dragoman.data.stream_preparation import cached_stream
from dragoman.data.text_files import TextFiles
from dragoman.data.token_stream import StreamSchema, TokenStream
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.language_model.settings import CONTEXT, StreamData


@dataclass(frozen=True)
class TextCorpus:
    """Plain texts, read when they are asked for."""

    settings: StreamData
    digest: str  # of the contents and of how they are read
    files: TextFiles

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    def left_out(self) -> list[str]:
        """Nothing of a text is left out."""
        return []

    def check_formats(self, saved: Any) -> None:
        """There is one format."""

    def dataset(self, tokenizer: Tokenizer | None = None) -> TokenStream:
        s = self.settings
        schema = StreamSchema(s.tokenizer, s.vocabulary, s.context or CONTEXT)
        return cached_stream(self.files, self.digest, schema, s.shares, tokenizer)


def open_corpus(settings: StreamData) -> TextCorpus:
    """The files of the settings."""
    return TextCorpus(settings, (files := text_files(settings)).digest(), files)


def text_files(settings: StreamData) -> TextFiles:
    """The files, each of which is there."""
    if not settings.files:
        raise ConfigurationError("data.files names no file; give one or more files of plain text")
    if settings.header is not None:
        raise ConfigurationError("data.header is for tables; a language model reads plain text as it stands")
    for name in settings.files:
        if name == STANDARD_INPUT:
            raise DataError("a training reads its text more than once, so not from standard input; save it to a file")
        if Path(name).is_dir():
            raise DataError(f"{name} is a directory; name the files in it")
        if not Path(name).exists():
            raise DataError(f"{name} does not exist; check the path")
    return TextFiles(settings.files, settings.encoding)
