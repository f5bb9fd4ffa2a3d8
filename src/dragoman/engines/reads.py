"""What a trace reads besides the sealed network and its arguments, and whether that has changed since.

A program repeats what Python code computed once. The layers of a bound network are sealed, but that code may also read
globals, attributes of modules and classes, and default arguments. While a network is traced, all code that runs is
noted. What it reads must be constant, and is compared by identity before every use of the program. Code that reads
anything else (lists and dictionaries, objects, variables of enclosing functions) cannot become a program.
"""

from __future__ import annotations

import builtins
import dis
import functools
import gc
import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import CodeType, FrameType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from dragoman.engines.constants import contents, is_constant
from dragoman.graph import Parameter, Theta, value_of
from dragoman.graph.symbol import TraceError

OWN_PACKAGE = "dragoman."
LOWER_PACKAGES = ("dragoman.engines", "dragoman.graph", "dragoman.operations")  # of networks and layers
EXAMINED_NOT = {  # packages whose code reads nothing that counts
    *("numpy", "pydantic", "pydantic_core", "abc", "builtins", "collections", "contextlib", "copy", "dataclasses"),
    *("enum", "functools", "inspect", "itertools", "numbers", "operator", "types", "typing", "_collections_abc"),
}
CONSTRUCTORS = "__init__", "__new__", "__post_init__"  # they may set attributes: of what they make


class Names(NamedTuple):
    """What a code object reads and writes, by name.

    loaded  globals     names  attributes, and strings that may name some     refused  what no program can repeat
    """

    loaded: tuple[str, ...]
    names: frozenset[str]
    refused: str


VALUES_OF_PARAMETERS = {vars(each)[name].fget.__code__ for each, name in ((Parameter, "value"), (Theta, "values"))}
DESCRIPTORS = MemberDescriptorType, GetSetDescriptorType, type(Names.loaded)  # the last one: of named tuples


@functools.lru_cache(maxsize=4096)
def _names_of(code: CodeType) -> Names:
    loaded, refused = dict[str, None](), ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded[instruction.argval] = None
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            refused = f"sets the global '{instruction.argval}'"
        elif name in ("STORE_ATTR", "DELETE_ATTR") and code.co_name not in CONSTRUCTORS:
            refused = f"sets the attribute '{instruction.argval}'"
        elif name == "IMPORT_NAME":
            refused = f"imports {instruction.argval}"
    if {"__setattr__", "__delattr__", "__dict__"} & {*code.co_names} and code.co_name not in CONSTRUCTORS:
        refused = "sets attributes"
    names = frozenset((*code.co_names, *(each for each in code.co_consts if isinstance(each, str))))
    return Names(tuple(loaded), names, refused)


def is_examined(module: str) -> bool:
    """Whether the code of a module may read what counts: that of networks, layers, errors and users."""
    return not module.startswith((*LOWER_PACKAGES, "namedtuple_")) and module.partition(".")[0] not in EXAMINED_NOT


_one_trace = threading.Lock()  # at a time


class Execution:
    """The code that ran, with its globals, and variables of functions around the caller that it read."""

    def __init__(self) -> None:
        self._outermost = id(sys._getframe(1))
        self.codes: dict[tuple[int, int], tuple[CodeType, dict[str, Any]]] = {}
        self.classes: dict[type, None] = {}  # those of `super()`
        self.outer: list[tuple[CodeType, str]] = []
        self.of_parameters: list[CodeType] = []  # what read values of parameters

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the code that this thread runs, without that of garbage collection, which may come at any time."""
        with _one_trace:
            before: Any = sys.getprofile()
            collects = gc.isenabled()
            gc.disable()
            sys.setprofile(self._note)
            try:
                yield
            finally:
                sys.setprofile(None)
                if collects:
                    gc.enable()
                if hasattr(before, "enable"):  # cProfile, which is no function
                    before.enable()
                elif before is not None:
                    sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code in VALUES_OF_PARAMETERS:
            self._note_reader(frame)
        if event != "call" or not is_examined(frame.f_globals.get("__name__", "")) or _is_generated(code):
            return
        self.codes[id(code), id(frame.f_globals)] = code, frame.f_globals
        for name in code.co_freevars:
            if name == "__class__":
                self.classes[frame.f_locals[name]] = None
            elif not self._is_local(frame, name):
                self.outer.append((code, name))

    def _note_reader(self, frame: FrameType) -> None:
        """Note the code that reads a value of a parameter; types and shapes of parameters are settings."""
        reader = frame.f_back
        if reader is not None and reader.f_code is value_of.__code__:
            reader = reader.f_back
        if reader is not None and is_examined(reader.f_globals.get("__name__", "")):
            self.of_parameters.append(reader.f_code)

    def _is_local(self, frame: FrameType, name: str) -> bool:
        """Whether a variable of an enclosing function belongs to a call that is noted too."""
        caller, value = frame.f_back, frame.f_locals.get(name)
        while caller is not None and id(caller) != self._outermost:
            if any(each is frame.f_code for each in caller.f_code.co_consts):
                return caller.f_locals.get(name, caller) is value
            caller = caller.f_back
        return False


def _is_generated(code: CodeType) -> bool:
    """Whether dataclasses made the code, of the fields of a class."""
    return code.co_qualname.startswith("__create_fn__.<locals>.")


class Watched(NamedTuple):
    """What is compared by identity before a program is used."""

    getters: tuple[Callable[[str], Any], ...] = ()
    names: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    namespaces: tuple[Any, ...] = ()  # of classes and functions
    sizes: tuple[int, ...] = ()
    functions: tuple[FunctionType, ...] = ()
    behaviours: tuple[Any, ...] = ()

    def unchanged(self) -> bool:
        return (
            all(map(operator.is_, map(operator.call, self.getters, self.names), self.values))
            and tuple(map(len, self.namespaces)) == self.sizes  # nothing was added to them
            and all(map(operator.is_, _behaviours(self.functions), self.behaviours))
        )


_behaviour = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")


def _behaviours(functions: Iterable[FunctionType]) -> Iterator[Any]:
    return chain.from_iterable(map(_behaviour, functions))


class Reads:
    """What the traces of a network read: entries of the namespaces of modules and classes, and functions."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, str], tuple[Callable[[str], Any], str, Any]] = {}
        self._names: set[str] = set()  # of attributes
        self._classes: dict[type, None] = {}
        self._functions: dict[int, FunctionType] = {}
        self._executed: set[int] = set()  # the ids of code objects, which functions keep alive
        self._watched = Watched()

    def hold(self) -> bool:
        """Whether all is as it was read."""
        return self._watched.unchanged()

    def add(self, execution: Execution, values: Iterable[Any]) -> None:
        """Take in what a trace read; raises TraceError if that may change unnoticed.

        values  objects whose classes it may have used: layers, what their attributes hold, the error
        """
        for code in execution.of_parameters:
            raise TraceError(f"{code.co_qualname}: it reads values of parameters, which every step changes")
        for code, name in execution.outer:
            raise _may_change(code.co_qualname, f"'{name}', a variable of an enclosing function,")
        for code, namespace in execution.codes.values():
            found = _names_of(code)
            if found.refused:
                raise TraceError(f"{code.co_qualname}: it {found.refused}, which a program would not repeat")
            self._names |= found.names
            self._executed.add(id(code))
            self._read_globals(code.co_qualname, found, namespace)
        for value in (*execution.classes, *values):
            self._take(value)
        found_before = -1
        while found_before < (found_now := len(self._classes) + len(self._functions)):
            found_before = found_now
            self._read_classes()
            self._read_functions()
        self._check_functions(code for code, _ in execution.codes.values())
        self._watched = self._to_watch()

    def _read_globals(self, where: str, found: Names, namespace: dict[str, Any]) -> None:
        """Read the globals of a function, and the attributes of those that are modules."""
        seen = set()
        waiting = [(namespace, name, f"the global '{name}'") for name in found.loaded]
        while waiting:
            space, name, what = waiting.pop()
            if (id(space), name) in seen:
                continue
            seen.add((id(space), name))
            self._read(space, name)
            value = space[name] if name in space else vars(builtins).get(name)
            if isinstance(value, ModuleType):
                attributes = sorted(found.names & vars(value).keys())
                waiting += [(vars(value), each, f"{value.__name__}.{each}") for each in attributes]
            elif not isinstance(value, FunctionType):
                self._settle(value, where, what)
            else:
                self._take(value)

    def _read_classes(self) -> None:
        """Read what the code that ran may find in classes, and in those that are found there.

        What it finds there by names that it computes is read too, in the classes of users.
        """
        read = set[type]()
        while left := self._classes.keys() - read:
            read |= left
            for each in left:
                is_own = each.__module__.startswith(OWN_PACKAGE)
                for name, value in list(vars(each).items()):
                    functions = _functions_of(value)
                    is_read = name in self._names or any(id(each.__code__) in self._executed for each in functions)
                    if is_read or not is_own:
                        self._entries[id(each), name] = vars(each).get, name, value
                    if is_read:
                        for function in functions:
                            self._take(function)
                        if not functions and not isinstance(value, DESCRIPTORS):
                            self._settle(value, each.__qualname__, f"the class attribute '{name}'")

    def _settle(self, value: Any, where: str, what: str) -> None:
        if not is_constant(value):
            raise _may_change(where, what)
        self._take(value)

    def _take(self, value: Any) -> None:
        """Note the functions in a value and the classes of all that is in it."""
        for part in contents(value):
            if isinstance(part, FunctionType):
                self._functions[id(part)] = part
            metaclass_or_class: type[Any] = type(part)
            classes = (*(part.__mro__ if isinstance(part, type) else ()), *metaclass_or_class.__mro__)
            # what type(...) makes of an abstract class belongs to "abc"
            self._classes |= {
                each: None for each in classes if is_examined(each.__module__) or each.__module__ == "abc"
            }

    def _check_functions(self, codes: Iterable[CodeType]) -> None:
        """Every function that ran is one that is watched, or is defined in one."""
        known, waiting = set[int](), [function.__code__ for function in self._functions.values()]
        while waiting:
            code = waiting.pop()
            if id(code) not in known:
                known.add(id(code))
                waiting += (each for each in code.co_consts if isinstance(each, CodeType))
        for code in codes:
            if id(code) not in known:
                raise TraceError(f"{code.co_qualname}: a function that is no attribute of a layer, class or module")

    def _read_functions(self) -> None:
        """Read the default values of functions that ran, and attributes that may be read of any function."""
        for function in list(self._functions.values()):
            for name in sorted(self._names & vars(function).keys()):
                self._read(vars(function), name)
                self._settle(vars(function)[name], function.__qualname__, f"its attribute '{name}'")
        for function in self._executed_functions():
            by_name = function.__kwdefaults__ or {}
            for name in by_name:
                self._read(by_name, name)
            for value in (*(function.__defaults__ or ()), *by_name.values()):
                self._settle(value, function.__qualname__, "a default value")

    def _read(self, namespace: Any, name: str) -> None:
        self._entries[id(namespace), name] = namespace.get, name, namespace.get(name)

    def _executed_functions(self) -> list[FunctionType]:
        return [each for each in self._functions.values() if id(each.__code__) in self._executed]

    def _to_watch(self) -> Watched:
        getters, names, values = zip(*self._entries.values(), strict=True) if self._entries else ((), (), ())
        namespaces = tuple(map(vars, (*self._classes, *self._functions.values())))
        functions = tuple(self._executed_functions())
        sizes = tuple(map(len, namespaces))
        return Watched(getters, names, values, namespaces, sizes, functions, tuple(_behaviours(functions)))


def _functions_of(value: Any) -> list[FunctionType]:
    """The functions of a method, a property or a cached property."""
    if isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, functools.cached_property):
        parts = [value.func]
    else:
        parts = [value.__func__ if isinstance(value, staticmethod | classmethod) else value]
    return [part for part in parts if isinstance(part, FunctionType)]


def _may_change(where: str, what: str) -> TraceError:
    return TraceError(f"{where}: {what} may change; make it an attribute of a layer that cannot be changed in place")
