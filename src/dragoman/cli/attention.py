"""The attention of one layer, all its heads or one of them, as `dragoman plot MODEL attention` draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dragoman.errors import ConfigurationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.batch import Batch
    from dragoman.graph import Array
    from dragoman.tasks.translation.translator import Translator


class ChosenLayer:
    """A network whose alignment is the attention of one layer, all heads apart: [B, h, Tq, Tk]."""

    def __init__(self, network: Any, layer: str | None) -> None:
        self.network, self.layer = network, layer
        self.name = ""  # of the layer, once it is known

    def alignment(self, batch: Batch) -> Array:
        maps = self.network.attention(batch)
        if not maps:
            return cast("Array", self.network.alignment(batch))  # says why there is none
        self.name = layer_name(list(maps), self.layer)
        return cast("Array", maps[self.name])


def layer_name(names: list[str], layer: str | None) -> str:
    """Return the name of a layer: by name, or the cross-attention of a decoder by number from 1 (default: last)."""
    crossing = [name for name in names if name.endswith(("cross_attention", "decoder.attention"))]
    if layer is None:
        return crossing[-1]
    if layer.isdigit() and 1 <= int(layer) <= len(crossing):
        return crossing[int(layer) - 1]
    if layer in names:
        return layer
    raise ConfigurationError(f"unknown layer '{layer}'; use 1 to {len(crossing)}, or one of {', '.join(names)}")


def layer_figure(translator: Translator, text: str, layer: str | None, head: int | None) -> Figure:
    """Draw all heads of a layer side by side, or one of them (counted from 1)."""
    from dragoman.analysis.figures import attention_figure, heads_figure
    from dragoman.data.tokenizer import MARK

    network = ChosenLayer(translator.network, layer)
    found = translator.align(text, attention=network.alignment)
    source, reference = (
        [piece.removeprefix(MARK) or "␣" for piece in side] for side in (found.source, found.reference)
    )
    queries, keys = _sides(network.name, source, reference)
    heads = len(found.weights)
    if head is None and heads > 1:
        return heads_figure(found.weights, queries, keys, network.name)
    if head is not None and head > heads:
        raise ConfigurationError(f"--head {head}: {network.name} has {heads} {'head' if heads == 1 else 'heads'}")
    return attention_figure(found.weights[(head or 1) - 1], queries, keys, f"{network.name}, head {head or 1}")


def _sides(name: str, source: list[str], reference: list[str]) -> tuple[list[str], list[str]]:
    """Return the names of rows and columns: a decoder row has the piece it predicts, a column what it reads."""
    if name.startswith("encoder."):
        return source, source
    return reference, ["[START]", *reference[:-1]] if name.endswith("self_attention") else source
