"""Registers the programs of this engine."""

from __future__ import annotations

from typing import Any

from dragoman.engines import programs
from dragoman.engines.numba.gemm import blas
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.numba.programs import kernels, python_calls
from dragoman.engines.numba.programs.program import Program, ProgramRun


def _reason(network: Any) -> str:
    """Why no program is made for a network, whatever it computes."""
    theta = network.theta.values
    if blas.GEMM is None:
        return "NumPy's BLAS is not the OpenBLAS of its wheels"
    if theta.dtype != kernels.SINGLE:
        return f"the kernels compute in float32, not in {theta.dtype}"
    return "" if theta.flags.c_contiguous else "the parameters are not contiguous"


def _key() -> Any:
    """What programs depend on besides the network: the addresses of matrix products."""
    return gemm_addresses(kernels.SINGLE)


programs.PROGRAM_ENGINES["numba"] = programs.Engine(
    kernels.KERNELS | python_calls.CALLED_FROM_PYTHON, Program, ProgramRun, _key, _reason
)
