"""Our own contenders: training and decoding of Dragoman, and the matrix products of a step alone."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dragoman.batch import Batch
from dragoman.bench.material import Array, Material
from dragoman.bench.workloads import NETWORKS
from dragoman.data.batching import Batching, BatchStream
from dragoman.data.dataset import Dataset
from dragoman.decoding import Beam, Greedy, decode
from dragoman.engines import ENGINES, VARIABLE, use_fastest
from dragoman.errors import ConfigurationError
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import load_weights
from dragoman.optimization import Adam, Constant, gradient_norm
from dragoman.training import Stopping
from dragoman.training.loop import Training
from dragoman.training.step import StepSettings
from dragoman.training.workers import Workers, keep_freed_memory, physical_cores

RATE = 1e-4


class Ours:
    """Dragoman with the chosen engine: a step of its training loop, and its decoding."""

    def __init__(self, material: Material, threads: int | None) -> None:
        threadpool_limits(1)
        if use_fastest() != os.environ.get(VARIABLE, ENGINES[0]):
            raise ConfigurationError(
                "the benchmark measures the numba engine, which is not available; pip install numba"
            )
        self.material = material
        self.network = NETWORKS[material.about["kind"]].build(configuration_of(material))
        load_weights(self.network, material.directory / "weights.safetensors")
        self.batches = [packed_batch(arrays) for arrays in material.batches()]
        keep_freed_memory()  # as `dragoman train` does
        self.training = Training(
            self.network,
            [],
            Adam(),
            Constant(RATE),
            Stopping(),
            LossIndex(CrossEntropy(material.about.get("smoothing", 0.0))),
            StepSettings(material.about.get("clip", 1.0)),
            workers=Workers(threads or physical_cores()),
        )

    def check(self) -> tuple[float, float]:
        """Return error and gradient norm of the first batch, without dropout."""
        training = self.training
        loss, gradient = training.workers.differentiate(
            training.loss_index, self.network, self.batches[0], ForwardContext()
        )
        return loss.error, gradient_norm(self.network.theta, gradient)

    def steps(self, count: int) -> None:
        for _ in range(count):
            batch = self.batches[self.training.optimizer.t % len(self.batches)]
            self.training.step.take([batch], self.training.schedule)

    def epoch(self) -> int:
        """Open the dataset beside the material and train one epoch; return the number of labels read."""
        part = Dataset(self.material.directory / "corpus").part("training")
        replace(self.training, batches=BatchStream(part, Batching()), stopping=Stopping(epochs=1)).run()
        return int(part.lengths().sum()) - len(part)

    def decode(self, method: str, batch: int, count: int) -> list[list[int]]:
        """Decode the first sentences; with batch 1, one call per sentence."""
        search: Any = Greedy(scored=False) if method == "greedy" else Beam(4)  # the peers compute no scores either
        longest = self.material.about["longest"]
        sentences, each = self.material.sentences[:count], self.training.workers.map
        calls = [[sentence] for sentence in sentences] if batch == 1 else [sentences]
        found = [decode(self.network, call, search, longest, batch=batch, each=each) for call in calls]
        return [best[0].labels.tolist() for call in found for best in call]


def configuration_of(material: Material) -> Any:
    return NETWORKS[material.about["kind"]].configuration(**material.network)


def packed_batch(arrays: dict[str, Array]) -> Batch:
    source = Batch(arrays["source"], arrays["source_offsets"]) if "source" in arrays else None
    weights = np.ones(len(arrays["targets"]), np.float32)
    return Batch(arrays["labels"], arrays["offsets"], arrays["targets"], weights, source)


Product = tuple[int, int, int]  # rows, inputs, outputs of a linear layer


def linear_layers(configuration: Any, shard: Batch) -> list[Product]:
    """List every `linear` of a forward pass over a shard."""
    c, d, k = configuration, configuration.depth, configuration.perceptron_depth
    references = len(shard.labels)
    sources = references if shard.source is None else len(shard.source.labels)
    encoder = [(sources, d, 3 * d), (sources, d, d), (sources, d, k), (sources, k, d)]
    if shard.source is None:
        targets, outputs = shard.targets, getattr(c, "outputs", None) or c.vocabulary
        return [*encoder * c.layers, (0 if targets is None else len(targets), d, outputs)]
    decoder = [
        (references, d, 3 * d),
        (references, d, d),
        (references, d, d),
        (sources, d, 2 * d),
        (references, d, d),
        (references, d, k),
        (references, k, d),
    ]
    return [*encoder * c.layers, *decoder * c.layers, (references, d, c.target_vocabulary)]


KEYS, WIDEST = 64, 16  # the products of attention are counted in blocks of so many keys, and of 16 columns at least


def attention_products(configuration: Any, shard: Batch) -> list[Product]:
    """List the products inside attention of a forward pass over a shard; they need no more multiplications.

    Scores and their sums of values are two products for each head, with two derivatives each. Masked pairs of query and
    key do not count, nor does what is computed again in the backward pass. Their shapes are those in which our products
    are fastest, with the same number of multiplications, so that the time stays a lower bound.
    """
    c, lengths = configuration, np.diff(shard.offsets).astype(np.int64)
    full, causal = int(lengths @ lengths), int(lengths @ (lengths + 1)) // 2
    if shard.source is None:
        pairs = [full if hasattr(c, "outputs") else causal]
    else:
        sources = np.diff(shard.source.offsets).astype(np.int64)
        pairs = [int(sources @ sources), causal, int(lengths @ sources)]
    width = c.depth // c.heads
    wide = max(width, WIDEST)
    rows = [max(1, count * width // (wide * KEYS)) for count in pairs]
    repeated: int = c.heads * c.layers
    return [product for m in rows for product in ((m, wide, KEYS), (m, KEYS, wide))] * repeated


class MatrixProducts:
    """The matrix products of a step alone, with the same shards and threads: y = x W, dx = dy W', dW = x' dy.

    attention  whether the products inside attention are among them
    """

    def __init__(self, material: Material, threads: int | None, attention: bool = True) -> None:
        threadpool_limits(1)
        configuration = configuration_of(material)
        self.workers, self.done = Workers(threads or physical_cores()), 0
        batches = [packed_batch(arrays).shards(self.workers.threads) for arrays in material.batches()]

        def products(shard: Batch) -> list[Product]:
            inside = attention_products(configuration, shard) if attention else []
            return linear_layers(configuration, shard) + inside

        self.layers = [[products(shard) for shard in shards] for shards in batches]
        self.buffers = [Buffers(self.layers, number) for number in range(self.workers.threads)]

    def steps(self, count: int) -> None:
        for _ in range(count):
            shards = self.layers[self.done % len(self.layers)]
            self.workers.map(lambda pair: pair[0].multiply(pair[1]), list(zip(self.buffers, shards, strict=False)))
            self.done += 1


class Buffers:
    """Matrices for the largest shard of a thread; every layer has its own, as in a network."""

    def __init__(self, batches: list[list[list[Product]]], number: int) -> None:
        mine = [shards[number] for shards in batches if number < len(shards)]
        self.matrices = []
        rng = np.random.default_rng(0)
        for layers in zip(*mine, strict=True):
            rows, inputs, outputs = max(layers)
            shapes = ((rows, inputs), (inputs, outputs), (rows, outputs))
            x, w, y = (rng.standard_normal(shape, np.float32) for shape in shapes)
            self.matrices.append((x, w, y, np.empty_like(x), np.empty_like(w)))

    def multiply(self, layers: list[Product]) -> None:
        from dragoman.engines.activations import IDENTITY
        from dragoman.engines.numba.gemm.gemm import gemm_addresses
        from dragoman.engines.numba.kernels.linear import linear, linear_rows, weights_derivative

        gemms, no_biases = gemm_addresses(np.dtype(np.float32)), np.empty(0, np.float32)
        address = linear_rows.address(np.float32)
        for (rows, _, _), (x, w, y, _, _) in zip(layers, self.matrices, strict=True):
            linear(address, gemms, x[:rows], w, False, no_biases, IDENTITY, y[:rows], y[:rows])
        for (rows, _, _), (x, w, y, dx, dw) in zip(layers[::-1], self.matrices[::-1], strict=True):
            linear(address, gemms, y[:rows], w, True, no_biases, IDENTITY, dx[:rows], dx[:rows])
            weights_derivative(gemms, x[:rows], 0, y[:rows], 0, dw, 0, dw.shape[1], False)
