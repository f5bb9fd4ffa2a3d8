"""TextGenerator: writes on from a text, and says how probable a text is."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dragoman.batch import END, UNKNOWN
from dragoman.data.tokenizer import Tokenizer
from dragoman.decoding import Greedy, Sampling, Writing
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array
from dragoman.networks import LanguageModel
from dragoman.ranks import ALONE, Ranks
from dragoman.tasks.features import LONGEST, TextFeatures, encode_features
from dragoman.tasks.inputs import check_text, takes_texts
from dragoman.tasks.language_model.scoring import Measured, TextScore, measure, score_of
from dragoman.tasks.language_model.settings import LanguageModelMetadata
from dragoman.tasks.language_model.streaming import TextStream
from dragoman.tasks.trained_model import TrainedModel

TOKENS = 500  # written unless something else is asked for
FARTHEST = 2  # windows that a network with relative positions looks back at (docs/language-models.md)


@dataclass(frozen=True)
class GenerationOptions:
    """How a text goes on.

    tokens       written at most
    temperature  below 1 more cautious, above 1 more varied; 0 is greedy: always the most probable token
    top_k        only the k most probable tokens are drawn
    top_p        only the fewest most probable tokens that have this probability together
    seed         of the draws; the same seed writes the same text
    stop         texts at which writing ends; they are not written
    """

    tokens: int = TOKENS
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ConfigurationError(f"at least 0 tokens are written, got {self.tokens}")
        if not all(self.stop):
            raise ConfigurationError("a stop string has at least one character")
        if self.temperature:
            self.method()

    def method(self) -> Greedy | Sampling:
        if self.temperature == 0:
            return Greedy()
        return Sampling(self.temperature, self.top_k, self.top_p, self.seed)


@dataclass(frozen=True)
class Ending:
    """How a text ended: how many tokens were written, and why there are no more.

    reason  stop: a stop string; end: the end mark; length: as many tokens as were asked for
    """

    tokens: int
    reason: Literal["stop", "end", "length"]


class TextGenerator(TrainedModel):
    """A language model with its tokenizer."""

    task = "language-model"
    metadata: LanguageModelMetadata

    @property
    def tokenizer(self) -> Tokenizer:
        found: Tokenizer = self.encoders["text"]
        return found

    # Writing

    def generate(self, prompt: str = "", **options: Any) -> Iterator[str]:
        """The text that goes on from a prompt, piece by piece as it is written; see `GenerationOptions`.

        "".join(generator.generate("Once", tokens=100)) is the whole of it, without the prompt.
        """
        return self.samples(prompt, 1, GenerationOptions(**options))[0]

    def samples(self, prompt: str, count: int, options: GenerationOptions) -> list[Generator[str, None, Ending]]:
        """Several texts that go on from one prompt, each as an iterator; the prompt is read once, when it is needed.

        What an iterator returns says how its text ended.
        """
        labels = self._prompt(prompt)  # mistakes are reported before anything is written
        options.method()
        writings: list[Writing] = []

        def sample(number: int) -> Generator[str, None, Ending]:
            with fast_compute():
                if not writings:
                    several = self.metadata.texts > 1  # else it has never seen an end
                    writings.append(Writing(self.network, labels, self.window, ends=several))
            return (yield from self._written(writings[0], number, options))

        return [sample(number) for number in range(count)]

    def _written(self, writing: Writing, number: int, options: GenerationOptions) -> Generator[str, None, Ending]:
        stream, left, ended = TextStream(self.tokenizer, options.stop), options.tokens, False
        with closing(writing.labels(options.method(), number)) as chosen:
            while left and not stream.stopped:
                with fast_compute():
                    label, _ = next(chosen)
                if label == END:
                    ended = True
                    break
                left -= 1
                if text := stream.add(label):
                    yield text
        if text := stream.end():
            yield text
        return Ending(options.tokens - left, "stop" if stream.stopped else "end" if ended else "length")

    def _prompt(self, text: str) -> Array:
        """The labels that a network reads before it writes."""
        if not isinstance(text, str):
            raise ConfigurationError("generate takes one text: generate('Once upon a time')")
        check_text(text, "the prompt")
        labels = self.tokenizer.encode([text])[0]
        if (labels == UNKNOWN).any() and self.metadata.tokenizer != "words":
            strange = "".join(c for c in dict.fromkeys(text) if self.tokenizer.unknown_in([c]))
            raise DataError(
                f"the prompt has characters that do not occur in the text the model was trained on: {strange!r}; "
                "leave them out"
            )
        return labels if len(labels) else np.array([self.begin])

    @cached_property
    def begin(self) -> int:
        """The label before the first one of a text: the end mark of another text, or the end of a line."""
        labels = self.tokenizer.encode(["\n"])[0]
        known = self.metadata.texts == 1 and len(labels) == 1 and labels[0] != UNKNOWN
        return int(labels[0]) if known else END

    @property
    def window(self) -> int | None:
        """Tokens that are looked back at while writing. None: a recurrent network has its state instead.

        Positions that are numbered are known as far as they were trained; distances generalise beyond.
        """
        if not isinstance(self.network, LanguageModel):
            return None
        limit, context = self.network.maximum_length, self.metadata.context
        if self.network.configuration.positions in ("relative", "none"):
            return FARTHEST * context if limit is None else limit
        return context if limit is None else min(limit, context)

    # Scoring

    @takes_texts
    def score(self, texts: Sequence[str]) -> list[TextScore]:
        """log p, perplexity and bits per character of each text, as if it stood at the beginning of a line.

        A text longer than the context is read in windows that overlap by half, so that every token has at least half a
        context before it. The score of a text does not depend on the others.
        """
        labels = self.tokenizer.encode(list(texts))
        measured = self.measure(labels)
        return [score_of(text, each, found) for text, each, found in zip(texts, labels, measured, strict=True)]

    @takes_texts
    def features(self, texts: Sequence[str]) -> list[TextFeatures]:
        """Contextual vectors of the words of each text, and of the whole text.

        A text is read as if it stood at the beginning of a line; a word's vector knows the words before it and itself.
        """
        read = [self.tokenizer.words(text.strip()) for text in texts]
        return encode_features(self.network, read, min(self.window or LONGEST, LONGEST), (self.begin, None))

    def measure(self, labels: Sequence[Array], ranks: Ranks = ALONE) -> list[Measured]:
        """What is predicted at every position of some texts; `ranks` share the work, and all of them call this."""
        begun = [np.concatenate(([self.begin], each)).astype(np.int32) for each in labels]
        context = min(self.window or 0, self.metadata.context) if isinstance(self.network, LanguageModel) else None
        return measure(self.network, begun, context, ranks)
