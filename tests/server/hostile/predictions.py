"""Images and tables that claim to be large, are damaged, or are something else."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from hypothesis import strategies as st

from tests.server.fuzzing import Message
from tests.server.hostile.http import request

SIZES = [(8, 8)] * 6 + [(60_000, 60_000), (2**31 - 1, 1), (0, 5), (1, 2**20), (5_000, 5_000)]
LAYOUTS = [(8, 0)] * 4 + [(8, 2), (8, 6), (16, 0), (1, 3), (7, 9)]  # bits and kind of colour
CHUNKS = [
    (b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 9_000_000)),
    (b"tRNS", b""),
    (b"acTL", b"\0\0\0\xff" * 2),
    (b"eXIf", b"MM\0*"),
]
CELLS = [
    "1",
    "2.5",
    "",
    "nan",
    "1e400",
    "-inf",
    "2024-01-01",
    "9999-12-31",
    '"',
    '""',
    "=1+1",
    "a,b",
    "\x00",
    "1_0",
    "١",
]
HEADERS = ["date,visitors,sales\n"] * 4 + ["visitors,sales\n", "", "visitors,visitors\n", "\ufeffdate;visitors;sales\n"]
DAYS = "".join(f"2024-01-{i:02},{i},{i / 2}\n" for i in range(1, 32))
LINES = ["\n", "\n", "\r\n", "\r", "\n\n", "\u2028"]


@st.composite
def images(draw: st.DrawFn) -> bytes:
    """PNG files, and what begins like them."""
    width, height = draw(st.sampled_from(SIZES))
    bits, colour = draw(st.sampled_from(LAYOUTS))
    rows = zlib.compress(b"\0" * draw(st.sampled_from([72, 72, 72, 10, 0, 2_000_000])))
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, draw(st.sampled_from([0, 0, 0, 1, 7])))
    more = draw(st.sampled_from([[]] * 4 + [[chunk] for chunk in CHUNKS]))
    chunks = [(b"IHDR", header), *more, (b"IDAT", rows), (b"IEND", b"")]
    written = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(written)
    odd = [data[:40], data[:9], b"\xff\xd8\xff" + data, b"GIF89a" + data, b"<svg/>", data[::-1]]
    return draw(st.sampled_from([data] * 8 + odd))


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Tables with odd cells, headers, ends of lines and lengths."""
    rows = draw(st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), max_size=4))
    rows = rows * draw(st.sampled_from([0, 1, 30]))
    comma, line = draw(st.sampled_from([",", ",", ";", "\t", "|", " "])), draw(st.sampled_from(LINES))
    text = draw(st.sampled_from(HEADERS)) + DAYS * draw(st.sampled_from([0, 1, 1, 1, 40]))
    text += line.join(comma.join(row) for row in rows)
    return (text + draw(st.sampled_from([""] * 6 + ["\n", "1," * 3000, '"' + "x" * 200_000]))).encode()


@st.composite
def prediction_messages(draw: st.DrawFn) -> Message:
    """Images and tables within JSON."""
    given: dict[str, Any]
    if draw(st.booleans()):
        image = base64.b64encode(draw(images())).decode()
        shown = draw(st.sampled_from([image] * 5 + [image[:-1], "data:image/png;base64," + image, "*"]))
        flags = {name: draw(st.booleans()) for name in ("resize", "attention")}
        given = {"images": [shown], "model": draw(st.sampled_from(["shapes", "captions"])), **flags}
    else:
        column = st.lists(st.sampled_from([0, 1, -5, 1e300, 1e-300, None, 5e307]) | st.floats(-1e6, 1e6), min_size=40)
        two = {"visitors": draw(column), "sales": draw(column)}
        rows = min(map(len, two.values()))
        series = {"columns": {name: values[:rows] for name, values in two.items()}}
        table = {"csv": draw(tables()).decode("utf-8", "replace") or "x"}
        given = draw(st.sampled_from([table, {"series": series}]))
        given |= {"fill": draw(st.sampled_from([None, "linear", "seasonal"]))}
        given |= {"horizon": draw(st.sampled_from([None, 1, 2000])), "level": draw(st.sampled_from([90, 50, 99.9]))}
    return Message("prediction", request("/v1/predict", json.dumps(given).encode()))
