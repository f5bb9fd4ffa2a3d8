"""Find equations by a word of their title, a ledger id, or the number they have in their document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches

from dragoman.analysis.audit.claim import Correction
from dragoman.analysis.audit.ledger import Ledger
from dragoman.analysis.audit.run import Equation
from dragoman.analysis.audit.sources import code_of
from dragoman.errors import DragomanError

NEAR = 5  # suggestions where nothing matches
NUMBER = re.compile(r"\(?(\d+(?:\.\d+)+)\)?")


class NoEquation(DragomanError):
    """A query that no equation matches."""


def look_up(query: str, equations: Sequence[Equation], ledger: Ledger) -> list[Equation]:
    """The equations of this id; else of this number; else with these words; else that call operations of this name."""
    for matches in (_by_id(query), _by_number(query, ledger), _by_words(query), _by_operation(query)):
        found = [equation for equation in equations if matches(equation)]
        if found:
            return found
    raise NoEquation(_nothing(query, equations, ledger))


def ids_of(equation: Equation) -> tuple[str, ...]:
    """A correction has the id of its erratum too."""
    return (equation.id, *equation.ids) if isinstance(equation, Correction) else equation.ids


Matches = Callable[[Equation], bool]


def _by_id(query: str) -> Matches:
    return lambda equation: query.casefold() in {i.casefold() for i in ids_of(equation)}


def _by_number(query: str, ledger: Ledger) -> Matches:
    """4.3.7 is in T-4.3.7-LNx and in (4.3.7), but not in (4.3.71)."""
    number = NUMBER.fullmatch(query.strip())
    if number is None:
        return lambda equation: False
    alone = re.compile(rf"(?<![\d.]){re.escape(number[1])}(?!\d|\.\d)")
    return lambda equation: any(
        alone.search(text) for i in ids_of(equation) for text in (i, ledger.place(i) or "", equation.title)
    )


def _by_words(query: str) -> Matches:
    words = query.casefold().split()

    def matches(equation: Equation) -> bool:
        text = " ".join((equation.title, *ids_of(equation))).casefold()
        return bool(words) and all(word in text for word in words)

    return matches


def _by_operation(query: str) -> Matches:
    return lambda equation: query.casefold() in (code.name for code in code_of(equation.check))


def _nothing(query: str, equations: Sequence[Equation], ledger: Ledger) -> str:
    statement = ledger.statement(query)
    if statement is not None:
        return f"{query} is in the ledger ({statement}), but the audit runs no equation of it"
    known = {i.casefold(): i for equation in equations for i in ids_of(equation)}
    known |= {word: word for equation in equations for word in re.findall(r"\w{3,}", equation.title.casefold())}
    near = [known[name] for name in get_close_matches(query.casefold(), known, NEAR, 0.55)]
    advice = f"near matches: {', '.join(near)}" if near else "give a word, a ledger id or an equation number"
    return f"no equation matches '{query}'; {advice} (`dragoman check` lists all)"
