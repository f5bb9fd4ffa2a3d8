"""The time of a training step on several nodes: a model with five parameters (docs/scaling.md).

All ranks sum the gradient in a ring: a rank sends 2 (N - 1) / N of its bytes, in 2 (N - 1) messages for each
collective. With the share f of the batch that one node has,

    compute  = c + f (step - c),  c = parameter_seconds P / threads       the step of one node, all of its batch: f = 1
    wire     = 2 (N - 1) message_seconds collectives + bytes / (efficiency bandwidth)
    step     = compute + max(0, wire - overlap compute) + byte_seconds bytes + 2 (N - 1) message_seconds SMALL
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from dragoman.errors import ConfigurationError

NUMBER = 4  # bytes of a float32
SMALL = 2.0  # collectives of a step beside the gradient: one sum, and two gathers of half as many messages
UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
LOOPBACK = math.inf  # bandwidth where there is no link


@dataclass(frozen=True)
class Job:
    """What is trained, as measured on one node.

    parameters   numbers of the gradient
    collectives  sums that the gradient is cut into
    seconds      of a step with the whole batch on one node
    threads      that the node computes with
    """

    parameters: int
    collectives: int
    seconds: float
    threads: int = 1


@dataclass(frozen=True)
class StepTime:
    """The predicted time of a step on several nodes.

    seconds        of the whole step
    communication  seconds of it that wait for other nodes, or send and receive
    speed_up       how much faster than one node the same samples are trained on
    efficiency     speed-up divided by the number of nodes
    """

    seconds: float
    communication: float
    speed_up: float
    efficiency: float

    @property
    def share(self) -> float:
        return self.communication / self.seconds


@dataclass(frozen=True)
class ScalingModel:
    """The parameters of the model, fitted by benchmarks/scaling.py.

    parameter_seconds  of one thread for one parameter, whatever the batch: the update
    message_seconds    until a message is with the next rank, however short
    byte_seconds       of a processor for one byte that is sent and one received; not hidden, as it computes meanwhile
    efficiency         share of a link's bandwidth that gradients get
    overlap            share of the computing time behind which the gradient can travel
    """

    parameter_seconds: float
    message_seconds: float
    byte_seconds: float
    efficiency: float
    overlap: float

    def compute(self, job: Job, share: float) -> float:
        """Seconds to compute a step with a share of the batch; above 1, a larger batch."""
        constant = min(job.seconds, self.parameter_seconds * job.parameters / job.threads)
        return constant + share * (job.seconds - constant)

    def step(self, job: Job, nodes: int, bandwidth: float, batch: float = 1.0) -> StepTime:
        """Predict a step on nodes joined by links of this many bits per second; batch: times that of the job."""
        compute = self.compute(job, batch / nodes)
        communication = 0.0
        if nodes > 1:
            sent = 2 * (nodes - 1) / nodes * NUMBER * job.parameters
            message = 2 * (nodes - 1) * self.message_seconds
            wire = message * job.collectives + 8 * sent / (self.efficiency * bandwidth)
            hidden = min(wire, self.overlap * compute)
            communication = wire - hidden + self.byte_seconds * sent + message * SMALL
        seconds = compute + communication
        speed_up = self.compute(job, batch) / seconds
        return StepTime(seconds, communication, speed_up, speed_up / nodes)

    def batch_for(self, job: Job, nodes: int, bandwidth: float, efficiency: float, most: int) -> int | None:
        """The smallest batch (times that of the job: the nodes times 1, 2, 4 ... `most`) that is so efficient."""
        sizes = (nodes * 2**power for power in range(most.bit_length()))
        return next((n for n in sizes if self.step(job, nodes, bandwidth, n).efficiency >= efficiency), None)


# From `benchmarks/scaling.py` on two cores of a Zen 4 server, 2026-11-18 (docs/scaling.md): 43 runs that were not used
# for the fit are predicted with a median error of 4 %, the worst with 30 %.
FITTED = ScalingModel(
    parameter_seconds=4.78e-09,
    message_seconds=0.000166,
    byte_seconds=8.57e-10,
    efficiency=1.0,
    overlap=0.125,
)


def bits_per_second(text: str) -> float:
    """Parse a bandwidth as networks are sold: 100M, 2.5G, 10G."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT])", text.strip().upper())
    if found is None or not float(found[1]):
        raise ConfigurationError(
            f"a bandwidth is written as 100M, 1G or 10G (bits per second, as networks are sold), got '{text}'"
        )
    return float(found[1]) * UNITS[found[2]]
