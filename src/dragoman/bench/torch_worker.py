"""PyTorch as a contender: the same network in eager mode or compiled, and greedy decoding with a KV cache."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.bench.material import END, IGNORED, START, Array, Material, groups_of, padded
from dragoman.bench.torch_twin import TWINS, TransformerTwin

RATE = 1e-4
Pair = tuple[Tensor, Tensor]  # keys and values


class PaddedBatch:
    """A packed batch, padded for PyTorch: what a twin reads, and the targets of its positions or texts."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        inputs: tuple[Array | None, ...] = padded(arrays["labels"], arrays["offsets"])
        if "source" in arrays:
            inputs = (*padded(arrays["source"], arrays["source_offsets"]), inputs[0])
        targets = arrays["targets"].astype(np.int64)
        if len(targets) == len(arrays["labels"]):
            targets, _ = padded(targets, arrays["offsets"], IGNORED)
        self.inputs = tuple(None if array is None else torch.from_numpy(array) for array in inputs)
        self.targets = torch.from_numpy(targets)


class Torch:
    def __init__(self, material: Material, threads: int | None, compiled: bool = False) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self.material = material
        twin = TWINS[material.about["kind"]]
        self.network = twin(material.network, material.arrays["positions"], material.weights())
        self.batches = [PaddedBatch(arrays) for arrays in material.batches()]
        self.smoothing = material.about.get("smoothing", 0.0)
        self.clip = material.about.get("clip", 1.0)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=RATE, fused=True)
        self.error: Callable[[PaddedBatch], Tensor] = torch.compile(self._error) if compiled else self._error
        self.done = 0

    def _error(self, batch: PaddedBatch) -> Tensor:
        logits = self.network(*batch.inputs)
        return F.cross_entropy(
            logits.flatten(0, -2), batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=self.smoothing
        )

    def check(self) -> tuple[float, float]:
        """Return error and gradient norm of the first batch, without dropout."""
        self.network.eval()
        self.optimizer.zero_grad()
        error = self.error(self.batches[0])
        error.backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        norms = [float(torch.linalg.vector_norm(gradient, dtype=torch.float64)) for gradient in gradients]
        self.network.train()
        return float(error.detach()), math.hypot(*norms)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.optimizer.zero_grad()
            error = self.error(self.batches[self.done % len(self.batches)])
            error.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)
            self.optimizer.step()
            self.done += 1

    def decode(self, method: str, batch: int, count: int) -> list[list[int]]:
        """Decode the first sentences greedily."""
        if method != "greedy":
            raise ValueError(f"the PyTorch loop decodes greedily, not by {method}")
        self.network.eval()
        sentences, longest = self.material.sentences[:count], self.material.about["longest"]
        results: list[list[int]] = [[] for _ in sentences]
        for items in groups_of(sentences, batch):
            for i, labels in zip(items, greedy(self.network, [sentences[i] for i in items], longest), strict=True):
                results[i] = labels
        return results


@torch.inference_mode()
def greedy(network: TransformerTwin, sources: list[Array], longest: int) -> list[list[int]]:
    """Decode greedily; finished sentences leave the batch, as in Dragoman."""
    source, real = _padded_sources(sources)
    memory, decoder = network.encode(source, real), network.decoder_blocks
    cross_keys_values = [block.cross_attention.keys_values(memory) for block in decoder]
    past: list[Pair | None] = [None for _ in decoder]
    written: list[list[int]] = [[] for _ in sources]
    active, labels = list(range(len(sources))), torch.full((len(sources),), START)
    for position in range(longest + 1):
        x = network.embed(network.reference_embedding, labels[:, None], position)
        bias = network.bias("decoder", position, position + 1)
        for number, block in enumerate(decoder):
            x, past[number] = block.step(x, past[number], cross_keys_values[number], real, bias)
        labels = network.output(network.decoder_normalization(x[:, 0])).argmax(dim=1)
        unfinished = labels != END
        if position == longest or not unfinished.any():
            break
        if not unfinished.all():
            kept = unfinished.nonzero()[:, 0]
            active, labels = [active[i] for i in kept.tolist()], labels[kept]
            real = None if real is None else real[kept]
            cross_keys_values = [(k[kept], v[kept]) for k, v in cross_keys_values]
            past = [None if pair is None else (pair[0][kept], pair[1][kept]) for pair in past]
        for i, label in zip(active, labels.tolist(), strict=True):
            written[i].append(label)
    return written


def _padded_sources(sources: list[Array]) -> tuple[Tensor, Tensor | None]:
    lengths = [len(source) for source in sources]
    source, real = padded(np.concatenate(sources), np.cumsum([0, *lengths]))
    return torch.from_numpy(source), None if real is None else torch.from_numpy(real)
