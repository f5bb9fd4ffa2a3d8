"""From what a user has to batches a network can learn from."""

from dragoman.data.epochs import epoch
from dragoman.data.toys import toy_pairs

__all__ = ["epoch", "toy_pairs"]
