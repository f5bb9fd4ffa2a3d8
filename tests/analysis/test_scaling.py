"""The model of training steps on several nodes."""

from __future__ import annotations

import math

import pytest

from dragoman.analysis.scaling import LOOPBACK, SMALL, Job, ScalingModel, bits_per_second
from dragoman.errors import ConfigurationError
from dragoman.graph.gradient_slices import slices_of
from dragoman.networks import PRESETS, Transformer, preset

MODEL = ScalingModel(parameter_seconds=1e-9, message_seconds=1e-4, byte_seconds=1e-9, efficiency=0.5, overlap=0.25)
JOB = Job(parameters=1_000_000, collectives=3, seconds=0.101)


def test_one_node_takes_what_was_measured() -> None:
    step = MODEL.step(JOB, 1, LOOPBACK)
    assert (step.seconds, step.communication, step.speed_up) == pytest.approx((0.101, 0, 1))


def test_a_step_by_hand() -> None:
    """4 nodes, 100 Mbit/s: 26 ms of computing, 6 MB there and back, 6 messages for each collective."""
    step = MODEL.step(JOB, 4, 1e8)
    compute = 0.001 + 0.1 / 4
    wire = 6 * 1e-4 * 3 + 6e6 * 8 / 0.5e8
    communication = wire - 0.25 * compute + 6e6 * 1e-9 + 6 * 1e-4 * SMALL
    assert step.communication == pytest.approx(communication)
    assert step.seconds == pytest.approx(compute + communication)
    assert step.share == pytest.approx(communication / (compute + communication))
    assert step.efficiency == pytest.approx(0.101 / (compute + communication) / 4)


def test_a_fast_link_hides_behind_the_computation() -> None:
    """What is left is the processor's work and the small collectives."""
    step = MODEL.step(JOB, 2, 1e12)
    assert step.communication == pytest.approx(4e6 * 1e-9 + 2 * 1e-4 * SMALL)


def test_threads_share_the_update() -> None:
    assert MODEL.compute(Job(1_000_000, 3, 0.101, threads=4), 0) == pytest.approx(0.00025)
    assert MODEL.compute(Job(10**9, 3, 0.101), 0) == 0.101, "never more than the whole step"


def test_a_batch_on_every_node_is_more_efficient() -> None:
    same, grown, large = (MODEL.step(JOB, 8, 1e9, batch) for batch in (1, 8, 64))
    assert same.efficiency < grown.efficiency < large.efficiency < 1


def test_the_smallest_batch_that_pays() -> None:
    factor = MODEL.batch_for(JOB, 8, 1e9, 0.7, 16)
    assert factor is not None
    assert math.log2(factor / 8) % 1 == 0
    assert MODEL.step(JOB, 8, 1e9, factor).efficiency >= 0.7 > MODEL.step(JOB, 8, 1e9, factor / 2).efficiency
    assert MODEL.batch_for(JOB, 8, 1e6, 0.7, 16) is None


@pytest.mark.parametrize("name", PRESETS)
def test_collectives_are_those_that_ranks_make(name: str) -> None:
    network = Transformer(preset(name, 4562, 6134))
    network.theta.parameters[0].frozen = True
    slices = slices_of(network.theta)
    assert slices.small
    assert slices.count == sum(len(parts) for _, parts in slices.large) + 1


@pytest.mark.parametrize(("text", "expected"), [("100M", 1e8), ("10G", 1e10), (" 2.5g ", 2.5e9), ("1T", 1e12)])
def test_bandwidths(text: str, expected: float) -> None:
    assert bits_per_second(text) == expected


@pytest.mark.parametrize("text", ["10", "G", "0G", "-1G", "10GB", "fast", "1e3M", ""])
def test_no_bandwidths(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"100M, 1G or 10G .*got '{text}'"):
        bits_per_second(text)
