"""Our networks as a PyTorch user would write them: padded batches, fused projections, library kernels, a KV cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.bench.material import Array


class Attention(nn.Module):
    def __init__(self, depth: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.depth = depth
        self.input = nn.Linear(depth, 3 * depth)
        self.projection = nn.Linear(depth, depth)

    def forward(
        self, x: Tensor, context: Tensor, real: Tensor | None, causal: bool, bias: Tensor | None = None
    ) -> Tensor:
        if x is context:
            q, k, v = (self._split(part) for part in self.input(x).chunk(3, dim=-1))
        else:
            q, (k, v) = self.queries(x), self.keys_values(context)
        return self.attend(q, k, v, real, causal, bias)

    def queries(self, x: Tensor) -> Tensor:
        return self._split(F.linear(x, self.input.weight[: self.depth], self.input.bias[: self.depth]))

    def keys_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        both = F.linear(context, self.input.weight[self.depth :], self.input.bias[self.depth :])
        k, v = both.chunk(2, dim=-1)
        return self._split(k), self._split(v)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        real: Tensor | None,
        causal: bool = False,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Attend; PyTorch takes a position bias [h, Tq, Tk] as a mask, which is then causal itself."""
        mask = None if real is None else real[:, None, None, :]
        if bias is not None:
            mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
            causal = False
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.projection(y.transpose(1, 2).reshape(len(q), -1, self.depth))  # type: ignore[no-any-return]

    def step(
        self, x: Tensor, past: tuple[Tensor, Tensor] | None, bias: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend from one new position, x [B, 1, d], to the cached ones and itself."""
        q, k, v = (self._split(part) for part in self.input(x).chunk(3, dim=-1))
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        return self.attend(q, k, v, None, bias=bias), (k, v)

    def _split(self, x: Tensor) -> Tensor:
        """[B, T, d] -> [B, h, T, d/h]"""
        return x.view(len(x), -1, self.heads, self.depth // self.heads).transpose(1, 2)


class Block(nn.Module):
    """Dropout after every sub-layer, before the sum; normalization before the sub-layer or after the sum."""

    def __init__(self, c: Mapping[str, Any], cross: bool = False, causal: bool = False) -> None:
        super().__init__()
        depth, heads = c["depth"], c["heads"]
        self.self_attention = Attention(depth, heads)
        self.self_attention_normalization = nn.LayerNorm(depth, c["epsilon"])
        if cross:
            self.cross_attention = Attention(depth, heads)
            self.cross_attention_normalization = nn.LayerNorm(depth, c["epsilon"])
        hidden = c["perceptron_depth"]
        self.perceptron = nn.Sequential(nn.Linear(depth, hidden), nn.ReLU(), nn.Linear(hidden, depth))
        self.perceptron_normalization = nn.LayerNorm(depth, c["epsilon"])
        self.dropout = nn.Dropout(c["dropout"])
        self.causal = causal
        self.pre = c["block"] == "pre"

    def residual(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], normalization: nn.Module) -> Tensor:
        if self.pre:
            return x + self.dropout(sublayer(normalization(x)))  # type: ignore[no-any-return]
        return normalization(x + self.dropout(sublayer(x)))  # type: ignore[no-any-return]

    def forward(
        self, x: Tensor, real: Tensor | None, memory: Tensor | None = None, bias: Tensor | None = None
    ) -> Tensor:
        """Apply the block. The causal mask also hides the padding at the end, so `real` is that of the source."""
        own = None if self.causal else real
        look_back = lambda y: self.self_attention(y, y, own, self.causal, bias)  # noqa: E731
        x = self.residual(x, look_back, self.self_attention_normalization)
        if memory is not None:
            look = lambda y: self.cross_attention(y, memory, real, False)  # noqa: E731
            x = self.residual(x, look, self.cross_attention_normalization)
        return self.residual(x, self.perceptron, self.perceptron_normalization)

    def step(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor] | None,
        memory: tuple[Tensor, Tensor],
        real: Tensor | None,
        bias: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        seen = []

        def look_back(y: Tensor) -> Tensor:
            y, kept = self.self_attention.step(y, past, bias)
            seen.append(kept)
            return y

        def look_across(y: Tensor) -> Tensor:
            return self.cross_attention.attend(self.cross_attention.queries(y), *memory, real)

        x = self.residual(x, look_back, self.self_attention_normalization)
        x = self.residual(x, look_across, self.cross_attention_normalization)
        return self.residual(x, self.perceptron, self.perceptron_normalization), seen[0]


class Twin(nn.Module):
    """What all twins share: embedding with positions, and the bias of relative positions of every stack of blocks.

    positions  table [P, d]; learned from these values if the configuration has "learned" positions
    """

    positions: Tensor

    def __init__(self, c: Mapping[str, Any], positions: Array, stacks: tuple[str, ...]) -> None:
        super().__init__()
        self.dropout = nn.Dropout(c["dropout"])
        self.scale = c["depth"] ** 0.5
        table = torch.from_numpy(positions)
        if c["positions"] == "learned":
            self.positions = nn.Parameter(table)
        else:
            self.register_buffer("positions", table)
        self.stacks = stacks
        self.reach = c["relative_reach"] if c["positions"] == "relative" else 0
        for stack in stacks:
            bias = nn.Parameter(torch.zeros(c["heads"], 2 * self.reach + 1)) if self.reach else None
            self.register_parameter(f"{stack}_bias", bias)

    def embed(self, table: nn.Embedding, labels: Tensor, first: int = 0) -> Tensor:
        words = table(labels) * self.scale
        if not self.reach:
            words = words + self.positions[first : first + labels.shape[1]]
        return self.dropout(words)  # type: ignore[no-any-return]

    def bias(self, stack: str, first: int, length: int, causal: bool = False) -> Tensor | None:
        """Return the bias [h, Tq, Tk] of relative positions for the queries from `first` on."""
        table: Tensor | None = getattr(self, f"{stack}_bias")
        if table is None:
            return None
        distance = torch.arange(length)[None, :] - torch.arange(first, length)[:, None]
        bias = table[:, distance.clamp(-self.reach, self.reach) + self.reach]
        return bias.masked_fill(distance > 0, -torch.inf) if causal else bias


class TransformerTwin(Twin):
    """The same Transformer as ours, with the same weights."""

    def __init__(self, c: Mapping[str, Any], positions: Array, weights: Mapping[str, Array]) -> None:
        super().__init__(c, positions, ("encoder", "decoder"))
        depth = c["depth"]
        self.source_embedding = nn.Embedding(c["source_vocabulary"], depth)
        self.reference_embedding = nn.Embedding(c["target_vocabulary"], depth)
        self.encoder = nn.ModuleList(Block(c) for _ in range(c["layers"]))
        self.decoder = nn.ModuleList(Block(c, cross=True, causal=True) for _ in range(c["layers"]))
        self.encoder_normalization, self.decoder_normalization = last_normalization(c), last_normalization(c)
        self.output = nn.Linear(depth, c["target_vocabulary"])
        load(self, weights)

    @property
    def decoder_blocks(self) -> list[Block]:
        return [block for block in self.decoder if isinstance(block, Block)]

    def encode(self, source: Tensor, real: Tensor | None) -> Tensor:
        memory = self.embed(self.source_embedding, source)
        bias = self.bias("encoder", 0, source.shape[1])
        for block in self.encoder:
            memory = block(memory, real, bias=bias)
        return self.encoder_normalization(memory)  # type: ignore[no-any-return]

    def forward(self, source: Tensor, real: Tensor | None, reference: Tensor) -> Tensor:
        memory = self.encode(source, real)
        x = self.embed(self.reference_embedding, reference)
        bias = self.bias("decoder", 0, reference.shape[1], causal=True)
        for block in self.decoder:
            x = block(x, real, memory, bias)
        return self.output(self.decoder_normalization(x))  # type: ignore[no-any-return]


class StackTwin(Twin):
    """One stack of blocks, from labels to rows, and the output layer."""

    def __init__(
        self, c: Mapping[str, Any], positions: Array, weights: Mapping[str, Array], causal: bool, outputs: int
    ) -> None:
        super().__init__(c, positions, ("blocks",))
        self.causal = causal
        self.embedding = nn.Embedding(c["vocabulary"], c["depth"])
        self.blocks = nn.ModuleList(Block(c, causal=causal) for _ in range(c["layers"]))
        self.normalization = last_normalization(c)
        self.output = nn.Linear(c["depth"], outputs)
        load(self, weights)

    def rows(self, labels: Tensor, real: Tensor | None) -> Tensor:
        """labels [B, T] -> [B, T, d]"""
        x = self.embed(self.embedding, labels)
        bias = self.bias("blocks", 0, labels.shape[1], self.causal)
        for block in self.blocks:
            x = block(x, real, bias=bias)
        return self.normalization(x)  # type: ignore[no-any-return]


class LanguageModelTwin(StackTwin):
    """The same LanguageModel as ours, with the same weights."""

    def __init__(self, c: Mapping[str, Any], positions: Array, weights: Mapping[str, Array]) -> None:
        super().__init__(c, positions, weights, causal=True, outputs=c["vocabulary"])

    def forward(self, labels: Tensor, real: Tensor | None = None) -> Tensor:
        """labels [B, T] -> logits [B, T, V]"""
        return self.output(self.rows(labels, real))  # type: ignore[no-any-return]


class EncoderTwin(StackTwin):
    """The same Encoder as ours with mean pooling, with the same weights."""

    def __init__(self, c: Mapping[str, Any], positions: Array, weights: Mapping[str, Array]) -> None:
        super().__init__(c, positions, weights, causal=False, outputs=c["outputs"])

    def forward(self, labels: Tensor, real: Tensor | None) -> Tensor:
        """labels [B, T] -> logits [B, outputs]"""
        x = self.rows(labels, real)
        if real is None:
            return self.output(x.mean(dim=1))  # type: ignore[no-any-return]
        shares = real / real.sum(dim=1, keepdim=True)
        return self.output((shares[:, None] @ x)[:, 0])  # type: ignore[no-any-return]


TWINS: dict[str, Any] = {  # by the class of our network
    "Transformer": TransformerTwin,
    "LanguageModel": LanguageModelTwin,
    "Encoder": EncoderTwin,
}


def last_normalization(c: Mapping[str, Any]) -> nn.Module:
    return nn.LayerNorm(c["depth"], c["epsilon"]) if c["block"] == "pre" else nn.Identity()


@torch.no_grad()
def load(network: Twin, weights: Mapping[str, Array]) -> None:
    """Copy our weights [in, out] into PyTorch's [out, in]."""
    for stack in network.stacks:
        if network.reach:
            copy(getattr(network, f"{stack}_bias"), weights[f"{stack}.0.self_attention.distance_bias"])
    for name, module in network.named_modules():
        if isinstance(module, Attention):
            copy(module.input.weight, *(weights[f"{name}.{part}.weights"].T for part in ("query", "key", "value")))
            copy(module.input.bias, *(weights[f"{name}.{part}.biases"] for part in ("query", "key", "value")))
        elif isinstance(module, nn.LayerNorm):
            copy(module.weight, weights[f"{name}.gamma"])
            copy(module.bias, weights[f"{name}.beta"])
        elif isinstance(module, nn.Embedding):
            copy(module.weight, weights[f"{name}.table"])
        elif isinstance(module, nn.Linear) and not name.endswith(".input"):
            ours = name.replace("perceptron.0", "perceptron.hidden").replace("perceptron.2", "perceptron.output")
            copy(module.weight, weights[f"{ours}.weights"].T)
            copy(module.bias, weights[f"{ours}.biases"])


def copy(parameter: Tensor, *parts: Array) -> None:
    parameter.copy_(torch.from_numpy(np.concatenate(parts)))
