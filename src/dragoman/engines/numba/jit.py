"""How kernels are compiled."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

# No flag that would let the compiler assume that numbers are finite: checks must live.
BARE: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "arcp", "nsz"}}
SETTINGS: dict[str, Any] = {**BARE, "nogil": True}  # nogil: shards run on threads


def stamp_of(directory: Path) -> str:
    """What is compiled from these sources is theirs alone."""
    sources = sorted(directory.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


STAMP = stamp_of(Path(__file__).parent)


def kernel(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """Compiled when first called, and kept on disk until one of the engine's sources changes."""
    return _kept(function, {**SETTINGS, **more})


def brief(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that takes no longer than giving Python up would."""
    return _kept(function, BARE)


def callback(signature: str, function: Callable[..., Any]) -> CFunc:
    """A kernel that kernels call by its address, which is good as long as this lives."""
    made = CFunc(function, sigutils.normalize_signature(signature), locals={}, options=dict(BARE))
    with _in_memory_otherwise():
        made.enable_caching()
    _stamped(made).compile()
    return made


def _kept(function: Callable[..., Any], settings: dict[str, Any]) -> Callable[..., Any]:
    compiled: Any = njit(**settings)(function)
    with _in_memory_otherwise():
        compiled.enable_caching()
    result: Callable[..., Any] = _stamped(compiled)
    return result


@contextmanager
def _in_memory_otherwise() -> Iterator[None]:
    """Where no directory can be written, neither the package's nor the user's, kernels live as long as the process."""
    try:
        yield
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, address: Any, arguments: Any) -> Any:
    """What stands at an address, with a tuple of 64-bit integers: counts and places of numbers"""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        integers = [builder.extract_value(given[1], i) for i in range(len(arguments))]
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * len(integers))
        builder.call(builder.inttoptr(given[0], kind.as_pointer()), integers)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


def _stamped(compiled: Any) -> Any:
    """By itself numba looks at the file of the function alone, and would go on with what it has compiled of others."""
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = STAMP
        kept.save = functools.partial(_save, kept)
    return compiled


def _save(kept: Any, key: Any, data: Any) -> None:
    """As numba keeps what it has compiled, but under a name of its own.

    Numba numbers files by those it finds: two processes that compile at once would write two kernels to one of them,
    and whoever looks for the one later would find the other.
    """
    number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6])
    name = kept._data_name(number)
    with suppress(OSError):  # a full disk: the kernel is compiled again next time
        kept._save_data(name, data)
        kept._save_index({**kept._load_index(), key: name})


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that only kernels call: compiling a way in from Python takes as long as compiling the kernel itself."""
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A device function that becomes part of each of its callers.

    LLVM may optimise the copy of a function in its caller's module differently from the one in a module of its own, and
    a process runs whichever was loaded first. Where the two would sum in different orders, a process that
    compiles a kernel would get other bits than one that finds it on disk. An inlined function has no second copy.
    """
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)


DONE = np.int64(1)


def distant(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that others call by its address, which are compiled without it and need not know it.

    It returns DONE. Numba has it return 0 when it fails, for want of memory, and goes on.
    """
    return kernel(function, no_cpython_wrapper=True)


def address_of(function: Any, kinds: tuple[Any, ...]) -> int:
    """Of a distant kernel, compiled for arguments of these types; good as long as the process lives."""
    function.compile(kinds)
    compiled = function.overloads[kinds]
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
    return address


def caller_of(kinds_for: Callable[[Any], tuple[Any, ...]]) -> Any:
    """What calls a distant kernel: (its address, a tuple of arguments); DONE, or 0 where it failed

    kinds_for  from the type of the first argument to those of all for which the kernel was compiled
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def called(typing: Any, address: Any, arguments: Any) -> Any:
        given, expected = arguments.types, kinds_for(arguments.types[0])

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            machine = [context.get_value_type(kind) for kind in given]
            if machine != [context.get_value_type(kind) for kind in expected]:
                raise TypeError(f"a kernel compiled for {expected} is called with {given}")
            numbers = [builder.extract_value(values[1], i) for i in range(len(given))]
            kind = ir.FunctionType(ir.IntType(64), machine)
            return builder.call(builder.inttoptr(values[0], kind.as_pointer()), numbers)

        return types.int64(types.int64, arguments), generate

    return called


@kernel
def nothing() -> None:
    """Knows where kernels are kept."""


def place_of_kernels() -> Path | None:
    """The directory where kernels are kept; None where they live in memory alone."""
    path = nothing.stats.cache_path  # type: ignore[attr-defined]
    return None if path is None else Path(path)


def compiled_before() -> bool:
    """Whether kernels lie on disk from an earlier run."""
    place = place_of_kernels()
    return place is not None and place.is_dir() and next(place.glob("*.nbi"), None) is not None
