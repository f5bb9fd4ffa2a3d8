"""Requests made from a description of routes, by schemathesis; its pytest plugin, which slows every start, is off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings

VALID, INVALID = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE


def operations(description: dict[str, Any], app: FastAPI, **include: Any) -> dict[str, Any]:
    """Each route and method of a description, by name. No key is sent: the application needs none."""
    routes = [route for methods in description["paths"].values() for route in methods.values()]
    for route in routes:
        route.pop("security", None)
    schema = schemathesis.openapi.from_dict(description)
    schema.app = app
    chosen = schema.include(**include) if include else schema
    return {found.ok().label: found.ok() for found in chosen.get_all_operations()}


def send_some(operation: Any, mode: schemathesis.GenerationMode, count: int, check: Callable[[Any], None]) -> None:
    """Let a check send some requests that the description allows, or that it does not."""

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        check(case)

    run()
