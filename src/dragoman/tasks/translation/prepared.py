"""Prepare a large corpus once, with `dragoman data prepare`, and train on the directory that it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.augmentation import TEACHING
from dragoman.data.dataset import Dataset
from dragoman.data.pair_encoding import SIDES, Encoding
from dragoman.data.parallel_preparation import ShardReading, Tell, prepare_shards
from dragoman.data.readers import Layout, ReadErrors
from dragoman.data.readers.layout import zero_based
from dragoman.data.shards import cut_into_shards, find_files
from dragoman.data.splits import Splitting
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import ConfigurationError, FileFormatError
from dragoman.tasks.parts import FREE, prepared_notes
from dragoman.tasks.translation.corpus import Corpus
from dragoman.tasks.translation.settings import PairData
from dragoman.tasks.translation.translator import Translator

NOTHING = (None, None)


def prepare_corpus(
    settings: PairData,
    out: Path,
    seed: int = 0,
    workers: int = 1,
    base: Translator | None = None,
    tell: Tell = lambda what, done, total: None,
) -> tuple[Dataset, ReadErrors]:
    """Prepare the pairs of files, directories and addresses; also what was skipped.

    base  a model whose vocabularies are used, to fine-tune it on the pairs
    """
    encoders = None
    if base is not None:
        encoders = dict(zip(SIDES, (base.source_tokenizer, base.target_tokenizer), strict=True))
        languages = settings.languages or base.metadata.languages
        protect = settings.protect and base.metadata.protect
        settings = settings.model_copy(update={"protect": protect, "languages": languages})
    s, room = settings, None if base is None else base.network.maximum_length
    layout = Layout("pairs", zero_based(s.columns), s.header, s.languages)
    shards = cut_into_shards(find_files(s.files, s.format), layout, s.format, s.encoding)
    schema = Encoding(s.tokenizer, s.vocabulary or NOTHING, s.joint, s.maximum or NOTHING, s.protect, room)
    if s.split == "given":
        raise ConfigurationError("a large corpus is split by source; leave data.split out")
    reading = ShardReading(layout, s.format, s.on_bad_line, Splitting(s.shares, s.split, seed))
    notes = {"teaching": TEACHING, "seed": seed, "settings": s.model_dump(mode="json")}
    return prepare_shards(shards, out, schema, reading, encoders, workers, notes, tell)


@dataclass(frozen=True)
class PreparedCorpus(Corpus):
    """A directory that `dragoman data prepare` wrote."""

    def check_formats(self, saved: PairData) -> None:
        """The files themselves are not read."""

    def dataset(
        self, seed: int, tokenizers: tuple[Tokenizer, Tokenizer] | None = None, room: int | None = None
    ) -> Dataset:
        """The dataset as it was prepared; an error if the network needs another one."""
        found = Dataset(Path(self.name))
        longest = max(found.about["longest"])
        if room is not None and longest > room:
            raise ConfigurationError(
                f"{self.name} has sentences of up to {longest} tokens, but the network has positions for {room}; "
                f"prepare it with --set data.maximum=[{room},{room}], or raise network.maximum_length"
            )
        ours = [tokenizer.to_json() for tokenizer in found.tokenizers]
        if tokenizers is not None and ours != [tokenizer.to_json() for tokenizer in tokenizers]:
            raise ConfigurationError(
                f"{self.name} was not prepared with the vocabulary of the model to fine-tune; prepare the pairs again "
                "with dragoman data prepare --from MODEL"
            )
        return found


def open_prepared(settings: PairData, given: Mapping[str, Any]) -> PreparedCorpus:
    """A prepared directory, the only one of data.files; settings that contradict its preparation are refused."""
    place, notes = settings.files[0], prepared_notes(settings.files[0])
    before = PairData(**notes["settings"])
    if before.protect and notes["teaching"] != TEACHING:
        raise FileFormatError(f"{place} was prepared by another version of Dragoman; prepare the pairs again")
    resumed = given.get("split") == "given"  # a saved configuration: shares are those of the parts
    for name in given:
        now, then = getattr(settings, name), getattr(before, name)
        if name not in (*FREE, *(("split", "shares") if resumed else ())) and now != then:
            raise ConfigurationError(
                f"data.{name} = {_shown(now)}, but {place} was prepared with {_shown(then)}; leave it out, or prepare "
                "the pairs again"
            )
    kept = {name: getattr(settings, name) for name in FREE if getattr(settings, name) is not None}
    decided = before.model_copy(update={**kept, "split": "given"})
    return PreparedCorpus(decided, notes["digest"], (), (), decided.languages)


def _shown(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value)
