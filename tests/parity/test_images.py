"""Parity with PyTorch: patches, convolution and pooling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from dragoman import operations as ours
from tests.parity.test_operations import ACTIVATIONS, assert_parity, both_precisions, normal
from tests.strategies import generators, sizes

few = settings(max_examples=12)
pairs = st.tuples(sizes(1, 3), sizes(1, 3))


def channels_first(x):
    return x.permute(0, 3, 1, 2)


def channels_last(y):
    return y.permute(0, 2, 3, 1)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@both_precisions
@few
@given(
    rng=generators(),
    height=sizes(3, 7),
    width=sizes(3, 7),
    c=sizes(1, 3),
    k=sizes(1, 3),
    size=pairs,
    stride=pairs,
    same=st.booleans(),
    biased=st.booleans(),
    activation=st.sampled_from(sorted(ACTIVATIONS)),
)
def test_convolution(dtype, rng, height, width, c, k, size, stride, same, biased, activation):
    stride = (1, 1) if same else stride  # PyTorch has "same" for stride 1 alone
    padding = "same" if same else "valid"

    def reference(x, weights, biases=None):
        kernel = weights.reshape(*size, c, k).permute(3, 2, 0, 1).contiguous()
        y = functional.conv2d(channels_first(x), kernel, biases, stride, padding)
        return ACTIVATIONS[activation](channels_last(y))

    def mine(*inputs):
        return ours.convolve(*inputs, size=size, stride=stride, padding=padding, activation=activation)

    deviation = (size[0] * size[1] * c) ** -0.5
    x, weights, *biases = normal(rng, (2, height, width, c), (size[0] * size[1] * c, k), *([(k,)] if biased else []))
    assert_parity(mine, reference, [x, weights * deviation, *biases], dtype)


@both_precisions
@few
@given(rng=generators(), height=sizes(3, 7), width=sizes(3, 7), c=sizes(1, 3), size=pairs, stride=st.none() | pairs)
def test_pooling(dtype, rng, height, width, c, size, stride):
    x = normal(rng, (2, height, width, c))
    for mine, theirs in ((ours.max_pool, functional.max_pool2d), (ours.average_pool, functional.avg_pool2d)):
        assert_parity(
            lambda x, mine=mine: mine(x, size=size, stride=stride),
            lambda x, theirs=theirs: channels_last(theirs(channels_first(x), size, stride)),
            x,
            dtype,
        )


@both_precisions
@few
@given(rng=generators(), n=sizes(1, 3), m=sizes(1, 3), c=sizes(1, 3), size=pairs)
def test_patches(dtype, rng, n, m, c, size):
    def reference(x):
        columns = functional.unfold(channels_first(x), size, stride=size)  # channels before pixels
        rows = columns.transpose(1, 2).reshape(2 * n * m, c, size[0] * size[1])
        return rows.transpose(1, 2).reshape(2 * n * m, -1)

    x = normal(rng, (2, n * size[0], m * size[1], c))
    assert_parity(lambda x: ours.patches(x, size=size), reference, x, dtype)
