"""The steps of a whole pass through a Transformer, and what runs them for a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.attending import lane_of
from dragoman.engines.numba.passes.stacks import Stack
from dragoman.engines.numba.passes.steps import addresses, run
from dragoman.engines.numba.passes.tape import LINE, SIZE, TOLD, Matrix, Tape, told
from dragoman.engines.numba.products import products_of
from dragoman.graph import Array
from dragoman.operations.dropout import DropoutKey
from dragoman.operations.fused_search import ModelSpec
from dragoman.operations.fused_step import Sequences

FIRST_SETTING = ModelSpec._fields.index("depth")  # what comes before are numbers and where they begin
MOST_PROGRAMS = 4  # that are remembered
NONE = np.empty((0, 0), np.float32)
_programs: dict[tuple[Any, ...], Program] = {}


class Program:
    """Forward through the encoders and the decoders; back through the decoders; back through the encoders."""

    def __init__(self, flat: ModelSpec, rate: float, sites: Array) -> None:
        flat = flat._replace(theta=NONE, source_positions=NONE, reference_positions=NONE)  # those may go any time
        width = flat.depth // flat.heads
        tape = Tape(addresses(width // 8))
        self.encoder = Stack(tape, flat, rate, sites[0])
        memory = self.encoder.forward()
        self.decoder = Stack(tape, flat, rate, sites[1], memory)
        self.output, self.dx = self.decoder.forward(), tape.room(told("n"), flat.depth)
        self.parts = {"forward": (0, len(tape))}
        self.dmemory, embedded = tape.room(told("m"), flat.depth), {}
        for name, stack, dy in (("decoders", self.decoder, self.dx), ("encoders", self.encoder, self.dmemory)):
            begun = len(tape)
            embedded[name] = stack.backward(dy, self.dmemory if stack.fused_search else None)
            self.parts[name] = begun, len(tape)
        self.embedded = embedded
        self.lane = lane_of(width)
        self.look = 4 * width + 2  # numbers that attention needs for each key
        places = [word for matrix in tape.matrices for word in (matrix.at, matrix.rows)]
        self.words, self.count = np.array([*tape.words, *places]), len(tape.words)
        used = dict(zip(TOLD, tape.used.tolist(), strict=True))
        self.used: tuple[int, int, int] = used["one"], used["m"], used["n"]
        self.addresses = np.array(tape.addresses)
        self.starts, self.float_starts = np.array(tape.starts), np.array(tape.float_starts)
        self.floats = np.array(tape.floats, np.float32)

    def size(self, m: int, n: int) -> int:
        """Bytes that are kept of so many rows of sources and references."""
        fixed, of_source, of_reference = self.used
        return fixed + of_source * m + of_reference * n


def program_of(flat: ModelSpec, rate: float, sites: Array) -> Program:
    """The one for such a network, made when there is none."""
    tables = flat.ends, flat.encoders, flat.decoders, sites
    key = (rate, products_of(NONE.dtype), *flat[FIRST_SETTING:], *(table.tobytes() for table in tables))
    program = _programs.get(key)
    if program is None:
        for oldest in list(_programs)[: 1 - MOST_PROGRAMS]:
            _programs.pop(oldest, None)
        program = _programs[key] = Program(flat, rate, sites)
    return program


class Pass:
    """A program at work on a batch."""

    def __init__(
        self,
        program: Program,
        flat: ModelSpec,
        source: Sequences,
        reference: Sequences,
        longest: int,
        noise: DropoutKey | None,
    ) -> None:
        self.program, self.given = program, (source, reference)  # their arrays are read until the end
        m, n = len(source.labels), len(reference.labels)
        self.room = np.empty(program.size(m, n) // SIZE + LINE, np.float32)
        self.look = np.empty(longest * program.look, np.float32)
        begun = _address(self.room)
        self.begun = begun + -begun % (LINE * SIZE)
        values = {
            "one": 1,
            "work": self.begun,
            "theta": _address(flat.theta),
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
            "added": _address(flat.reference_positions),
            "added_rows": len(flat.reference_positions),
            "source_added": _address(flat.source_positions),
            "source_added_rows": len(flat.source_positions),
            "look": _address(self.look),
            "key": 0 if noise is None else noise.key,
        }
        self.words = program.words @ np.array([values[name] for name in TOLD], np.int64)
        places = self.words[program.count :].reshape(-1, 2)
        places[:, 0] = (places[:, 0] - begun) // SIZE
        self.places = places.tolist()

    def run(self, name: str) -> None:
        program = self.program
        lists = self.words, program.starts, program.floats, program.float_starts
        if not run(program.lane, program.addresses, *lists, *program.parts[name]):
            raise MemoryError("a pass of training has too little memory to work with; give it smaller batches")

    def array(self, matrix: Matrix) -> Array:
        """A matrix of the program, as it lies in the room."""
        first, rows = self.places[matrix.number]
        return self.room[first : first + rows * matrix.columns].reshape(rows, matrix.columns)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
