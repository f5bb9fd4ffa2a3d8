"""Every import of the manifest from inside the package: a move of modules edits this file and no other.

Everything is imported when it is used, so that a section that needs none of it works without.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock


def tasks() -> dict[str, Any]:
    """The declaration of every task, by its name."""
    from dragoman.tasks.task import TASKS, find_task

    return {name: find_task(name) for name in TASKS}


def configuration(given: Mapping[str, Any]) -> Any:
    """Settings on top of their recipe, architecture and preset, validated."""
    from dragoman.tasks.configuration import configuration as configured

    return configured(given)


def resolved_toml(given: Mapping[str, Any]) -> str:
    """The same as it stands in a model directory."""
    from dragoman.tasks.model import save_configuration

    with tempfile.TemporaryDirectory() as place:
        save_configuration(configuration(given), Path(place))
        return (Path(place) / "configuration.toml").read_text(encoding="utf-8")


def nested(assignments: list[str]) -> dict[str, Any]:
    """Settings of assignments such as `network.depth=8`."""
    from dragoman.tasks.configuration import read_assignments

    return read_assignments(assignments)


class Begun(NamedTuple):
    """A training before its first step."""

    dataset: Any
    network: Any
    error: Any
    batches: Iterator[Any]
    validation: Iterator[Any]


def begun(given: Mapping[str, Any], tell: Callable[[str], None] = lambda text: None) -> Begun:
    """What a training of these settings begins with; batches come epoch after epoch."""
    from dragoman.engines.compute import fast_compute
    from dragoman.tasks.preparation import Preparation
    from dragoman.training import Callback

    class Told(Callback):
        def warn(self, text: str) -> None:
            tell(f"warning: {text}")

        def notice(self, text: str) -> None:
            tell(f"notice: {text}")

    with fast_compute():
        found = Preparation(given, configuration(given), None, Told(), tell)
        task, settings, dataset = found.task, found.settings, found.dataset
        part = task.part(dataset, "validation", settings)
        validation = iter(task.fixed_batches(settings, part) if len(part) else ())
        batches = iter(task.batches(settings, dataset))
        return Begun(dataset, found.network, task.error(settings, dataset), batches, validation)


# Networks


def network_classes() -> set[str]:
    """The name of every network of the package that can be built."""
    import dragoman.networks
    from dragoman.networks import Network

    assert dragoman.networks
    waiting, found = [Network], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("dragoman.") and not kind.__abstractmethods__:
            found.add(kind.__name__)
    return found


def document_networks() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Networks that no task builds: a class, its configuration, a batch, an error."""
    import numpy as np

    from dragoman import Batch
    from dragoman.loss import CrossEntropy, MeanSquaredError
    from dragoman.networks import (
        ClassTokenConfiguration,
        ClassTokenEncoder,
        Perceptrons,
        PerceptronsConfiguration,
        RecurrentNetwork,
        RecurrentNetworkConfiguration,
        TwoLayerConfiguration,
        TwoLayerNetwork,
    )

    rng = np.random.default_rng(0)
    rows = Batch.rows(rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(5, 2)))
    packed = Batch.pack(np.split(rng.normal(size=(12, 3)), [4, 8]))
    labelled = Batch(packed.labels, packed.offsets, np.array([0, 1, 1]), per="sample")
    texts = Batch.pack([[4, 5, 6, 7], [7, 8], [9, 4, 7]])
    following = Batch(texts.labels, texts.offsets, np.roll(texts.labels, -1))
    return {
        "Perceptrons": (Perceptrons, PerceptronsConfiguration(depths=(3, 8, 2)), rows, MeanSquaredError()),
        "ClassTokenEncoder": (
            ClassTokenEncoder,
            ClassTokenConfiguration(inputs=3, depth=8, attention_depth=8, classes=2),
            labelled,
            CrossEntropy(),
        ),
        "TwoLayerNetwork": (
            TwoLayerNetwork,
            TwoLayerConfiguration(inputs=3, positions=4, depth=8, classes=2),
            labelled,
            CrossEntropy(),
        ),
        "RecurrentNetwork": (
            RecurrentNetwork,
            RecurrentNetworkConfiguration(inputs=30, units=8, outputs=30),
            following,
            CrossEntropy(),
        ),
    }


def path_of(network: Any, batch: Any, error: Any) -> Any:
    """Which code trains a network and searches with it, and why."""
    from dragoman.engines import explain_path, use_fastest
    from dragoman.loss import LossIndex

    use_fastest()
    return explain_path(network, batch, LossIndex(error))


def scatter(network: Any) -> None:
    """Move every parameter off its initial value."""
    import numpy as np

    network.theta.values += np.random.default_rng(7).normal(0, 0.1, len(network.theta)).astype(np.float32)


def output(network: Any, batch: Any) -> Any:
    """What a network makes of a batch, nothing dropped and nothing recorded."""
    from dragoman.engines.compute import fast_compute

    with fast_compute():
        return network.plain(batch)


def differentiate(network: Any, batch: Any, error: Any, step: int) -> tuple[Any, Any]:
    """Loss and gradient of a training step with dropout."""
    from dragoman.engines.compute import fast_compute
    from dragoman.layers import ForwardContext
    from dragoman.loss import LossIndex
    from dragoman.operations import DropoutKey

    with fast_compute():
        return LossIndex(error).differentiate(network, batch, ForwardContext(DropoutKey(5, step)))


def searches(network: Any) -> bool:
    """Whether a network writes sequences: an encoder that reads step by step has the same methods."""
    from dragoman.networks import ARCHITECTURES as TRANSLATORS
    from dragoman.networks import IMAGE_DECODERS, LANGUAGE_MODELS

    kinds = {each.network for table in (TRANSLATORS, LANGUAGE_MODELS, IMAGE_DECODERS) for each in table.values()}
    return type(network) in kinds


def searched(network: Any, batch: Any, width: int) -> Any:
    """What a search writes for the sequences of a batch."""
    from dragoman.decoding import Beam, Greedy, decode

    read = batch.source
    if read is None:  # a language model has no source
        sources: Any = [[]] * len(batch)
    else:
        sources = [read.labels[a:b] for a, b in itertools.pairwise(read.offsets)]
    found = decode(network, sources, Greedy(scored=True) if width == 1 else Beam(width), 6)
    return [[(each.labels, each.log_probability) for each in hypotheses] for hypotheses in found]


@contextmanager
def paths_counted() -> Iterator[Counter[str]]:
    """Count how often training passes are programs or graphs, searches fused or stepwise, operations kernels or not."""
    from dragoman.engines import fused_search, programs
    from dragoman.graph.operation import Dispatched

    state = sys.modules[Dispatched.__module__]
    counts: Counter[str] = Counter()
    differentiate, search = programs.differentiate, fused_search.search

    def counted_differentiate(*arguments: Any) -> Any:
        found = differentiate(*arguments)
        counts["training: graph" if found is None else "training: program"] += 1
        return found

    def counted_search(*arguments: Any) -> Any:
        found = search(*arguments)
        counts["search: step by step" if found is None else "search: fused"] += 1
        return found

    def counted_compute(self: Any, arrays: Any, options: Any) -> Any:
        faster = None if state._thread.definitions else self._faster.get(state._engine)
        outcome = NotImplemented if faster is None else faster(*arrays, **options)
        if not state._thread.definitions:
            counts[f"operation: {self.name}: {'definition' if outcome is NotImplemented else 'kernel'}"] += 1
        return self.definition(*arrays, **options) if outcome is NotImplemented else outcome

    with (
        mock.patch.object(programs, "differentiate", counted_differentiate),
        mock.patch.object(fused_search, "search", counted_search),
        mock.patch.object(Dispatched, "compute", counted_compute),
    ):
        yield counts


# Costs


def eager_operation() -> tuple[Callable[[], object], str]:
    """An operation on small arrays, and the engine that computes it."""
    import numpy as np

    from dragoman.engines import use_fastest
    from dragoman.operations import linear

    engine = use_fastest()
    x, weights, biases = (np.ones(shape, np.float32) for shape in ((4, 8), (8, 8), (8,)))
    return lambda: linear(x, weights, biases), engine


# Where a worker of the server takes the sentences of a batch: a module, and a function of (translator, sentences)
BATCHES = "dragoman.server.translation", "translate_together"
