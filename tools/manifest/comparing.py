"""The differences of two recordings."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PRINTED_ALONE = "costs"  # measured, so never equal
FAILED = "FAILED"  # a key of a section that an error ended
MISSING = "(missing)"
WIDTH = 1000  # characters of a value that are shown
MOST = 60  # differences of a section that are shown


def load(place: Path) -> dict[str, dict[str, Any]]:
    """The sections of a recording."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(place.glob("*.json"))}


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested dictionaries and lists, by the path to it."""
    if isinstance(value, dict | list) and value:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flat(each, f"{name} / {key}" if name else str(key))
    else:
        yield name, value


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(key, old, new) of everything in a section that is not the same."""
    before, now = dict(flat(old)), dict(flat(new))
    for key in sorted(before.keys() | now.keys()):
        if before.get(key, MISSING) != now.get(key, MISSING):
            yield key, before.get(key, MISSING), now.get(key, MISSING)


def shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ... ({len(text)} characters)"


def described(old: Any, new: Any) -> str:
    """Both values, or the lines that differ where both have several."""
    if isinstance(old, str) and isinstance(new, str) and "\n" in old and "\n" in new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        return "\n".join(f"    {line}" for line in list(lines)[2:])
    return f"    old  {indented(shown(old))}\n    new  {indented(shown(new))}"


def compare(old: Path, new: Path, most: int | None = MOST) -> int:
    """Print the differences, of each section so many; the exit code."""
    before, now = load(old), load(new)
    common = [name for name in before if name in now]
    if not common:
        print(f"{old} and {new} have no section in common")
        return 1
    for name in sorted(before.keys() ^ now.keys()):
        print(f"not compared: {name} is only in {old if name in before else new}")
    total = 0
    for name in common:
        if name == PRINTED_ALONE:
            continue
        found = list(differences(before[name], now[name]))
        total += len(found)
        print(f"{name}: {f'{len(found)} differences' if found else f'equal ({len(dict(flat(now[name])))} values)'}")
        for place, one in ((old, before), (new, now)):
            if FAILED in one[name]:
                print(f"  {place} is not complete: {one[name][FAILED]}")
                total += 1
        for key, then, since in found[:most]:
            print(f"  {name} / {key}\n{described(then, since)}")
        if len(found) > len(found[:most]):
            print(f"  ... and {len(found) - len(found[:most])} more (--all shows them); in all, by their first names:")
            for first, count in Counter(" / ".join(key.split(" / ")[:2]) for key, *_ in found).items():
                print(f"    {count:>6}  {first}")
    if PRINTED_ALONE in common:
        print_side_by_side(before[PRINTED_ALONE], now[PRINTED_ALONE])
    return 1 if total else 0


def indented(text: str) -> str:
    return text.replace("\n", "\n         ")


def print_side_by_side(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The costs, which are measured."""
    print(f"{PRINTED_ALONE} (old, new):")
    before, now = dict(flat(old)), dict(flat(new))
    for key in sorted(before.keys() | now.keys()):
        print(f"  {key:<60} {shown(before.get(key, MISSING)):>24} {shown(now.get(key, MISSING)):>24}")
