"""What Python code reads while a network is traced is constant, or compared before each use, or read by the graph."""

from __future__ import annotations

import functools
import gc
import math
import operator
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from pydantic import PrivateAttr

from dragoman import Transformer
from dragoman.engines import explain_path, programs, reads
from dragoman.engines.constants import is_constant
from dragoman.graph import dispatched, value_of
from dragoman.layers import Perceptron
from dragoman.networks import Network
from dragoman.networks.network import Configuration
from dragoman.operations import add, embed
from tests.engines.test_program_limits import check_equal, network_of, reason_of
from tests.engines.test_programs import INDEX, batch, by_program, check_bits, made

THIS = sys.modules[__name__]
DOUBLED = False
SWITCHES = [False]
switches = ModuleType("switches")
inner = ModuleType("switches.inner")


class Switched(type):
    everywhere = False


class Switch(metaclass=Switched):
    on = False
    later_on = False
    holders: ClassVar[list[bool]] = [False]

    @staticmethod
    def decide() -> bool:
        return False

    @property
    def value(self) -> bool:
        return False


@dataclass(frozen=True)
class Fixed:
    """Its fields are constants, but not its class."""

    def doubled(self) -> bool:
        return False


def helper(x: Any) -> Any:
    return x


helper.on = False  # type: ignore[attr-defined]
helper.holders = SWITCHES  # type: ignore[attr-defined]


def other_helper(x: Any) -> Any:
    return add(x, x)


def chosen(x: Any, on: bool = False) -> Any:
    return add(x, x) if on else x


def chosen_by_name(x: Any, *, on: bool = False) -> Any:
    return add(x, x) if on else x


def chosen_by_list(x: Any, on: list[bool] = SWITCHES) -> Any:
    return add(x, x) if on[0] else x


def chosen_by_class(x: Any, switch: type = Switch) -> Any:
    return add(x, x) if switch.on else x  # type: ignore[attr-defined]


@dispatched
def decided() -> bool:
    return False


def closed(on: bool) -> tuple[Callable[[Any], Any], Callable[[], None]]:
    def choose(x: Any) -> Any:
        return add(x, x) if on else x

    def turn_on() -> None:
        nonlocal on
        on = True

    return choose, turn_on


closure, turn_on = closed(False)
COUNT = 0


def counting(self: Any, x: Any, batch: Any) -> Any:
    global COUNT
    COUNT += 1
    return add(x, x) if COUNT > 1 else x


def remembering(self: Any, x: Any, batch: Any) -> Any:
    Switch.on = not Switch.on
    return add(x, x) if Switch.on else x


def through_items(self: Any, x: Any, batch: Any) -> Any:
    return add(x, x) if globals()["DOUBLED"] else x


def importing(self: Any, x: Any, batch: Any) -> Any:
    from tests.engines.test_sealing import SWITCHES as found

    return add(x, x) if found[0] else x


def double(self: Any, x: Any, batch: Any = None) -> Any:
    return add(x, x)


def doubled_perceptron(self: Any, x: Any, compute: Any = Perceptron.__call__) -> Any:
    return double(self, compute(self, x))


def doubled_encoding(self: Any, *given: Any) -> Any:
    memory, source = Transformer._encode(self, *given)
    return add(memory, memory), source


# what a network does with its rows, what changes later, and why the graph trains it
CASES: dict[str, tuple[Any, Callable[[pytest.MonkeyPatch, Any], Any], str]] = {
    "a global number": (
        lambda self, x, batch: add(x, x) if DOUBLED else x,
        lambda patch, network: patch.setattr(THIS, "DOUBLED", True),
        "",
    ),
    "a global function": (
        lambda self, x, batch: helper(x),
        lambda patch, network: patch.setattr(THIS, "helper", other_helper),
        "",
    ),
    "the code of a function": (
        lambda self, x, batch: helper(x),
        lambda patch, network: patch.setattr(helper, "__code__", other_helper.__code__),
        "",
    ),
    "a global that hides a builtin": (
        lambda self, x, batch: add(x, x) if max(1, 2) == 0 else x,
        lambda patch, network: patch.setattr(THIS, "max", lambda *_: 0, raising=False),
        "",
    ),
    "a default value": (
        lambda self, x, batch: chosen(x),
        lambda patch, network: patch.setattr(chosen, "__defaults__", (True,)),
        "",
    ),
    "a default value by name": (
        lambda self, x, batch: chosen_by_name(x),
        lambda patch, network: patch.setattr(chosen_by_name, "__kwdefaults__", {"on": True}),
        "",
    ),
    "a default value by name, in place": (
        lambda self, x, batch: chosen_by_name(x),
        lambda patch, network: patch.setitem(chosen_by_name.__kwdefaults__, "on", True),
        "",
    ),
    "an attribute of a function": (
        lambda self, x, batch: add(x, x) if helper.on else x,  # type: ignore[attr-defined]
        lambda patch, network: patch.setattr(helper, "on", True),
        "",
    ),
    "an attribute that a function has not yet": (
        lambda self, x, batch: add(x, x) if hasattr(helper, "added") else x,
        lambda patch, network: patch.setattr(helper, "added", True, raising=False),
        "",
    ),
    "an attribute of a metaclass": (
        lambda self, x, batch: add(x, x) if Switch.everywhere else x,
        lambda patch, network: patch.setattr(Switched, "everywhere", True),
        "",
    ),
    "an attribute of a class by a name that is computed": (
        lambda self, x, batch: add(x, x) if getattr(Switch, "_".join(("later", "on"))) else x,
        lambda patch, network: patch.setattr(Switch, "later_on", True),
        "",
    ),
    "an attribute of a class that is a default value": (
        lambda self, x, batch: chosen_by_class(x),
        lambda patch, network: patch.setattr(Switch, "on", True),
        "",
    ),
    "an attribute of a module in a module": (
        lambda self, x, batch: add(x, x) if switches.inner.on else x,
        lambda patch, network: patch.setattr(inner, "on", True),
        "",
    ),
    "an attribute of a module by its name": (
        lambda self, x, batch: add(x, x) if getattr(inner, "on") else x,  # noqa: B009
        lambda patch, network: patch.setattr(inner, "on", True),
        "",
    ),
    "an attribute of a global class": (
        lambda self, x, batch: add(x, x) if Switch.on else x,
        lambda patch, network: patch.setattr(Switch, "on", True),
        "",
    ),
    "a function of a global class": (
        lambda self, x, batch: add(x, x) if Switch.decide() else x,
        lambda patch, network: patch.setattr(Switch, "decide", staticmethod(lambda: True)),
        "",
    ),
    "a property": (
        lambda self, x, batch: add(x, x) if Switch().value else x,
        lambda patch, network: patch.setattr(Switch, "value", property(lambda self: True)),
        "",
    ),
    "a method of the network": (
        lambda self, x, batch: x,
        lambda patch, network: patch.setattr(type(network), "change", double),
        "",
    ),
    "a method added to the network's class": (
        lambda self, x, batch: x,
        lambda patch, network: patch.setattr(type(network), "_encode", doubled_encoding, raising=False),
        "",
    ),
    "a method of a layer": (
        lambda self, x, batch: x,
        lambda patch, network: patch.setattr(Perceptron, "__call__", doubled_perceptron),
        "",
    ),
    "a method of the class of a constant": (
        lambda self, x, batch: add(x, x) if self.own.doubled() else x,
        lambda patch, network: patch.setattr(Fixed, "doubled", lambda self: True),
        "",
    ),
    "a global list": (
        lambda self, x, batch: add(x, x) if SWITCHES[0] else x,
        lambda patch, network: SWITCHES.__setitem__(0, True),
        "the global 'SWITCHES' may change",
    ),
    "a list that is an attribute of a function": (
        lambda self, x, batch: add(x, x) if helper.holders[0] else x,  # type: ignore[attr-defined]
        lambda patch, network: SWITCHES.__setitem__(0, True),
        "helper: its attribute 'holders' may change",
    ),
    "a value of a parameter": (
        lambda self, x, batch: add(x, x) if self.reference_embedding.table.value[0, 0] > 50 else x,
        lambda patch, network: network.reference_embedding.table.value.fill(51),
        "<lambda>: it reads values of parameters, which every step changes",
    ),
    "a value of a parameter, by value_of": (
        lambda self, x, batch: add(x, x) if value_of(self.reference_embedding.table)[0, 0] > 50 else x,
        lambda patch, network: network.reference_embedding.table.value.fill(51),
        "<lambda>: it reads values of parameters, which every step changes",
    ),
    "theta": (
        lambda self, x, batch: add(x, x) if self.theta.values.max() > 50 else x,
        lambda patch, network: network.theta.values.put(0, 51),
        "<lambda>: it reads values of parameters, which every step changes",
    ),
    "a list as a default value": (
        lambda self, x, batch: chosen_by_list(x),
        lambda patch, network: SWITCHES.__setitem__(0, True),
        "chosen_by_list: a default value may change",
    ),
    "a list in a class": (
        lambda self, x, batch: add(x, x) if Switch.holders[0] else x,
        lambda patch, network: Switch.holders.__setitem__(0, True),
        "Switch: the class attribute 'holders' may change",
    ),
    "a variable of an enclosing function": (
        lambda self, x, batch: closure(x),
        lambda patch, network: turn_on(),
        "closed.<locals>.choose: 'on', a variable of an enclosing function, may change",
    ),
    "a function that an object holds": (
        lambda self, x, batch: add(x, x) if decided() else x,
        lambda patch, network: patch.setattr(decided, "definition", lambda: True),
        "decided: a function that is no attribute of a layer, class or module",
    ),
    "globals()": (
        through_items,
        lambda patch, network: patch.setattr(THIS, "DOUBLED", True),
        "the global 'globals' may change",
    ),
    "a generator of its own": (
        lambda self, x, batch: add(x, x) if np.random.default_rng(int(DOUBLED)).random() < 0.6 else x,
        lambda patch, network: patch.setattr(THIS, "DOUBLED", True),
        "numpy.random",
    ),
}


@pytest.fixture(autouse=True)
def switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (switches, inner):
        monkeypatch.setattr(module, "on", False, raising=False)
    monkeypatch.setattr(switches, "inner", inner, raising=False)
    monkeypatch.setattr(THIS, "COUNT", 0)
    monkeypatch.setattr(Switch, "on", False)
    SWITCHES[0] = Switch.holders[0] = False


@pytest.mark.parametrize("name", CASES)
def test_what_changes_after_a_step_is_honoured(numba: None, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    compute, change, reason = CASES[name]
    network, pairs = network_of(compute, own=Fixed()), batch()
    before = INDEX.differentiate(network, pairs)[0].error
    assert bool(reason) == bool(reason_of(network))
    assert reason in reason_of(network)
    change(monkeypatch, network)
    check_equal(network, pairs)
    assert INDEX.differentiate(network, pairs)[0].error != before


def test_a_variable_of_a_function_that_still_runs_is_honoured(numba: None) -> None:
    """That of this test, as that of a script's main function."""
    on = False
    network = network_of(lambda self, x, batch: add(x, x) if on else x)
    before = INDEX.differentiate(network, batch())[0].error
    assert "'on', a variable of an enclosing function, may change" in reason_of(network)
    on = True
    check_equal(network, batch())
    assert INDEX.differentiate(network, batch())[0].error != before


def within(self: Any, x: Any, batch: Any) -> Any:
    """Functions inside it, and what they read of it, are made anew by every call."""
    factor = 2

    def repeated(y: Any) -> Any:
        def once(z: Any) -> Any:
            return add(z, y)

        return [once(y) for _ in range(factor)][-1]

    return (lambda y: repeated(y))(x)


def test_functions_inside_a_method_are_part_of_it(numba: None) -> None:
    network = network_of(within)
    check_bits(network, batch())


def printing(self: Any, x: Any, batch: Any) -> Any:
    print("a step")  # noqa: T201
    return x


def through_its_dictionary(self: Any, x: Any, batch: Any) -> Any:
    on = self.__dict__["on"] = not self.__dict__.get("on", False)
    return add(x, x) if on else x


def through_object(self: Any, x: Any, batch: Any) -> Any:
    object.__setattr__(batch, "on", True)
    return x


@pytest.mark.parametrize(
    ("compute", "reason"),
    [
        (through_its_dictionary, "through_its_dictionary: it sets attributes, which a program would not repeat"),
        (through_object, "through_object: it sets attributes, which a program would not repeat"),
        (printing, "the global 'print' may change"),
        (counting, "counting: it sets the global 'COUNT', which a program would not repeat"),
        (remembering, "remembering: it sets the attribute 'on', which a program would not repeat"),
        (importing, "importing: it imports tests.engines.test_sealing, which a program would not repeat"),
        (lambda self, x, batch: add(x, x) if time.monotonic() > 1e15 else x, "time.time may change"),
    ],
)
def test_what_differs_in_every_step_is_left_to_the_graph(numba: None, compute: Any, reason: str) -> None:
    network = network_of(compute)
    assert by_program(network, batch()) is None
    assert reason in reason_of(network)


def test_a_network_that_changes_its_arrays_is_left_to_the_graph(numba: None) -> None:
    def compute(self: Any, x: Any, batch: Any) -> Any:
        np.multiply(self.own, 0.5, out=self.own)
        return add(x, embed(self.own, labels=batch.labels))

    network = network_of(compute, own=value_of(made().reference_embedding.table).copy())
    assert by_program(network, batch()) is None
    assert reason_of(network) == "it changes an array among its attributes"


class Unbound(Network):
    """Trains the parameters of another network."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.theta = inner, inner.theta

    def before_output(self, *given: Any) -> Any:
        return self.inner.before_output(*given)

    def __call__(self, *given: Any) -> Any:
        return self.inner(*given)


def test_a_network_that_is_not_bound_is_left_to_the_graph(numba: None) -> None:
    inner = made()
    network = Unbound(inner)
    assert by_program(network, batch()) is None
    assert explain_path(network, batch()).training_reason == (
        "its layers are not sealed; end its constructor with self._bind()"
    )
    check_equal(network, batch())


def profile(*_: Any) -> None:
    pass


@pytest.mark.parametrize("collects", [True, False])
def test_a_trace_leaves_profiles_and_garbage_collection_as_they_were(numba: None, collects: bool) -> None:
    def traced(before: Any) -> Any:
        programs._networks.pop(network, None)
        before()
        assert by_program(network, batch()) is not None
        found = sys.getprofile()
        sys.setprofile(None)
        return found

    network, restored = made(layers=1), []

    class Profiler:
        """As cProfile's up to Python 3.11: it is no function, and set by a method of its own."""

        def enable(self) -> None:
            restored.append(self)

    (gc.enable if collects else gc.disable)()
    try:
        assert traced(lambda: sys.setprofile(profile)) is profile
        assert traced(lambda: None) is None
        with pytest.MonkeyPatch.context() as patch:
            profiler = Profiler()
            patch.setattr(reads.sys, "getprofile", lambda: profiler)
            traced(lambda: None)
        assert restored == [profiler]
        assert gc.isenabled() == collects
    finally:
        sys.setprofile(None)
        gc.enable()


def with_list(x: Any, on: list[bool] = SWITCHES) -> Any:
    return x


def with_number(x: Any, *, on: bool = False) -> Any:
    return x


def with_list_by_name(x: Any, *, on: list[bool] = SWITCHES) -> Any:
    return x


@dataclass(frozen=True)
class Holding:
    value: Any


class Numbered(float):
    """Attributes of a number, of a text and of a tuple may be set."""


class Text(str):
    pass


class Pair(tuple[int, ...]):
    pass


class Kind(Enum):
    FIXED = 1, 2


class LooseKind(Enum):
    LISTED = [1]  # noqa: RUF012


class SettingsWithMore(Configuration):
    value: Any = 1
    _more: Any = PrivateAttr(1)


@dataclass
class Loose:
    value: Any = 1


class Loosened(Holding):
    def __init__(self) -> None:
        super().__init__(1)
        vars(self)["more"] = 2


class Settings(Configuration):
    value: Any = 1


@pytest.mark.parametrize(
    ("constant", "is_so"),
    [
        *(
            (each, True)
            for each in (1, 1.5, "a", b"a", None, ..., range(3), slice(1), int, np.float32(1), np.dtype("f4"))
        ),
        *((each, True) for each in ((1, ("a",)), frozenset([1]), Holding((1, 2)), Settings(), Holding(Settings()))),
        *(
            (each, True)
            for each in (max, len, math.sqrt, operator.add, np.zeros, np.add, np.diff, add, helper, with_number)
        ),
        *((each, True) for each in (functools.partial(helper, 1, x=2), Switch, Kind.FIXED)),
        *((each, False) for each in (Numbered(1), Text(), Pair(), LooseKind.LISTED, SettingsWithMore())),
        *((each, False) for each in ([1], {}, {1}, bytearray(1), (1, [2]), frozenset([closure]), object())),
        *((each, False) for each in (Holding([1]), Loose(), Loosened(), Settings(value=[1]), np.zeros(1), switches)),
        *((each, False) for each in (print, open, globals, time.time, random.random, np.random.rand, [].append)),
        *((each, False) for each in (np.random.default_rng, closure, with_list, with_list_by_name)),
        *(
            (each, False)
            for each in (functools.partial(helper, []), functools.partial(closure), functools.partial(helper, x=[]))
        ),
    ],
)
def test_what_is_constant(constant: Any, is_so: bool) -> None:
    assert is_constant(constant) is is_so
