"""Encoder and LanguageModel beside the same weights in plain PyTorch: padded, masked, differentiated by autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from dragoman.batch import Batch
from dragoman.graph import Array, backpropagate, value_of
from dragoman.networks import (
    Encoder,
    EncoderConfiguration,
    LanguageModel,
    LanguageModelConfiguration,
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
)
from tests.parity.test_transformer import (
    TOLERANCE,
    Weights,
    assert_close,
    attention,
    normalized,
    perceptron,
    scatter,
    torch_weights,
)

VOCABULARY, INPUTS, OUTPUTS, DEPTH = 7, 3, 4, 8
POOLING = ["class_token", "mean", "max", "attention", "none"]


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# --- the reference: nothing here comes from the package ---------------------------------------------------------------


def embedded(w: Weights, c: Any, rows: Array) -> torch.Tensor:
    """One sequence: labels [T], or real rows [T, inputs], with half-half sinusoids."""
    if rows.ndim == 1:
        x = F.embedding(torch.tensor(rows), w["embedding.table"]) * c.depth**0.5
    else:
        x = F.linear(torch.tensor(rows), w["embedding.weights"].T, w["embedding.biases"])
    angles = torch.arange(len(rows))[:, None] / 10_000.0 ** (torch.arange(0, c.depth, 2).double() / c.depth)
    return x + torch.cat((angles.sin(), angles.cos()), dim=1).to(x.dtype)


def blocks(w: Weights, c: Any, sequences: list[torch.Tensor], causal: bool) -> list[torch.Tensor]:
    """The last rows of sequences that are padded with 0 to one length."""
    lengths = [len(sequence) for sequence in sequences]
    x = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    real = torch.arange(x.shape[1])[None, :] < torch.tensor(lengths)[:, None]
    for i in range(c.layers):
        steps = {
            "self_attention": lambda name, x: attention(w, name, x, x, real, heads=c.heads, causal=causal),
            "perceptron": lambda name, x: perceptron(w, name, x),
        }
        for step, function in steps.items():
            name, norm = f"blocks.{i}.{step}", f"blocks.{i}.{step}_normalization"
            if c.block == "pre":
                x = x + function(name, normalized(w, norm, x))
            else:
                x = normalized(w, norm, x + function(name, x))
    if c.block == "pre":
        x = normalized(w, "normalization", x)
    return [rows[:length] for rows, length in zip(x, lengths, strict=True)]


def pooled(w: Weights, pooling: str, rows: torch.Tensor) -> torch.Tensor:
    if pooling == "none":
        return rows
    if pooling in ("class_token", "last"):
        return rows[-1:]
    if pooling == "attention":
        return ((rows @ w["pooling.query"]).softmax(dim=0) @ rows)[None]
    return rows.max(dim=0, keepdim=True).values if pooling == "max" else rows.mean(dim=0, keepdim=True)


def encoder_outputs(w: Weights, c: EncoderConfiguration, sequences: list[Array]) -> torch.Tensor:
    read = [embedded(w, c, rows) for rows in sequences]
    if c.pooling == "class_token":
        read = [torch.cat((rows, w["class_token"][None])) for rows in read]
    x = torch.cat([pooled(w, c.pooling, rows) for rows in blocks(w, c, read, causal=c.causal)])
    return F.linear(x, w["output.weights"].T, w["output.biases"])


def language_model_logits(w: Weights, c: LanguageModelConfiguration, sequences: list[Array]) -> torch.Tensor:
    x = torch.cat(blocks(w, c, [embedded(w, c, labels) for labels in sequences], causal=True))
    return F.linear(x, w["output.weights"].T if c.tied == "none" else w["embedding.table"], w["output.biases"])


# --- the comparison ---------------------------------------------------------------------------------------------------


def compare(network: Any, reference: Any, sequences: list[Array], dtype: Any) -> None:
    """Outputs, and the derivatives of sum(c * y) by every parameter."""
    scatter(network)
    y = network(Batch.pack(sequences))
    delta = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
    weights = torch_weights(network)
    expected = reference(weights, network.configuration, sequences)
    (expected * torch.tensor(delta)).sum().backward()
    assert_close("outputs", value_of(y), expected, TOLERANCE[dtype])
    gradient = backpropagate([y], network.theta, [delta])
    for name, parameter in network.named_parameters():
        for part, view in parameter.split(name, network.theta.view(gradient, parameter)):
            assert_close(part, view, weights[part].grad, 10 * TOLERANCE[dtype])


def sequences_of(seed: int, lengths: list[int], kind: str, dtype: Any) -> list[Array]:
    rng = np.random.default_rng(seed)
    if kind == "labels":
        return [rng.integers(0, VOCABULARY, length) for length in lengths]
    return [rng.standard_normal((length, INPUTS)).astype(dtype) for length in lengths]


ragged = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["labels", "rows"])
@pytest.mark.parametrize("block", ["post", "pre"])
@pytest.mark.parametrize("pooling", POOLING)
@settings(max_examples=4)
@given(seed=st.integers(0, 99), lengths=ragged)
def test_an_encoder(pooling: Any, block: Any, kind: str, dtype: Any, seed: int, lengths: list[int]) -> None:
    inputs = {"vocabulary": VOCABULARY} if kind == "labels" else {"inputs": INPUTS}
    sizes = {"depth": DEPTH, "perceptron_depth": 5, "heads": 2, "layers": 2, "outputs": OUTPUTS}
    configuration = EncoderConfiguration(**sizes, **inputs, pooling=pooling, block=block)
    compare(Encoder(configuration, dtype=dtype), encoder_outputs, sequences_of(seed, lengths, kind, dtype), dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["labels", "rows"])
@pytest.mark.parametrize("block", ["post", "pre"])
@settings(max_examples=4)
@given(seed=st.integers(0, 99), lengths=ragged)
def test_a_causal_encoder_with_its_last_row(block: Any, kind: str, dtype: Any, seed: int, lengths: list[int]) -> None:
    """The forecasting Transformer."""
    inputs = {"vocabulary": VOCABULARY} if kind == "labels" else {"inputs": INPUTS}
    sizes = {"depth": DEPTH, "perceptron_depth": 5, "heads": 2, "layers": 2, "outputs": OUTPUTS}
    configuration = EncoderConfiguration(**sizes, **inputs, pooling="last", causal=True, block=block)
    compare(Encoder(configuration, dtype=dtype), encoder_outputs, sequences_of(seed, lengths, kind, dtype), dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tied", ["none", "output"])
@pytest.mark.parametrize("block", ["post", "pre"])
@settings(max_examples=4)
@given(seed=st.integers(0, 99), lengths=ragged)
def test_a_language_model(block: Any, tied: Any, dtype: Any, seed: int, lengths: list[int]) -> None:
    sizes = {"depth": DEPTH, "perceptron_depth": 5, "heads": 2, "layers": 2, "vocabulary": VOCABULARY}
    network = LanguageModel(LanguageModelConfiguration(**sizes, tied=tied, block=block), dtype=dtype)
    compare(network, language_model_logits, sequences_of(seed, lengths, "labels", dtype), dtype)


@settings(max_examples=10)
@given(seed=st.integers(0, 99), lengths=ragged)
def test_the_last_states_of_a_bidirectional_lstm(seed: int, lengths: list[int]) -> None:
    """torch.nn.LSTM of packed sequences, whose gates stand in another order."""
    configuration = RecurrentEncoderConfiguration(cell="lstm", depth=3, units=8, vocabulary=VOCABULARY, outputs=OUTPUTS)
    network = RecurrentEncoder(configuration, dtype=np.float64)
    scatter(network)
    w, lstm = torch_weights(network), torch.nn.LSTM(3, 4, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for direction, ending in (("forward", ""), ("backward", "_reverse")):
            for theirs, ours in (("weight_ih", "weights"), ("weight_hh", "recurrent_weights"), ("bias_ih", "biases")):
                parts = [
                    w[f"recurrent.{direction}.0.{gate}.{ours}"] for gate in ("input", "forget", "memory", "output")
                ]
                getattr(lstm, f"{theirs}_l0{ending}").copy_(torch.cat(parts, dim=-1).t())
            getattr(lstm, f"bias_hh_l0{ending}").zero_()
    sequences = sequences_of(seed, lengths, "labels", np.float64)
    read = [F.embedding(torch.tensor(labels), w["embedding.table"]) for labels in sequences]
    _, (h, _) = lstm(torch.nn.utils.rnn.pack_sequence(read, enforce_sorted=False))
    expected = F.linear(torch.cat((h[0], h[1]), dim=1), w["output.weights"].T, w["output.biases"])
    assert_close("outputs", value_of(network(Batch.pack(sequences))), expected, 1e-10)
