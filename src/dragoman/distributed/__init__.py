"""Several processes, on one machine or many, that train together: torch.distributed with its backend gloo.

`torchrun` starts the processes, gives each its rank, and restarts them. Nothing else in the package imports torch.
"""

from dragoman.distributed.joining import is_one_of_several, joined

__all__ = ["is_one_of_several", "joined"]
