"""A process that compiles the kernels computes the same bits as the next one, which finds them on disk."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("numba")
from numba.core.caching import IndexDataCacheFile, _CacheLocator

from dragoman.engines.numba import jit

SCRIPT = """
import hashlib
import numpy as np
from dragoman.batch import Batch
from dragoman.decoding import Beam, Greedy, decode
from dragoman.engines import use_fastest
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import ARCHITECTURES
from dragoman.operations import DropoutKey
from dragoman.optimization import Adam, gradient_norm

use_fastest()
rng = np.random.default_rng(0)


def sequences(count):
    return [[2, *rng.integers(4, 300, rng.integers(3, 30)), 3] for _ in range(count)]


pairs, sources = Batch.pairs(sequences(64), sequences(64)), sequences(5)
for name in ("transformer", "gru-attention", "lstm"):
    architecture = ARCHITECTURES[name]
    settings = architecture.settings(**{**architecture.presets["small"], **architecture.named}).model_dump()
    sizes = {"source_vocabulary": 300, "target_vocabulary": 300}
    network = architecture.build(architecture.configured(settings, sizes))
    optimizer = Adam()
    for step in range(2):
        run = ForwardContext(DropoutKey(0, step))
        loss, gradient = LossIndex(CrossEntropy(0.1)).differentiate(network, pairs, run)
        print(name, step, loss.error.hex(), gradient_norm(network.theta, gradient).hex())
        optimizer.update(network.theta, gradient, 0.01)
    print(name, hashlib.sha256(network.theta.values.tobytes()).hexdigest())
    for method in (Greedy(), Beam(width=3)):
        found = decode(network, sources, method, longest=9)
        print(name, [[(best.labels, best.log_probability.hex()) for best in several] for several in found])
"""


@pytest.mark.first  # for what it keeps
def test_the_process_that_compiles_gets_the_bits_of_the_next(tmp_path: Path) -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "DRAGOMAN_ENGINE": "numba"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert printed[0].count("\n") == 15
    assert list(tmp_path.rglob("*.nbi"))
    assert printed[0] == printed[1]
    with suppress(OSError):  # the package cannot be written: others compile for themselves
        keep_for_other_tests(tmp_path)


def keep_for_other_tests(compiled: Path) -> None:
    """Copy kernels to where the package looks for them, unless it has them: they took a minute to compile."""
    package = Path(jit.__file__).parent
    if jit.kernel_directory() != package / "__pycache__":
        return
    for folder in {source.parent for source in package.rglob("*.py")}:
        found = compiled / _CacheLocator.get_suitable_cache_subpath(str(folder / "any.py"))
        own = folder / "__pycache__"
        for index in found.glob("*.nbi"):
            if not IndexDataCacheFile(str(own), index.stem, jit.STAMP)._load_index():
                own.mkdir(exist_ok=True)
                for path in (*found.glob(f"{glob.escape(index.stem)}.*.nbc"), index):  # what an index names is there
                    part = shutil.copyfile(path, own / f"{path.name}.{os.getpid()}")
                    part.replace(own / path.name)


LINKED = """
import re
from numba import types
from dragoman.engines.numba.kernels import linear, row_kernels
from dragoman.engines.numba.kernels.attention import blocked, blocked_backward, simd


def plain(kind):
    return types.Tuple(kind.types) if isinstance(kind, types.NamedTuple) else kind


for kernel, target in (
    (linear.linear, linear.linear_rows),
    (linear.linear_backward, linear.linear_rows_backward),
    (row_kernels.embed, row_kernels.embed_rows),
    (row_kernels.normalize, row_kernels.normalize_rows),
    (row_kernels.add_normalize, row_kernels.add_normalize_rows),
    (row_kernels.normalize_backward, row_kernels.normalize_rows_backward),
    (simd.forward, simd.attend),
    (simd.backward, simd.attend_backward),
    (blocked.forward, blocked.attend),
    (blocked_backward.backward, blocked_backward.attend_backward),
):
    kernel.get_call_template((types.int64, *map(plain, target.kinds(types.float32, 1))), {})
    (machine,) = kernel.inspect_llvm().values()
    defined = re.findall(r"^define .*?@(\\S+)\\(", machine, re.MULTILINE)
    assert any(kernel.__name__ in name for name in defined), defined
    print(kernel.__name__, sum(target.compiled.__name__ in name for name in defined))
"""


def test_a_kernel_that_the_graph_and_programs_share_has_one_copy(tmp_path: Path) -> None:
    """Two processes that compile at the same time could each leave one of two copies in the cache: the graph would run
    one, programs the other, and their bits would differ."""
    printed = subprocess.run(
        [sys.executable, "-c", LINKED],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    counts = [line.split()[1] for line in printed.splitlines()]
    assert counts == ["0"] * 10
