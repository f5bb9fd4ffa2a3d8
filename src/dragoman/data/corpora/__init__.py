"""The corpora that come with the package."""

from dragoman.data.corpora.phrases import HELD_OUT, Pair, phrases

__all__ = ["HELD_OUT", "Pair", "phrases"]
