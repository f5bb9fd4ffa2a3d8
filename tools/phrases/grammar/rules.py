"""All rules of the grammar, from the modules that define them."""

from __future__ import annotations

from tools.phrases.grammar import (  # noqa: F401  (importing a module adds its rules)
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
from tools.phrases.grammar.core import RULES as _ADDED
from tools.phrases.grammar.core import Rule

RULES: tuple[Rule, ...] = tuple(sorted(_ADDED, key=lambda rule: rule.name))
