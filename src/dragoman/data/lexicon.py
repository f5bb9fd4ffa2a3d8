"""The words of tagged sentences, each with its most frequent tag: what a tagger is compared with."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dragoman.errors import DataError, FileFormatError


@dataclass(frozen=True)
class Lexicon:
    """The most frequent tag of each word of the training part.

    default  the most frequent tag of the words that occur once, which is what words look like that do not occur
    """

    tags: Mapping[str, str]
    default: str

    file: ClassVar[str] = "lexicon"

    @property
    def size(self) -> int:
        return len(self.tags)

    @classmethod
    def learn(cls, sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Lexicon:
        """Count the tags of each word; of equally frequent ones the first by name is taken."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for words, tags in sentences:
            for word, tag in zip(words, tags, strict=True):
                counts[word][tag] += 1
        if not counts:
            raise DataError("there are no words to learn from")
        tags_of = {word: _most_frequent(counts[word]) for word in sorted(counts)}
        once = Counter(tags_of[word] for word, found in counts.items() if found.total() == 1)
        return cls(tags_of, _most_frequent(once or sum(counts.values(), Counter())))

    def __contains__(self, word: object) -> bool:
        return word in self.tags

    def tag(self, word: str) -> str:
        """What one would guess who knows the word alone."""
        return self.tags.get(word, self.default)

    def to_json(self) -> str:
        by_tag: dict[str, list[str]] = defaultdict(list)
        for word, tag in self.tags.items():
            by_tag[tag].append(word)
        return json.dumps({"default": self.default, "words": dict(sorted(by_tag.items()))}, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            pairs = sorted((str(word), str(tag)) for tag, words in found["words"].items() for word in words)
            return cls(dict(pairs), str(found["default"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileFormatError(f"{path} cannot be read as a lexicon: {error!r}") from None


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag))
