"""The tape of a whole training step of a Transformer, and one run of it for a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.fused_step import Sequences
from dragoman.engines.numba.fused_step.kernel_calls import addresses, long_addresses, run
from dragoman.engines.numba.fused_step.layers import LayerStack
from dragoman.engines.numba.fused_step.tape import LINE, SIZE, SYMBOLS, Matrix, Tape, symbol
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.numba.kernels.attention.arguments import LONG
from dragoman.engines.numba.ops.attention import head_vectors_of
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array
from dragoman.operations.dropout import DropoutKey

FIRST_SETTING = ModelSpec._fields.index("depth")  # the fields before it are arrays
MOST_PROGRAMS = 4  # in the cache
NONE = np.empty((0, 0), np.float32)
_programs: dict[tuple[Any, ...], Program] = {}


class Program:
    """Three parts: forward; backward through the decoders; backward through the encoders."""

    def __init__(self, spec: ModelSpec, rate: float, sites: Array) -> None:
        spec = spec._replace(
            theta=NONE, source_positions=NONE, reference_positions=NONE
        )  # keep no array of the network alive
        width = spec.depth // spec.heads
        tape = Tape(addresses(width // 8))
        self.encoder = LayerStack(tape, spec, rate, sites[0])
        memory = self.encoder.forward()
        self.decoder = LayerStack(tape, spec, rate, sites[1], memory)
        self.output, self.dx = self.decoder.forward(), tape.buffer(symbol("n"), spec.depth)
        self.parts = {"forward": (0, len(tape))}
        self.dmemory, embedded = tape.buffer(symbol("m"), spec.depth), {}
        for name, stack, dy in (("decoders", self.decoder, self.dx), ("encoders", self.encoder, self.dmemory)):
            begun = len(tape)
            embedded[name] = stack.backward(dy, self.dmemory if stack.is_decoder else None)
            self.parts[name] = begun, len(tape)
        self.embedded = embedded
        self.head_vectors = head_vectors_of(width)
        self.attention_work = 4 * width + 2  # float32 of workspace per key
        places = [argument for matrix in tape.matrices for argument in (matrix.at, matrix.rows)]
        self.arguments, self.count = np.array([*tape.arguments, *places]), len(tape.arguments)
        used = dict(zip(SYMBOLS, tape.used.tolist(), strict=True))
        self.used: tuple[int, int, int] = used["one"], used["m"], used["n"]
        self.addresses = np.array(tape.addresses)
        self.starts, self.float_starts = np.array(tape.starts), np.array(tape.float_starts)
        self.floats = np.array(tape.floats, np.float32)

    def size(self, m: int, n: int) -> int:
        """Bytes of all buffers for m source rows and n reference rows."""
        fixed, of_source, of_reference = self.used
        return fixed + of_source * m + of_reference * n


def program_of(spec: ModelSpec, rate: float, sites: Array) -> Program:
    """The program for such a network, from the cache or new."""
    tables = spec.ends, spec.encoders, spec.decoders, sites
    key = (rate, gemm_addresses(NONE.dtype), *spec[FIRST_SETTING:], *(table.tobytes() for table in tables))
    program = _programs.get(key)
    if program is None:
        for oldest in list(_programs)[: 1 - MOST_PROGRAMS]:
            _programs.pop(oldest, None)
        program = _programs[key] = Program(spec, rate, sites)
    return program


class ProgramRun:
    """A program with the buffers and arguments of one batch."""

    def __init__(
        self,
        program: Program,
        spec: ModelSpec,
        source: Sequences,
        reference: Sequences,
        longest: int,
        noise: DropoutKey | None,
    ) -> None:
        self.program, self.given = program, (source, reference)  # kept alive: kernels read their arrays
        m, n = len(source.labels), len(reference.labels)
        self.buffer = np.empty(program.size(m, n) // SIZE + LINE, np.float32)
        self.attention_work = np.empty(longest * program.attention_work, np.float32)
        begun = _address(self.buffer)
        self.begun = begun + -begun % (LINE * SIZE)
        values = {
            "one": 1,
            "work": self.begun,
            "theta": _address(spec.theta),
            "n": n,
            "m": m,
            "sequences": len(source.offsets) - 1,
            "longest": longest,
            "labels": _address(reference.labels),
            "offsets": _address(reference.offsets),
            "first_row": reference.first_row,
            "source_labels": _address(source.labels),
            "source_offsets": _address(source.offsets),
            "source_row": source.first_row,
            "added": _address(spec.reference_positions),
            "added_rows": len(spec.reference_positions),
            "source_added": _address(spec.source_positions),
            "source_added_rows": len(spec.source_positions),
            "attention_work": _address(self.attention_work),
            "key": 0 if noise is None else noise.key,
            "attend_long": 0,
            "attend_long_backward": 0,
            **(long_addresses() if longest >= LONG else {}),
        }
        self.arguments = program.arguments @ np.array([values[name] for name in SYMBOLS], np.int64)
        places = self.arguments[program.count :].reshape(-1, 2)
        places[:, 0] = (places[:, 0] - begun) // SIZE
        self.places = places.tolist()

    def run(self, name: str) -> None:
        program = self.program
        lists = self.arguments, program.starts, program.floats, program.float_starts
        if not run(program.head_vectors, program.addresses, *lists, *program.parts[name]):
            raise MemoryError("a training step ran out of memory; use smaller batches")

    def array(self, matrix: Matrix) -> Array:
        """A matrix of the program, as a view of the buffers."""
        first, rows = self.places[matrix.number]
        return self.buffer[first : first + rows * matrix.columns].reshape(rows, matrix.columns)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
