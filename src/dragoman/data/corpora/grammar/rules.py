"""All rules of the grammar, from the modules that define them."""

from __future__ import annotations

from dragoman.data.corpora.grammar import (  # noqa: F401  (importing a module adds its rules)
    asking,
    being,
    comparing,
    counting,
    doing,
    enquiring,
    having,
    joining,
    moving,
    persons,
    placing,
    telling,
    wanting,
)
from dragoman.data.corpora.grammar.core import RULES as _ADDED
from dragoman.data.corpora.grammar.core import Rule

RULES: tuple[Rule, ...] = tuple(sorted(_ADDED, key=lambda rule: rule.name))
