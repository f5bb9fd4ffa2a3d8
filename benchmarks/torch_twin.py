"""The post-norm Transformer as a PyTorch user would write it: padded batches, fused projections, library kernels."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from dragoman.batch import Batch
from dragoman.networks import Transformer
from dragoman.operations.attention import Padding
from dragoman.operations.positions import half_sinusoid


class Attention(nn.Module):
    def __init__(self, depth: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.input = nn.Linear(depth, 3 * depth)
        self.projection = nn.Linear(depth, depth)

    def forward(self, x: torch.Tensor, context: torch.Tensor, real: torch.Tensor | None, causal: bool) -> torch.Tensor:
        batch, _, depth = x.shape
        if x is context:
            q, k, v = self.input(x).chunk(3, dim=-1)
        else:
            q = F.linear(x, self.input.weight[:depth], self.input.bias[:depth])
            k, v = F.linear(context, self.input.weight[depth:], self.input.bias[depth:]).chunk(2, dim=-1)
        q, k, v = (t.view(batch, -1, self.heads, depth // self.heads).transpose(1, 2) for t in (q, k, v))
        mask = None if real is None else real[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.projection(y.transpose(1, 2).reshape(batch, -1, depth))


class Block(nn.Module):
    def __init__(self, depth: int, hidden: int, heads: int, cross: bool) -> None:
        super().__init__()
        self.self_attention = Attention(depth, heads)
        self.self_attention_normalization = nn.LayerNorm(depth)
        if cross:
            self.cross_attention = Attention(depth, heads)
            self.cross_attention_normalization = nn.LayerNorm(depth)
        self.perceptron = nn.Sequential(nn.Linear(depth, hidden), nn.ReLU(), nn.Linear(hidden, depth))
        self.perceptron_normalization = nn.LayerNorm(depth)
        self.cross = cross

    def forward(self, x: torch.Tensor, real: torch.Tensor | None, memory: torch.Tensor | None = None) -> torch.Tensor:
        """A causal mask hides the padding of references by itself, so only source padding is masked."""
        own = None if self.cross else real
        x = self.self_attention_normalization(x + self.self_attention(x, x, own, self.cross))
        if memory is not None:
            x = self.cross_attention_normalization(x + self.cross_attention(x, memory, real, False))
        return self.perceptron_normalization(x + self.perceptron(x))


class Twin(nn.Module):
    """The same network as a post-norm, untied `Transformer`, with its weights."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        c = ours.configuration
        self.source_embedding = nn.Embedding(c.source_vocabulary, c.depth)
        self.reference_embedding = nn.Embedding(c.reference_vocabulary, c.depth)
        shape = (c.depth, c.perceptron_depth, c.heads)
        self.encoder = nn.ModuleList(Block(*shape, cross=False) for _ in range(c.layers))
        self.decoder = nn.ModuleList(Block(*shape, cross=True) for _ in range(c.layers))
        self.output = nn.Linear(c.depth, c.reference_vocabulary)
        self.scale = c.depth**0.5
        self.register_buffer("positions", torch.tensor(half_sinusoid(512, c.depth), dtype=torch.float32))
        self.load(ours)

    def load(self, ours: Transformer) -> None:
        arrays = {name: torch.from_numpy(np.ascontiguousarray(view)) for name, view in ours.named_arrays()}
        with torch.no_grad():
            self.source_embedding.weight.copy_(arrays["source_embedding.table"])
            self.reference_embedding.weight.copy_(arrays["reference_embedding.table"])
            self.output.weight.copy_(arrays["output.weights"].T)
            self.output.bias.copy_(arrays["output.biases"])
            for stack in ("encoder", "decoder"):
                for i, block in enumerate(getattr(self, stack)):
                    _load_block(block, f"{stack}.{i}", arrays)

    def forward(self, source: torch.Tensor, real: torch.Tensor | None, reference: torch.Tensor) -> torch.Tensor:
        memory = self.source_embedding(source) * self.scale + self.positions[: source.shape[1]]
        for block in self.encoder:
            memory = block(memory, real)
        x = self.reference_embedding(reference) * self.scale + self.positions[: reference.shape[1]]
        for block in self.decoder:
            x = block(x, real, memory)
        return self.output(x)

    def error(self, batch: PaddedBatch) -> torch.Tensor:
        logits = self(batch.source, batch.real, batch.reference)
        return F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=-100)


class PaddedBatch:
    """A packed batch of pairs as PyTorch takes it."""

    def __init__(self, batch: Batch) -> None:
        assert batch.source is not None
        assert batch.targets is not None
        sources, references = Padding.of(batch.source.offsets), Padding.of(batch.offsets)
        self.source = torch.from_numpy(sources.pad(batch.source.labels))
        self.real = None if sources.valid is None else torch.from_numpy(sources.valid)
        self.reference = torch.from_numpy(references.pad(batch.labels))
        targets = references.pad(batch.targets)
        if references.valid is not None:
            targets = np.where(references.valid, targets, -100)
        self.targets = torch.from_numpy(targets)


def _load_block(block: nn.Module, name: str, arrays: dict[str, torch.Tensor]) -> None:
    for layer, module in block.named_children():
        prefix = f"{name}.{layer}"
        if isinstance(module, Attention):
            parts = ("query", "key", "value")
            module.input.weight.copy_(torch.cat([arrays[f"{prefix}.{part}.weights"].T for part in parts]))
            module.input.bias.copy_(torch.cat([arrays[f"{prefix}.{part}.biases"] for part in parts]))
            module.projection.weight.copy_(arrays[f"{prefix}.projection.weights"].T)
            module.projection.bias.copy_(arrays[f"{prefix}.projection.biases"])
        elif isinstance(module, nn.LayerNorm):
            module.weight.copy_(arrays[f"{prefix}.gamma"])
            module.bias.copy_(arrays[f"{prefix}.beta"])
        elif isinstance(module, nn.Sequential):
            for index, part in ((0, "hidden"), (2, "output")):
                module[index].weight.copy_(arrays[f"{prefix}.{part}.weights"].T)
                module[index].bias.copy_(arrays[f"{prefix}.{part}.biases"])
