"""Join the other ranks that torchrun has started, as its environment variables say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from dragoman.distributed.meeting import agreed_name
from dragoman.errors import ConfigurationError, DragomanError
from dragoman.ranks import ALONE, Ranks, using

TIMEOUT = "DRAGOMAN_RANK_TIMEOUT"  # seconds
LONGEST_SILENCE = 300.0


def is_one_of_several() -> bool:
    """Whether this process was started by torchrun (or the like) as one of several."""
    return os.environ.get("WORLD_SIZE", "1") not in ("", "1") and "RANK" in os.environ


def timeout() -> float:
    """Seconds that a rank waits for the others before it gives up."""
    given = os.environ.get(TIMEOUT)
    try:
        seconds = LONGEST_SILENCE if given is None else float(given)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ConfigurationError(f"{TIMEOUT} must be seconds above 0, got {given!r}")
    return seconds


@contextmanager
def joined() -> Iterator[Ranks]:
    """The ranks this process works with, current within this context; alone if it was not started by torchrun."""
    if not is_one_of_several():
        yield ALONE
        return
    try:
        import torch.distributed as distributed
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous
    except ImportError:
        raise ConfigurationError(
            "this is one of several processes, but PyTorch, which connects them, is not installed; "
            'pip install "dragoman[distributed]" on every machine'
        ) from None
    from dragoman.distributed.group import TorchRanks

    silence = timeout()
    try:
        longest = timedelta(seconds=silence)
        store, rank, size = next(rendezvous("env://", timeout=longest))
        own = PrefixStore(agreed_name(store, rank, size, silence), store)
        distributed.init_process_group("gloo", store=own, rank=rank, world_size=size, timeout=longest)
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DragomanError(
            f"rank {os.environ.get('RANK')} did not find the others within {silence:g} s ({reason}); start the "
            "processes with torchrun, and see that every machine reaches the address of the first"
        ) from None
    try:
        with using(TorchRanks(silence)) as ranks:
            yield ranks
    finally:
        distributed.destroy_process_group()
