"""The PyTorch twins of benchmarks/language_model.py, as a PyTorch user would write them, with our first weights.

Transformer: `relative` is the same network as ours, its learned bias of distances in the attention mask; `learned` has
learned positions instead, so that PyTorch may use its fused causal attention. LSTM and GRU: torch.nn's own modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.bench.torch_twin import LanguageModelTwin, copy
from dragoman.graph import Array

ORDER = {"lstm": (1, 0, 3, 2), "gru": (0, 1, 2), "rnn": (0,)}  # our block i is this block of torch
SIGNS = {"lstm": (1, 1, 1, 1), "gru": (1, -1, 1), "rnn": (1,)}  # torch's update gate is 1 minus ours


class TransformerTwin(LanguageModelTwin):
    """The twin of `dragoman bench`, with relative or learned positions, and without a state."""

    def __init__(self, c: dict[str, Any], weights: dict[str, Array], positions: str, context: int) -> None:
        depth = c["depth"]
        first = np.random.default_rng(0).standard_normal((context, depth), np.float32) * np.float32(depth**-0.5)
        super().__init__({**c, "positions": positions}, first, weights)

    def forward(self, labels: Tensor, state: Any = None) -> tuple[Tensor, Any]:  # type: ignore[override]
        """labels [B, T] -> logits [B, T, V]"""
        return super().forward(labels), None


class RecurrentTwin(nn.Module):
    def __init__(self, c: dict[str, Any], weights: dict[str, Array]) -> None:
        super().__init__()
        kind, self.units = c["cell"], c["units"]
        self.embedding = nn.Embedding(c["vocabulary"], c["depth"])
        dropout = c["dropout"] if c["layers"] > 1 else 0.0
        module: Any = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind]
        self.recurrent = module(c["depth"], c["units"], c["layers"], batch_first=True, dropout=dropout)
        self.output = nn.Linear(c["units"], c["vocabulary"])
        self.dropout = nn.Dropout(c["dropout"])
        with torch.no_grad():
            copy(self.embedding.weight, weights["embedding.table"])
            copy(self.output.weight, weights["output.weights"].T)
            copy(self.output.bias, weights["output.biases"])
            for layer in range(c["layers"]):
                self._load(kind, layer, weights)

    def _load(self, kind: str, layer: int, weights: dict[str, Array]) -> None:
        names = {
            "lstm": ("forget", "input", "output", "memory"),
            "gru": ("reset", "update", "state"),
            "rnn": ("state",),
        }[kind]
        for theirs, ours in (("weight_ih", "weights"), ("weight_hh", "recurrent_weights"), ("bias_ih", "biases")):
            blocks: list[Array] = [np.zeros(0)] * len(names)
            for i, name in enumerate(names):
                found = SIGNS[kind][i] * weights[f"recurrent.forward.{layer}.{name}.{ours}"]
                blocks[ORDER[kind][i]] = found.T if found.ndim == 2 else found
            copy(getattr(self.recurrent, f"{theirs}_l{layer}"), *blocks)
        getattr(self.recurrent, f"bias_hh_l{layer}").zero_()

    def forward(self, labels: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        h, state = self.recurrent(self.dropout(self.embedding(labels)), state)
        return self.output(self.dropout(h)), state


class TorchTraining:
    """The training of a twin: Adam, clipping, a rate for every step, and the moving average of the weights."""

    def __init__(self, network: nn.Module, settings: dict[str, Any], threads: int) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self.network, self.settings, self.state, self.t = network, settings, None, 0
        self.parameters = list(network.parameters())
        self.optimizer = torch.optim.Adam(
            self.parameters, lr=1.0, betas=(settings["beta1"], settings["beta2"]), fused=True
        )
        self.average = [parameter.detach().clone() for parameter in self.parameters]

    def step(self, labels: Array, targets: Array, rate: float, continues: bool | None) -> float:
        """labels, targets [B, T]"""
        network, self.t = self.network.train(), self.t + 1
        if not continues or self.state is None:
            self.state = None
        logits, state = network(torch.from_numpy(labels), self.state)
        error = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(targets).flatten())
        self.optimizer.zero_grad()
        error.backward()
        nn.utils.clip_grad_norm_(self.parameters, self.settings["clip"])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        decay = min(self.settings["averaging"], self.t / (self.t + 9))
        with torch.no_grad():
            torch._foreach_lerp_(self.average, self.parameters, 1 - decay)
        if continues is not None:
            self.state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        return float(error.detach())

    @torch.no_grad()
    def evaluate(self, batches: list[tuple[Array, Array, bool | None]]) -> float:
        """The mean error, by the average."""
        network, kept = self.network.eval(), [parameter.clone() for parameter in self.parameters]
        for parameter, average in zip(self.parameters, self.average, strict=True):
            parameter.copy_(average)
        total, count, state = 0.0, 0, None
        for labels, targets, continues in batches:
            logits, after = network(torch.from_numpy(labels), state if continues else None)
            state = after if continues is not None else None
            total += float(F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(targets).flatten(), reduction="sum"))
            count += targets.size
        for parameter, value in zip(self.parameters, kept, strict=True):
            parameter.copy_(value)
        return total / count
