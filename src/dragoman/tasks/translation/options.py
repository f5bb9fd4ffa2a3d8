"""Options of decoding."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.decoding import Beam, Greedy, Sampling
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

WIDEST = 256  # beam; a wider one is not better, and takes more memory and time


@dataclass(frozen=True)
class DecodingOptions:
    """How tokens are chosen.

    beam            width of the search, at most 256; 1 is greedy
    alternatives    how many translations of each text
    length_penalty  0 prefers short translations, 1 compares them by their mean log-probability
    sample          draw tokens instead, at a temperature, from the top_k or top_p most probable, with a seed
    maximum         tokens a translation may have; None: by the length of the text
    scored          False: greedy translations come sooner, with NaN for their scores
    """

    beam: int = 4
    alternatives: int = 1
    length_penalty: float = 1.0
    sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    maximum: int | None = None
    scored: bool = True

    def __post_init__(self) -> None:
        if self.sample and self.alternatives > 1:
            raise ConfigurationError("sampling gives one translation per text; use another seed for another one")
        if not 1 <= self.beam <= WIDEST:
            raise ConfigurationError(f"a beam must be 1 to {WIDEST} wide, got {self.beam}; 4 to 10 is usual")
        if self.alternatives < 1:
            raise ConfigurationError(f"a text has at least one translation, not {self.alternatives}")
        if not self.sample and self.alternatives > self.beam:
            raise ConfigurationError(f"{self.alternatives} alternatives need a beam as wide, got {self.beam}")
        if self.maximum is not None and self.maximum < 1:
            raise ConfigurationError(f"a translation has at least one token, got a maximum of {self.maximum}")

    def method(self) -> Greedy | Sampling | Beam:
        if self.sample:
            return Sampling(self.temperature, self.top_k, self.top_p, self.seed)
        return Greedy(self.scored) if self.beam == 1 else Beam(self.beam, self.length_penalty, self.alternatives)

    def longest(self, source: Array) -> int:
        """Return the maximum number of tokens in the translation of a source."""
        return 2 * len(source) + 10 if self.maximum is None else self.maximum
