"""Attention against plain loops, the thesis's numbers and its own promises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import ShapeError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.layers import CrossAttention, Initializer, SelfAttention
from dragoman.operations import Padding, attend, attend_cross, attend_self, attend_step, attention_weights, linear
from tests.operations.calculus import assert_same_function
from tests.strategies import generators, offsets, sizes

every_head_count = pytest.mark.parametrize("heads", [1, 2, 4])


@st.composite
def cases(draw, longest=3, free=False):
    """Inputs and options of `attend`: self or cross, causal or not, scaled or not, with or without distances.

    free: a head's values have a width of their own
    """
    rng, heads = draw(generators()), draw(st.sampled_from((1, 2, 4)))
    depth = heads * draw(sizes(1, 2))
    options = {"heads": heads, "causal": draw(st.booleans()), "scaled": draw(st.booleans())}
    options["offsets"] = memory = draw(offsets(high=longest))
    if draw(st.booleans()):
        options["memory_offsets"] = memory = draw(offsets(count=len(memory) - 1, high=longest))
    width = heads * draw(sizes(1, 3)) if free else depth
    shapes = [(options["offsets"][-1], depth), (memory[-1], depth), (memory[-1], width)]
    if draw(st.booleans()):
        shapes.append((heads, draw(st.sampled_from((1, 3, 5)))))
    return [rng.standard_normal(shape) for shape in shapes], options


def naive(q, k, v, bias=None, *, offsets, memory_offsets=None, heads, causal=False, scaled=True):
    """One sequence, one head, one query at a time. Returns the output and {(sequence, head, query): weights}."""
    width, value_width = q.shape[1] // heads, v.shape[1] // heads
    output, weights = np.zeros((len(q), v.shape[1])), {}
    memory = offsets if memory_offsets is None else memory_offsets
    for b, ((start, stop), (first, last)) in enumerate(zip(pairwise(offsets), pairwise(memory), strict=True)):
        for r in range(heads):
            columns, taken = (slice(r * m, (r + 1) * m) for m in (width, value_width))
            for i in range(stop - start):
                scores = []
                for c in range(last - first):
                    score = float(q[start + i, columns] @ k[first + c, columns])
                    score = score / width**0.5 if scaled else score
                    if bias is not None:
                        reach = bias.shape[1] // 2
                        score += bias[r, min(max(c - i, -reach), reach) + reach]
                    scores.append(-np.inf if causal and c > i else score)
                if scores:
                    e = np.exp(np.array(scores) - max(scores))
                    weights[b, r, i] = e / e.sum()
                    output[start + i, taken] = weights[b, r, i] @ v[first:last, taken]
    return output, weights


@pytest.mark.ledger("T-3.2-II-self-cross", "T-3.2-II-scores", "T-3.2-II-mask", "T-3.2-II-weights", "T-3.2-II-outputs")
@settings(max_examples=60)
@given(cases(longest=4, free=True))
def test_values_are_those_of_plain_loops(case):
    inputs, options = case
    output, weights = naive(*inputs, **options)
    np.testing.assert_allclose(attend(*inputs, **options), output, rtol=1e-10, atol=1e-13)
    q, k, _, *bias = inputs
    grid = attention_weights(q, k, *bias, **options)
    for (b, r, i), expected in weights.items():
        np.testing.assert_allclose(grid[b, r, i, : len(expected)], expected, rtol=1e-10, atol=1e-15)
        assert not grid[b, r, i, len(expected) :].any()
        grid[b, r, i] = 0
    assert not grid.any()  # and nothing anywhere else


@pytest.mark.ledger("T-4.3.22-dV", "T-4.3.25-dQ", "T-4.3.26-dK", "T-4.3-maskgrad", "T-L27")
@settings(max_examples=60)
@given(cases(free=True))
def test_gradient(case):
    inputs, options = case
    gradient_check(attend, *inputs, **options).require()


Q = K = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
V = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
THREE = {"offsets": np.array([0, 3]), "heads": 1}


@pytest.mark.ledger("T-3.2-II-scores", "T-3.2-II-mask", "T-3.2-II-weights", "T-3.2-II-obs38", "T-3.2-II-outputs")
def test_the_thesis_example():
    columns = attention_weights(Q, K, causal=True, **THREE)[0, 0].T  # context by input, as the thesis stores them
    expected = [[1, 0.330238451, 0.248255078], [0, 0.669761549, 0.248255078], [0, 0, 0.503489843]]
    np.testing.assert_allclose(columns, expected, atol=1e-9)
    assert not np.tril(columns, -1).any()  # exactly 0 where the context comes later
    np.testing.assert_allclose(columns.sum(axis=0), 1, rtol=1e-15)
    output = attend(Q, K, V, causal=True, **THREE)
    np.testing.assert_allclose(output, [[1, 2], [2.339523099, 3.339523099], [3.51046953, 4.51046953]], atol=1e-8)
    np.testing.assert_allclose(attend(Q, K, V, **THREE)[0], [3, 4], rtol=1e-14)

    free = attention_weights(Q, K, **THREE)[0, 0]
    scores = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 2]]) / 1.41421356237  # K Q^T over the root of the head depth
    ratios = np.log(free / free[:, :1])  # softmax keeps differences of scores
    np.testing.assert_allclose(ratios, scores - scores[:, :1], atol=1e-10)


@pytest.mark.ledger("T-3.2-II-obs38", "T-4.3-maskgrad")
def test_nothing_comes_back_to_a_masked_score():
    q, k, v = Tensor(Q), Tensor(K), Tensor(V)
    delta = np.array([[1.0, -2.0], [3.0, 0.5], [0.0, 0.0]])
    dq, dk, dv = backpropagate(attend(q, k, v, causal=True, **THREE), [q, k, v], [delta])
    assert dq[1].any()
    assert not dk[2].any()  # the last key is masked for the two queries that have a delta
    assert not dv[2].any()
    assert not dq[0].any()  # the first query has one choice only


@pytest.mark.ledger("T-4.3-dA", "T-4.3-dAhat")
@given(generators())
def test_deltas_of_weights_and_scores(rng):
    """With one query, each distance bias is added to one score, so its derivative is that score's delta."""
    q, k, v = rng.standard_normal((1, 2)), rng.standard_normal((4, 2)), rng.standard_normal((4, 2))
    bias, delta = Tensor(np.zeros((1, 7))), rng.standard_normal((1, 2))
    options = {"offsets": np.array([0, 1]), "memory_offsets": np.array([0, 4]), "heads": 1}
    (dbias,) = backpropagate(attend(q, k, v, bias, **options), [bias], [delta])
    weights = attention_weights(q, k, **options)[0, 0, 0]
    dweights = [v[c] @ delta[0] for c in range(4)]
    expected = [weights[c] * (dweights[c] - weights @ dweights) for c in range(4)]
    np.testing.assert_allclose(dbias[0, 3:], expected, rtol=1e-10, atol=1e-14)
    assert dbias.sum() == pytest.approx(0, abs=1e-14)


def test_a_query_with_nothing_to_look_at_gets_zero():
    rng = np.random.default_rng(0)
    q, k, v = (Tensor(rng.standard_normal(shape)) for shape in ((3, 4), (2, 4), (2, 4)))
    y = attend(q, k, v, offsets=np.array([0, 2, 3]), memory_offsets=np.array([0, 0, 2]), heads=2)
    np.testing.assert_array_equal(y.value[:2], 0)
    assert y.value[2].all()
    dq, dk, dv = backpropagate(y, [q, k, v], [np.ones((3, 4))])
    np.testing.assert_array_equal(dq[:2], 0)
    for derivative in (dq, dk, dv):
        assert np.isfinite(derivative).all()


@pytest.mark.parametrize(
    ("starts", "memory"),
    [([0, 1, 3], [0, 0, 0]), ([0, 0, 0], [0, 1, 3]), ([0, 0, 0], [0, 0, 0]), ([0], [0])],
    ids=["no memory", "no queries", "nothing but empty sequences", "no sequences"],
)
def test_nothing_at_all_is_allowed(starts, memory):
    leaves = [Tensor(np.ones((rows, 4))) for rows in (starts[-1], memory[-1], memory[-1])]
    y = attend(*leaves, offsets=np.array(starts), memory_offsets=np.array(memory), heads=2)
    assert y.shape == (starts[-1], 4)
    assert not y.value.any()
    for derivative in backpropagate(y, leaves, [np.ones_like(y.value)]):
        assert not derivative.any()


@given(cases(longest=4))
def test_a_sequence_gives_the_same_alone_and_in_a_batch(case):
    inputs, options = case
    q, k, v, *bias = inputs
    starts = options.pop("offsets")
    memory = options.pop("memory_offsets", starts)
    leaves = [Tensor(x) for x in (q, k, v)]
    together = attend(*leaves, *bias, offsets=starts, memory_offsets=memory, **options)
    derivatives = backpropagate(together, leaves, [np.cos(np.arange(q.size).reshape(q.shape))])
    for (a, b), (c, d) in zip(pairwise(starts), pairwise(memory), strict=True):
        if a == b or c == d:
            continue
        parts = [Tensor(x) for x in (q[a:b], k[c:d], v[c:d])]
        ends = {"offsets": np.array([0, b - a]), "memory_offsets": np.array([0, d - c])}
        alone = attend(*parts, *bias, **ends, **options)
        np.testing.assert_allclose(alone.value, together.value[a:b], rtol=1e-10, atol=1e-13)
        delta = np.cos(np.arange(q.size).reshape(q.shape))[a:b]
        for found, whole, rows in zip(
            backpropagate(alone, parts, [delta]), derivatives, (slice(a, b), slice(c, d), slice(c, d)), strict=True
        ):
            np.testing.assert_allclose(found, whole[rows], rtol=1e-9, atol=1e-12)


@given(cases())
def test_fused_forms_are_attend(case):
    (q, k, v, *bias), options = case
    starts, heads, scaled = options["offsets"], options["heads"], options["scaled"]
    cross = {"offsets": starts, "memory_offsets": options.get("memory_offsets", starts), "heads": heads}

    def split_cross(q, kv):
        d = kv.shape[1] // 2
        return attend(q, columns(kv, 0, d), columns(kv, d, 2 * d), scaled=scaled, **cross)

    kv = np.concatenate((k, v), axis=1)
    assert_same_function(lambda q, kv: attend_cross(q, kv, scaled=scaled, **cross), split_cross, q, kv)

    own = {"offsets": starts, "heads": heads, "causal": options["causal"], "scaled": scaled}

    def split_self(qkv, *bias):
        d = qkv.shape[1] // 3
        return attend(*(columns(qkv, i * d, (i + 1) * d) for i in range(3)), *bias, **own)

    qkv = np.concatenate((q, np.sin(q), np.cos(q)), axis=1)
    assert_same_function(lambda qkv, *bias: attend_self(qkv, *bias, **own), split_self, qkv, *bias)


@every_head_count
@settings(max_examples=8)
@given(rng=generators(), starts=offsets(count=2, high=3), memory=offsets(count=2, high=3), causal=st.booleans())
def test_gradient_of_fused_forms(heads, rng, starts, memory, causal):
    qkv, q, kv = (rng.standard_normal((n, w)) for n, w in ((starts[-1], 12), (starts[-1], 4), (memory[-1], 8)))
    bias = rng.standard_normal((heads, 3))
    gradient_check(attend_self, qkv, bias, offsets=starts, heads=heads, causal=causal).require()
    gradient_check(attend_cross, q, kv, offsets=starts, memory_offsets=memory, heads=heads, scaled=causal).require()


def columns(x, start, stop):
    """Some columns of a tensor, by a product with a part of the identity."""
    return linear(x, np.eye(x.shape[1])[:, start:stop])


@every_head_count
@pytest.mark.parametrize("reach", [None, 0, 1, 4])
@given(rng=generators(), lengths=st.lists(sizes(1, 4), min_size=1, max_size=3), scaled=st.booleans())
def test_a_step_is_the_last_row(heads, reach, rng, lengths, scaled):
    starts = np.concatenate(([0], np.cumsum(lengths)))
    q, k, v = (rng.standard_normal((starts[-1], 4)) for _ in range(3))
    bias = [] if reach is None else [rng.standard_normal((heads, 2 * reach + 1))]
    rows = attend(q, k, v, *bias, offsets=starts, heads=heads, causal=True, scaled=scaled)[starts[1:] - 1]
    kv, options = np.concatenate((k, v), axis=1), {"heads": heads, "scaled": scaled}
    together = attend_step(q[starts[1:] - 1], kv, *bias, starts=starts[:-1], lengths=np.array(lengths), **options)
    np.testing.assert_allclose(together, rows, rtol=1e-9, atol=1e-12)
    for i, (a, b) in enumerate(pairwise(starts)):
        alone = attend_step(q[b - 1 : b], kv, *bias, starts=np.array([a]), lengths=np.array([b - a]), **options)
        np.testing.assert_allclose(alone[0], rows[i], rtol=1e-9, atol=1e-12)


@given(offsets(), generators())
def test_padding_there_and_back(starts, rng):
    rows, padding = rng.standard_normal((starts[-1], 2)), Padding.of(starts)
    padded = padding.pad(rows)
    assert padded.shape == (len(starts) - 1, max(np.diff(starts)), 2)
    np.testing.assert_array_equal(padding.pack(padded), rows)
    for sequence, (a, b) in zip(padded, pairwise(starts), strict=True):
        np.testing.assert_array_equal(sequence[: b - a], rows[a:b])
        assert not sequence[b - a :].any()


def test_scores_of_ten_thousand_stay_finite():
    leaves = [Tensor(x) for x in (1e4 * Q, K, V)]
    y = attend(*leaves, **THREE)
    np.testing.assert_allclose(y.value[0], (V[0] + V[2]) / 2)  # two keys share the highest score
    for derivative in backpropagate(y, leaves, [np.ones((3, 2))]):
        assert np.isfinite(derivative).all()


# The whole of Definition 3.9, with the thesis's indices

NAMES = ("x", "context", "wq", "bq", "wk", "bk", "wv", "bv", "wp", "bp")


def multi_head(x, context, wq, bq, wk, bk, wv, bv, wp, bp, **options):
    q, k, v = linear(x, wq, bq), linear(context, wk, bk), linear(context, wv, bv)
    return linear(attend(q, k, v, **options), wp, bp)


def draw_layer(rng, inputs, context, d):
    shapes = [(inputs, d), (context, d), *[(d, d), (d,)] * 4]
    return dict(zip(NAMES, (rng.standard_normal(shape) for shape in shapes), strict=True))


def layer_options(inputs, context, heads, causal):
    ends = {"offsets": np.array([0, inputs]), "memory_offsets": np.array([0, context])}
    return {**ends, "heads": heads, "causal": causal}


@pytest.mark.ledger("T-3.2-II-T", "T-3.2-II-P", "T-3.2-II-layer", "T-3.2-II-self-cross")
@every_head_count
@pytest.mark.parametrize("causal", [False, True])
@given(rng=generators(), inputs=sizes(), context=sizes())
def test_the_layer_in_the_indices_of_the_thesis(heads, causal, rng, inputs, context):
    d, width = 4, 4 // heads
    layer = draw_layer(rng, inputs, context, d)

    def transform(x, weights, biases):
        """T(x; W, b)_{j, k~, r}, W [d, d~, h]"""
        per_head = weights.reshape(d, heads, width).transpose(0, 2, 1)
        return np.einsum("jk,kar->jar", x, per_head) + biases.reshape(heads, width).T

    q = transform(layer["x"], layer["wq"], layer["bq"])
    k = transform(layer["context"], layer["wk"], layer["bk"])
    v = transform(layer["context"], layer["wv"], layer["bv"])
    y = np.tile(layer["bp"], (inputs, 1))
    for r in range(heads):
        scores = k[:, :, r] @ q[:, :, r].T / width**0.5  # [m_C, m_I]
        if causal:
            scores = scores + np.where(np.arange(context)[:, None] > np.arange(inputs), -np.inf, 0)
        weights = np.exp(scores) / np.exp(scores).sum(axis=0)
        y = y + (weights.T @ v[:, :, r]) @ layer["wp"].reshape(heads, width, d)[r]
    found = multi_head(*layer.values(), **layer_options(inputs, context, heads, causal))
    np.testing.assert_allclose(found, y, rtol=1e-9, atol=1e-12)


@pytest.mark.ledger(
    *("T-4.3.14-WQ", "T-4.3.15-bQ", "T-4.3.16-WK", "T-4.3.17-bK", "T-4.3.18-WV", "T-4.3.19-bV", "T-4.3.20-WP"),
    *("T-4.3.21-bP", "T-4.3.27-xI", "T-4.3.28-xC", "T-L27"),
)
@every_head_count
@pytest.mark.parametrize("causal", [False, True])
@settings(max_examples=4)
@given(rng=generators(), inputs=sizes(1, 3), context=sizes(1, 3))
def test_every_derivative_of_the_layer(heads, causal, rng, inputs, context):
    layer = draw_layer(rng, inputs, context, 4)
    report = gradient_check(multi_head, *layer.values(), **layer_options(inputs, context, heads, causal)).require()
    assert {c.name for c in report.comparisons} == set(NAMES)


@pytest.mark.ledger(
    *("T-4.3.14-WQ", "T-4.3.15-bQ", "T-4.3.16-WK", "T-4.3.17-bK", "T-4.3.18-WV", "T-4.3.19-bV", "T-4.3.20-WP"),
    *("T-4.3.21-bP", "T-4.3-dO", "T-4.3.27-xI", "T-4.3.28-xC"),
)
@every_head_count
@pytest.mark.parametrize("causal", [False, True])
def test_derivatives_in_terms_of_those_of_q_k_v_and_o(heads, causal):
    rng = np.random.default_rng(heads)
    arrays, delta = draw_layer(rng, 3, 5, 4), rng.standard_normal((3, 4))
    t = {name: Tensor(x) for name, x in arrays.items()}
    q, k, v = (
        linear(t["x"], t["wq"], t["bq"]),
        linear(t["context"], t["wk"], t["bk"]),
        linear(t["context"], t["wv"], t["bv"]),
    )
    o = attend(q, k, v, **layer_options(3, 5, heads, causal))
    y = linear(o, t["wp"], t["bp"])
    dq, dk, dv, do, *rest = backpropagate(y, [q, k, v, o, *t.values()], [delta])
    found = dict(zip(NAMES, rest, strict=True))
    expected = {
        "wp": o.value.T @ delta,
        "bp": delta.sum(axis=0),
        "wq": arrays["x"].T @ dq,
        "bq": dq.sum(axis=0),
        "wk": arrays["context"].T @ dk,
        "bk": np.zeros(4),  # softmax does not notice a common shift
        "wv": arrays["context"].T @ dv,
        "bv": dv.sum(axis=0),
        "x": dq @ arrays["wq"].T,
        "context": dk @ arrays["wk"].T + dv @ arrays["wv"].T,
    }
    for name, derivative in expected.items():
        np.testing.assert_allclose(found[name], derivative, rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(do, delta @ arrays["wp"].T, rtol=1e-12)


@pytest.mark.ledger("T-4.3.28-xC")
def test_in_self_attention_the_paths_of_queries_and_of_context_add_up():
    rng = np.random.default_rng(3)
    layer, delta = draw_layer(rng, 4, 4, 4), rng.standard_normal((4, 4))
    parameters, options = list(layer.values())[2:], layer_options(4, 4, 2, True)
    x, context, both = Tensor(layer["x"]), Tensor(layer["x"]), Tensor(layer["x"])
    apart = backpropagate(multi_head(x, context, *parameters, **options), [x, context], [delta])
    (together,) = backpropagate(multi_head(both, both, *parameters, **options), [both], [delta])
    np.testing.assert_allclose(together, sum(apart), rtol=1e-12)


@pytest.mark.ledger("T-3.2-II-heads", "T-3.2-II-params")
@pytest.mark.parametrize("layer", [SelfAttention, CrossAttention])
def test_parameters_do_not_depend_on_the_heads(layer):
    assert {layer(64, heads, Initializer(0)).count() for heads in (1, 2, 4, 8, 64)} == {16_640}


@pytest.mark.ledger("T-3.2-II-heads")
def test_heads_must_divide_the_depth():
    with pytest.raises(ShapeError, match="3 heads do not divide the depth 4"):
        attend(*[np.ones((1, 4))] * 3, offsets=np.array([0, 1]), heads=3)
    with pytest.raises(ShapeError, match="2 heads do not divide the depth 5"):
        attend(*[np.ones((1, 4))] * 2, np.ones((1, 5)), offsets=np.array([0, 1]), heads=2)


@pytest.mark.ledger("B-7.25eq", "B-7.26eq")
def test_heads_of_the_book_have_free_widths():
    """m = 2 columns of a query or key, m_v = 3 of a value, two heads: the printed sums, head by head."""
    rng = np.random.default_rng(0)
    x, w_q, w_k, w_v = rng.standard_normal((4, 5)), *(rng.standard_normal((2, 5, m)) for m in (2, 2, 3))
    w_c = rng.standard_normal((2, 3, 5))
    expected = np.zeros((4, 5))
    for h in range(2):
        for t in range(4):
            scores = [np.exp((x[t] @ w_q[h]) @ (x[tau] @ w_k[h]) / np.sqrt(2)) for tau in range(4)]
            u = sum(s / sum(scores) * (x[tau] @ w_v[h]) for tau, s in enumerate(scores))
            expected[t] += u @ w_c[h]
    q, k, v = (x @ np.concatenate(list(w), axis=1) for w in (w_q, w_k, w_v))
    u = attend(q, k, v, offsets=np.array([0, 4]), heads=2)
    assert u.shape == (4, 6)
    np.testing.assert_allclose(u @ np.concatenate(list(w_c)), expected, rtol=1e-12)
