"""How kernels are compiled and cached on disk."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from dragoman.versions import refuse_failing

refuse_failing("numba", numba.__version__)

# Not "nnan" or "ninf", which would delete checks for NaN and infinity.
BARE: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "arcp", "nsz"}}
SETTINGS: dict[str, Any] = {**BARE, "nogil": True}  # nogil: shards run on threads


def stamp_of(directory: Path) -> str:
    """Cache key: a hash of all sources below a directory."""
    sources = sorted(directory.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


STAMP = stamp_of(Path(__file__).parents[1])  # dragoman.engines: kernels also use constants of transformer_spec


def kernel(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """Compile a function when it is first called; cached on disk until a source of the engines changes."""
    return _cached(function, {**SETTINGS, **more})


def short_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel too short to be worth releasing the GIL."""
    return _cached(function, BARE)


def callback(signature: str, function: Callable[..., Any]) -> CFunc:
    """A C function that kernels call by its address, valid as long as this object lives."""
    made = CFunc(function, sigutils.normalize_signature(signature), locals={}, options=dict(BARE))
    with _in_memory_otherwise():
        made.enable_caching()
    _stamp_cache(made).compile()
    return made


def _cached(function: Callable[..., Any], settings: dict[str, Any]) -> Callable[..., Any]:
    compiled: Any = njit(**settings)(function)
    with _in_memory_otherwise():
        compiled.enable_caching()
    result: Callable[..., Any] = _stamp_cache(compiled)
    return result


@contextmanager
def _in_memory_otherwise() -> Iterator[None]:
    """Without a writable cache directory, kernels are compiled for this process only."""
    try:
        yield
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, address: Any, arguments: Any) -> Any:
    """Call the C function at an address with a tuple of 64-bit integers (counts and pointers)."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        integers = [builder.extract_value(given[1], i) for i in range(len(arguments))]
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * len(integers))
        builder.call(builder.inttoptr(given[0], kind.as_pointer()), integers)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


def _stamp_cache(compiled: Any) -> Any:
    """Use STAMP as the cache key; numba's own key covers only the file that defines the function."""
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = STAMP
        kept.save = functools.partial(_save, kept)
    return compiled


def _save(kept: Any, key: Any, data: Any) -> None:
    """Save a compiled kernel under a file name derived from its signature.

    Numba numbers the files it finds, so two processes compiling at the same time could write two kernels to one file.
    """
    number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6])
    name = kept._data_name(number)
    with suppress(OSError):  # a full disk: the kernel is compiled again next time
        kept._save_data(name, data)
        kept._save_index({**kept._load_index(), key: name})


def device_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that only kernels call. It gets no Python wrapper, which would take as long to compile as the body."""
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A device function that is always inlined into its callers.

    A device function that is not inlined is emitted in every caller's module as well (linkonce_odr). LLVM may optimize
    those copies differently, and a process runs whichever was loaded first. Where they would sum in different orders,
    a process that compiles a kernel would get other bits than one that loads it from disk. An inlined function has no
    second copy.
    """
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)


DONE = np.int64(1)
Kinds = tuple[Any, ...]


class IndirectKernel:
    """A kernel that other kernels call by its address, so that there is one copy of it, however many call it.

    Linked into its callers it would be compiled again in each of them, and two copies may round differently. It returns
    DONE. When it raises (out of memory), numba returns 0 instead.

    kinds  (real type, vectors per head) -> the types of its arguments
    call   an intrinsic (address, tuple of arguments) for kernels, which need it under a global name
    """

    def __init__(self, function: Callable[..., Any], kinds: Callable[[Any, int], Kinds]) -> None:
        self.kinds = kinds
        self.compiled: Any = kernel(function, no_cpython_wrapper=True)
        self.address = functools.cache(self._address)
        self.call = _caller_of(function.__qualname__, kinds)

    def _address(self, dtype: Any, vectors: int = 0) -> int:
        """Where it stands, compiled for this type of numbers; valid until the process ends."""
        kinds = self.kinds(from_dtype(np.dtype(dtype)), vectors)
        self.compiled.compile(kinds)
        compiled = self.compiled.overloads[kinds]
        address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
        return address


def indirect_kernel(kinds: Callable[[Any, int], Kinds]) -> Callable[[Callable[..., Any]], IndirectKernel]:
    return lambda function: IndirectKernel(function, kinds)


def _caller_of(name: str, kinds: Callable[[Any, int], Kinds]) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def called(typing: Any, address: Any, arguments: Any) -> Any:
        given = [types.unliteral(kind) for kind in arguments.types]
        vectors = len(given[0]) if isinstance(given[0], types.BaseTuple) else 0
        possible = [kinds(real, vectors) for real in (types.float32, types.float64)]
        if [_writable(kind) for kind in given] not in [[_writable(kind) for kind in these] for these in possible]:
            raise TypeError(f"{name} is compiled for {possible[0]}, but called with {given}")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            numbers = [builder.extract_value(values[1], i) for i in range(len(given))]
            kind = ir.FunctionType(ir.IntType(64), [context.get_value_type(kind) for kind in given])
            return builder.call(builder.inttoptr(values[0], kind.as_pointer()), numbers)

        return types.int64(types.int64, arguments), generate

    return called


def _writable(kind: Any) -> Any:
    """The type of an argument as machine code sees it: a read-only array looks like any other."""
    if isinstance(kind, types.BaseTuple):
        return tuple(_writable(part) for part in kind)
    return kind.copy(readonly=False) if isinstance(kind, types.Array) else kind


@inlined
def check_done(done: Any) -> None:
    if done != DONE:
        raise MemoryError("a kernel ran out of memory; use smaller batches")


@kernel
def _no_op() -> None:
    """Its only use is its cache path."""


def kernel_directory() -> Path | None:
    """The directory compiled kernels are cached in; None if they are not cached."""
    path = _no_op.stats.cache_path  # type: ignore[attr-defined]
    return None if path is None else Path(path)


def has_cached_kernels() -> bool:
    """Whether an earlier run left compiled kernels on disk."""
    place = kernel_directory()
    return place is not None and place.is_dir() and next(place.glob("*.nbi"), None) is not None
