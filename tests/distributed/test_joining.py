"""Before ranks can talk: whether there are others, and what is said when they cannot be found."""

from __future__ import annotations

import socket
import sys

import pytest

from dragoman.distributed import is_one_of_several, joined
from dragoman.distributed.joining import LONGEST_SILENCE, timeout
from dragoman.errors import ConfigurationError, DragomanError
from dragoman.ranks import ALONE, current


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"RANK": 1, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, str(value))


def test_a_process_alone_needs_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    assert not is_one_of_several()
    with joined() as ranks:
        assert ranks is ALONE is current()


def test_one_process_under_torchrun_is_alone(second_of_two: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not is_one_of_several()


def test_a_missing_torch_is_told(second_of_two: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    assert is_one_of_several()
    with pytest.raises(ConfigurationError, match=r'pip install "dragoman\[distributed\]" on every machine'), joined():
        pass


@pytest.mark.parametrize("given", ["0", "-1", "soon", "nan", ""])
def test_a_timeout_is_seconds_above_0(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_RANK_TIMEOUT", given)
    with pytest.raises(ConfigurationError, match="DRAGOMAN_RANK_TIMEOUT must be seconds above 0"):
        timeout()
    monkeypatch.setenv("DRAGOMAN_RANK_TIMEOUT", "2.5")
    assert timeout() == 2.5
    monkeypatch.delenv("DRAGOMAN_RANK_TIMEOUT")
    assert timeout() == LONGEST_SILENCE


def test_others_that_do_not_come_are_an_error(second_of_two: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_RANK_TIMEOUT", "1")
    with pytest.raises(DragomanError, match="rank 1 did not find the others within 1 s"), joined():
        pass
    assert current() is ALONE
