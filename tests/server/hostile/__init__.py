"""Strategies for what a hostile stranger sends to a server."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.server.fuzzing import Message
from tests.server.hostile.bodies import deep_messages, form_messages, json_messages, multipart_messages
from tests.server.hostile.http import path_messages, raw_messages, request
from tests.server.hostile.predictions import prediction_messages

MEBIBYTE = 2**20
LARGE = [
    ("/translate", '{"source":"en","target":"es","q":"', "😀", '"}'),
    ("/translate", '{"q":[', "[],", "1]}"),
    ("/translate", "source=en&target=es&q=", "%F0%9F%98%80", ""),
    ("/translate", "", "a=b&", ""),
    ("/v1/translate", '{"text":"', "\\ud83d\\ude00", '"}'),
    ("/v1/translate", '{"text":', "[", ""),
    ("/v1/features", '{"texts":[', "1,", "1]}"),
    ("/v1/score", '{"pairs":[', "{},", "{}]}"),
    ("/v1/detect", "{", '"a":1,', '"b":1}'),
    ("/v1/predict", '{"series":{"columns":{"visitors":[', "1e999,", "1]}}}"),
    ("/v1/predict", '{"csv":"', "1,2\\n", '"}'),
]


def messages() -> st.SearchStrategy[Message]:
    """All kinds but the large ones."""
    kinds = [json_messages, deep_messages, form_messages, multipart_messages, prediction_messages, path_messages]
    return st.sampled_from([*kinds, json_messages, raw_messages]).flatmap(lambda kind: kind())


def large_message(number: int) -> Message:
    """1, 7 or 10 megabytes: of emoji, of brackets, of mistakes. The largest are more than a server takes."""
    path, begin, item, end = LARGE[number % len(LARGE)]
    size = (1, 7, 10)[number // len(LARGE) % 3] * MEBIBYTE
    kind = "application/json" if begin.startswith("{") else "application/x-www-form-urlencoded"
    body = (begin + item * (size // len(item.encode())) + end).encode()
    return Message("megabytes", request(path, body, kind))
