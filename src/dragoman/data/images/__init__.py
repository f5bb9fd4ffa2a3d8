"""Images: reading PNG, JPEG, IDX and npz in bounded memory, their encoder, and datasets that hold them.

picture   one PNG or JPEG file, decoded with the extra `images` (Pillow)
idx       IDX files, the format of MNIST
npz       archives of NumPy arrays
sources   where the pictures of a training come from: folders, tables, IDX, npz
encoder   size, channels, mean and deviation; kept with a model
schema    samples with an image field in a memory-mapped store
"""

from dragoman.data.images.encoder import ImageEncoder
from dragoman.data.images.picture import Picture, Shape, read_picture
from dragoman.data.images.schema import ImageSchema, LabelledImages

__all__ = ["ImageEncoder", "ImageSchema", "LabelledImages", "Picture", "Shape", "read_picture"]
