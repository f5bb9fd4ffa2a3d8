"""Words of a hostile stranger."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = [
    "red house", "", " ", "\x00", "\x1b[31m", "\ud800", "a\udfff", "\ufeff", "\u202e", "😀" * 50, "e" + "\u0301" * 500,
    "auto", "en", "<script>alert(1)</script>", "' or 1=1 --", "${jndi:ldap://x}", "{{7*7}}", "%s%n", "a" * 3000,
    "red. " * 300, "\n" * 500, "\u2028", "NaN", "-0", "1e999", "٣", "ﷺ" * 20, "&lt;" * 100, "ß" * 100, "İ" * 50,
    "\U0010ffff", "=cmd|' /C calc'!A0", "zz", "red <b>house</b> {name} 3.5 https://x.y/z",
]  # fmt: skip
NAMES = [
    "../../etc/passwd", "..\\..\\windows\\win.ini", "C:\\", "\x00", "a\x00.txt", "%00", "%2e%2e%2f", "....//", ".txt",
    "", "a" * 5000 + ".txt", "\u202etxt.exe", "con.txt", "a\r\nX-Evil: 1.txt", '"; filename="b.html', "\ud800.html",
    "/", "..", "<script>alert(1)</script>.html", "🎉.html", "{{7*7}}.txt", "$(id).txt", "a.html", "a.txt", "a.HTM",
]  # fmt: skip
NUMBERS = [0, -1, 1, 2, 10**9, 2**63, 10**400, 1e308, -1e-320, float("nan"), float("inf"), True, None]


def texts() -> st.SearchStrategy[str]:
    return st.sampled_from(TEXTS) | st.text(max_size=40) | st.text(st.characters(), max_size=20)


def values() -> st.SearchStrategy[Any]:
    """What JSON can hold, and what Python's reader takes for it."""
    leaves = st.sampled_from(NUMBERS) | texts() | st.integers() | st.floats()
    names = st.sampled_from(["source", "target", "columns", "q"]) | texts()
    return leaves | st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=8
    )
