"""The contenders of benchmarks/recurrent.py: one recurrent layer with its input product, ours and torch's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.graph import Array

SAMPLES, INPUTS, UNITS = 64, 256, 256
BLOCKS = {"lstm": 4, "gru": 3}
ORDER = {"lstm": (1, 0, 3, 2), "gru": (0, 1, 2)}  # our block i is this block of torch
SIGNS = {"lstm": (1, 1, 1, 1), "gru": (1, -1, 1)}  # torch's update gate is 1 minus ours
NAMES = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")


def draw(kind: str, ragged: bool, place: Path) -> None:
    """Write the input of all contenders: the rows of one sequence after another, and weights in torch's layout."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(5, 36, SAMPLES) if ragged else np.full(SAMPLES, 20)
    rows, width, scale = int(lengths.sum()), BLOCKS[kind] * UNITS, UNITS**-0.5
    arrays = {"lengths": lengths, "x": rng.standard_normal((rows, INPUTS)), "dy": rng.standard_normal((rows, UNITS))}
    shapes = {NAMES[0]: (width, INPUTS), NAMES[1]: (width, UNITS), NAMES[2]: (width,), "bias_hh_l0": (width,)}
    arrays |= {name: rng.uniform(-scale, scale, shape) for name, shape in shapes.items()}
    np.savez(place, **{key: a if key == "lengths" else a.astype(np.float32) for key, a in arrays.items()})


class Ours:
    """`linear` and the recurrence through the graph, one shard of the batch per thread."""

    def __init__(self, kind: str, form: str, given: dict[str, Array], threads: int) -> None:
        from threadpoolctl import threadpool_limits

        from dragoman import operations
        from dragoman.batch import Batch
        from dragoman.engines import use_fastest
        from dragoman.graph import Parameter, Theta
        from dragoman.training.workers import Workers

        threadpool_limits(1)
        assert use_fastest() == "numba"
        self.kind, self.operation, self.linear = kind, getattr(operations, kind), operations.linear
        self.workers = Workers(threads)
        offsets = np.concatenate(([0], np.cumsum(given["lengths"])))
        self.shards = Batch(given["x"], offsets, given["dy"]).shards(threads)
        wx, wh, bx, bh = (self._ours(given[name]) for name in (*NAMES, "bias_hh_l0"))
        inner = [Parameter(bh[2 * UNITS :].copy())] if kind == "gru" else []
        if inner:
            bh[2 * UNITS :] = 0
        self.parameters = [Parameter(array) for array in (wx.T.copy(), wh.T.copy(), bx + bh)] + inner
        self.theta = Theta(self.parameters)
        self.gradients = [np.empty_like(self.theta.values) for _ in self.shards]

    def _ours(self, theirs: Array) -> Array:
        blocks = np.split(theirs, BLOCKS[self.kind])
        return np.concatenate([s * blocks[i] for i, s in zip(ORDER[self.kind], SIGNS[self.kind], strict=True)])

    def _theirs(self, ours: Array) -> Array:
        blocks = np.split(ours, BLOCKS[self.kind])
        return np.concatenate([SIGNS[self.kind][i] * blocks[i] for i in np.argsort(ORDER[self.kind])])

    def _run(self, shard: Any) -> tuple[Any, Any]:
        from dragoman.graph import Tensor

        weights, recurrent, biases, *inner = self.parameters
        x = Tensor(shard.labels)
        more = (None, *inner) if inner else ()
        return x, self.operation(self.linear(x, weights, biases), recurrent, *more, offsets=shard.offsets)[0]

    def step(self) -> None:
        from dragoman.graph import backpropagate

        def differentiate(number: int) -> None:
            shard = self.shards[number]
            backpropagate([self._run(shard)[1]], self.theta, [shard.targets], into=self.gradients[number])

        self.workers.map(differentiate, range(len(self.shards)))
        for other in self.gradients[1:]:
            self.gradients[0] += other

    def found(self) -> dict[str, Array]:
        from dragoman.graph import backpropagate

        pairs = [(shard, *self._run(shard)) for shard in self.shards]
        dx = np.concatenate([backpropagate([h], [x], [shard.targets])[0] for shard, x, h in pairs])
        self.step()
        parts = [self.theta.view(self.gradients[0], parameter) for parameter in self.parameters[:3]]
        values = zip(NAMES, (self._theirs(part.T) for part in parts), strict=True)
        return {"h": np.concatenate([h.value for _, _, h in pairs]), "dx": dx, **dict(values)}


class Torch:
    """The module of torch.nn, with padded or packed input. The cost of packing is not measured."""

    def __init__(self, kind: str, form: str, given: dict[str, Array], threads: int) -> None:
        import torch
        from torch.nn.utils.rnn import PackedSequence

        torch.set_num_threads(threads)
        self.module = getattr(torch.nn, kind.upper())(INPUTS, UNITS)
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                parameter.copy_(torch.from_numpy(given[name]))
        lengths = given["lengths"]
        starts, order = np.cumsum(lengths) - lengths, np.argsort(-lengths, kind="stable")
        steps = [[(starts[s] + t, i) for i, s in enumerate(order) if lengths[s] > t] for t in range(lengths.max())]
        self.rows = np.array([row for step in steps for row, _ in step])
        self.packed = form == "packed"
        if self.packed:
            self.places: Any = slice(None)
            shape = (len(self.rows),)
            sizes = torch.tensor([len(step) for step in steps])
            self.wrap: Callable[[Any], Any] = lambda x: PackedSequence(x, sizes)
        else:
            self.places = tuple(np.array([(t, i) for t, step in enumerate(steps) for _, i in step]).T)
            shape = (len(steps), SAMPLES)
            self.wrap = lambda x: x
        x, dy = np.zeros((*shape, INPUTS), np.float32), np.zeros((*shape, UNITS), np.float32)
        x[self.places], dy[self.places] = given["x"][self.rows], given["dy"][self.rows]
        self.x, self.dy = torch.from_numpy(x).requires_grad_(), torch.from_numpy(dy)

    def step(self) -> Any:
        self.module.zero_grad()
        self.x.grad = None
        y = self.module(self.wrap(self.x))[0]
        y = y.data if self.packed else y
        y.backward(self.dy)
        return y

    def found(self) -> dict[str, Array]:
        def restored(rows: Any) -> Array:
            out = np.empty((len(self.rows), rows.shape[-1]), np.float32)
            out[self.rows] = rows.detach().numpy()[self.places]
            return out

        y = self.step()
        gradients = {name: getattr(self.module, name).grad.numpy() for name in NAMES}
        return {"h": restored(y), "dx": restored(self.x.grad), **gradients}
