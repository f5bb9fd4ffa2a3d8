"""CTranslate2 as a contender: our weights in its model format, with its fastest thread setting for each request."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from dragoman.bench.material import Array, Material

TRIES = 3
MARKS = ["<pad>", "<unk>", "<s>", "</s>"]


class CTranslate2:
    def __init__(self, material: Material, threads: int | None, compute_type: str) -> None:
        self.longest, self.compute_type = material.about["longest"], compute_type
        self.directory = material.directory / f"ctranslate2-{compute_type}"
        if not self.directory.exists():
            write_model(material, self.directory, None if compute_type == "float32" else compute_type)
        names = vocabulary(material.network["source_vocabulary"])
        self.sentences = [[names[label] for label in sentence] for sentence in material.sentences]
        cores = threads or os.cpu_count() or 1
        self.settings = sorted({(1, 1), (1, cores), (cores, 1)})  # parallel translations, threads for each
        self.best: dict[tuple[str, int, int], tuple[int, int]] = {}
        self.loaded: tuple[tuple[int, int], Any] | None = None  # only one, because memory is measured

    def decode(self, method: str, batch: int, count: int) -> list[list[int]]:
        """Decode the first sentences; the first call of a kind finds the fastest thread setting."""
        request = method, batch, count
        if request not in self.best:
            self.best[request] = min(self.settings, key=lambda setting: self._seconds(setting, *request))
        return self._decode(self.best[request], *request)

    def _seconds(self, setting: tuple[int, int], method: str, batch: int, count: int) -> float:
        times = []
        for _ in range(1 + TRIES):  # the first loads the model
            start = time.perf_counter()
            self._decode(setting, method, batch, count)
            times.append(time.perf_counter() - start)
        return min(times[1:])

    def _decode(self, setting: tuple[int, int], method: str, batch: int, count: int) -> list[list[int]]:
        if self.loaded is None or self.loaded[0] != setting:
            self.loaded = None
            self.loaded = setting, self._load(*setting)
        translator = self.loaded[1]
        options = {
            "beam_size": 1 if method == "greedy" else 4,
            "max_batch_size": batch,
            "max_decoding_length": self.longest,
            "min_decoding_length": 0,
        }
        sentences = self.sentences[:count]
        calls = [[sentence] for sentence in sentences] if batch == 1 else [sentences]
        found = [result for call in calls for result in translator.translate_batch(call, **options)]
        return [[int(token) for token in result.hypotheses[0]] for result in found]

    def _load(self, beside: int, threads: int) -> Any:
        return ctranslate2.Translator(
            str(self.directory), compute_type=self.compute_type, inter_threads=beside, intra_threads=threads
        )


def vocabulary(size: int) -> list[str]:
    """Name each label by its number."""
    return MARKS + [str(label) for label in range(len(MARKS), size)]


def write_model(material: Material, directory: Path, quantization: str | None) -> None:
    """Write our weights as a CTranslate2 model.

    The specification is imported here because it imports PyTorch, whose memory must not count in decoding.
    """
    from ctranslate2.specs import TransformerSpec, common_spec

    c, weights = material.network, material.weights()
    spec = TransformerSpec.from_config(
        (c["layers"], c["layers"]),
        c["heads"],
        pre_norm=c["block"] == "pre",
        activation=common_spec.Activation.RELU,
        relative_attention_bias=c["positions"] == "relative",
    )
    spec.config.layer_norm_epsilon = c["epsilon"]
    for stack, side in ((spec.encoder, "source"), (spec.decoder, "reference")):
        name = "encoder" if side == "source" else "decoder"
        table = stack.embeddings[0] if side == "source" else stack.embeddings
        table.weight = weights[f"{side}_embedding.table"]
        if c["positions"] == "relative":
            _biases(stack.layer, weights[f"{name}.0.self_attention.distance_bias"], both_ways=side == "source")
        else:
            stack.position_encodings.encodings = material.arrays["positions"]
        if c["block"] == "pre":
            _normalization(stack.layer_norm, weights, f"{name}_normalization")
        for i, layer in enumerate(stack.layer):
            _layer(layer, weights, f"{name}.{i}", cross=side == "reference")
    _linear(spec.decoder.projection, weights, "output")
    spec.register_source_vocabulary(vocabulary(c["source_vocabulary"]))
    spec.register_target_vocabulary(vocabulary(c["target_vocabulary"]))
    spec.validate()
    spec.optimize(quantization)
    directory.mkdir()
    spec.save(str(directory))


def _layer(layer: Any, weights: Mapping[str, Array], name: str, cross: bool) -> None:
    own = f"{name}.self_attention"
    _linear(layer.self_attention.linear[0], weights, *(f"{own}.{part}" for part in ("query", "key", "value")))
    _linear(layer.self_attention.linear[1], weights, f"{own}.projection")
    _normalization(layer.self_attention.layer_norm, weights, f"{own}_normalization")
    if cross:
        other = f"{name}.cross_attention"
        _linear(layer.attention.linear[0], weights, f"{other}.query")
        _linear(layer.attention.linear[1], weights, f"{other}.key", f"{other}.value")
        _linear(layer.attention.linear[2], weights, f"{other}.projection")
        _normalization(layer.attention.layer_norm, weights, f"{other}_normalization")
    _linear(layer.ffn.linear_0, weights, f"{name}.perceptron.hidden")
    _linear(layer.ffn.linear_1, weights, f"{name}.perceptron.output")
    _normalization(layer.ffn.layer_norm, weights, f"{name}.perceptron_normalization")


def _biases(layers: Any, biases: Array, both_ways: bool) -> None:
    """Convert our biases [h, 2 reach + 1] of clipped distances to its buckets, which are those of T5.

    With 2 reach buckets per direction, the first half are the distances 0 to reach - 1; all others use the bias of
    `reach`. In an encoder, the buckets of later positions follow those of earlier ones.
    """
    reach = biases.shape[1] // 2
    far = np.minimum(np.arange(2 * reach), reach)
    ways = [biases[:, reach - far], biases[:, reach + far]] if both_ways else [biases[:, reach - far]]
    for layer in layers:
        layer.self_attention.relative_attention_bias = np.ascontiguousarray(np.concatenate(ways, axis=1).T)
        layer.self_attention.relative_attention_max_distance = np.dtype("int32").type(2 * reach)


def _linear(spec: Any, weights: Mapping[str, Array], *names: str) -> None:
    """Transpose our weights [in, out] to [out, in] and concatenate them."""
    spec.weight = np.ascontiguousarray(np.concatenate([weights[f"{name}.weights"].T for name in names]))
    spec.bias = np.concatenate([weights[f"{name}.biases"] for name in names])


def _normalization(spec: Any, weights: Mapping[str, Array], name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.gamma"], weights[f"{name}.beta"]
