"""The vision transformer: an Encoder that reads the patches of an image."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from dragoman.batch import Batch
from dragoman.graph import Array, Value
from dragoman.layers import ForwardContext, Positions
from dragoman.networks.encoder import Encoder, EncoderConfiguration, EncoderSettings
from dragoman.networks.images import ImageSizes, choose_patch, patch_batch


def _pair(given: object) -> object:
    """4 means 4 x 4."""
    return (given, given) if isinstance(given, int) else given


Side = Annotated[int, Field(ge=1)]
Patch = Annotated[tuple[Side, Side], BeforeValidator(_pair)]


class VisionTransformerSettings(EncoderSettings):
    """What is chosen of a VisionTransformer.

    patch  height and width of a patch in pixels, or one number for both; None: by the size of the images
    """

    pooling: Literal["class_token", "mean", "max", "attention"] = "class_token"
    positions: Positions = "learned"
    patch: Patch | None = None

    def _check_length(self) -> None:
        """There are as many positions as patches."""


class VisionTransformerConfiguration(VisionTransformerSettings, EncoderConfiguration, ImageSizes):
    """Everything a VisionTransformer is built from."""

    patch: Patch = (1, 1)

    @model_validator(mode="before")
    @classmethod
    def _with_patches(cls, given: Any) -> Any:
        """What follows from the size of images and patches: inputs of a token, and how many there are."""
        try:
            height, width, channels = (int(given[name]) for name in ("height", "width", "channels"))
            chosen: Any = _pair(given.get("patch") or choose_patch(height, width))
            down, across = (int(side) for side in chosen)
        except (KeyError, TypeError, ValueError, AttributeError):
            return given  # pydantic reports the error
        if min(down, across) < 1 or height % down or width % across:
            raise ValueError(
                f"patches of {down} x {across} pixels do not cut images of {height} x {width} exactly; choose "
                "network.patch so that it divides both sides"
            )
        count = (height // down) * (width // across)
        return {**given, "patch": (down, across), "inputs": down * across * channels, "maximum_length": count}

    @property
    def grid(self) -> tuple[int, int]:
        """Patches down and across."""
        return self.height // self.patch[0], self.width // self.patch[1]

    def summary(self) -> str:
        return f"{super().summary()}, patches of {self.patch[0]} x {self.patch[1]}"


class VisionTransformer(Encoder):
    """Images -> patches -> learned matrix and positions -> class token -> blocks -> outputs."""

    configuration: VisionTransformerConfiguration

    def tokens(self, batch: Batch) -> Batch:
        """The batch of patches of a batch of images."""
        c = self.configuration
        return patch_batch(batch, c, c.patch, self.theta.dtype)

    def _read(self, batch: Batch, run: ForwardContext) -> tuple[Value, Value]:
        return super()._read(self.tokens(batch), run)

    def _without_tokens(self, rows: Array, batch: Batch) -> Array:
        return super()._without_tokens(rows, self.tokens(batch))
