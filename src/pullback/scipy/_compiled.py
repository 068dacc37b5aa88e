"""Callbacks as compiled code: a solver calls them often, and they are most of its time.

A callback is a new function in every call of a program that closes over its parameters, so what is compiled is a twin
of it: the same code with variables of its own, into which tensors are copied before a solve. Tensors are inputs of the
compiled code, and so are arrays and numbers that functions of this package close over, as `args` and data: nobody
guards the closures of a library. Whatever else the callback looks at, numbers, arrays, attributes, is guarded as
`pb.compile` guards it, and a change of it is another capture. What cannot be captured, because it branches on values,
prints or leaves something behind, runs as it is.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.mirrors import is_library, twin_of
from pullback.core.state import NORMAL, current, forgive, next_stamp, open_levels, put_in_force
from pullback.func._implicit.lift import Lifted, array_of, is_plain, is_watched, lift
from pullback.scipy._small import Small, small
from pullback.scipy._surface import joined
from pullback.tensors.tensor import Tensor, made_here

EVALUATIONS = 8  # of a callback, in one solve or several, before it is compiled
NATIVE = 300  # ... before it is compiled to native code
SMALL = 6e-6  # seconds of an evaluation by NumPy that native code is not tried for: to start LLVM takes 0.3
_MOST_CAPTURES = 4  # of a callback that looks at something new again and again
_MOST_PROGRAMS = 64  # in one thread

_CONSTANT = (bool, int, float, complex, str, bytes, type(None), type, ModuleType, np.ndarray, np.generic)
_HASHED = (bool, int, complex, str, bytes, type(None))
_EFFECTS = frozenset(("print", "input", "breakpoint"))


class _Unfit(Exception):
    """This callback cannot be compiled."""


class _Here(threading.local):
    """The programs of one thread: a twin has one set of variables."""

    def __init__(self) -> None:
        self.programs: OrderedDict[Any, Program] = OrderedDict()


_here = _Here()


class Program:
    """The compiled forms of callbacks that differ only in the values of what they close over."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()  # whose it is: a backward pass may run in another one
        self.twin: Any = None
        self.count = 0  # evaluations so far
        self.owner: Any = None  # whose values the twin has
        self.stands: list[Tensor] = []  # for the tensors that are differentiated
        self.all_stands: list[Tensor] = []
        self.constants: list[Tensor] = []
        self.is_busy = False
        self.is_hopeless = False
        self._forms: dict[tuple[Any, bool], Any] = {}
        self.quick: dict[Any, Any] = {}  # by kind: functions of arrays, for the twin as it is
        self.settled: set[Any] = set()  # kinds whose backend is chosen
        self.used: list[int] | None = None  # by position among the tensors that the callback leads to; if it was traced
        self.moved: Any = None  # says whether a trace of the callback would be another one

    def fit(self, function: Any, others: dict[int, Tensor]) -> _Fitting:
        """Let the twin see what a callback sees, with others in the places of some of its tensors."""
        fitting = _Fitting(others)
        before = current()
        put_in_force(NORMAL)  # stands are nobody's examples
        try:
            self.twin = fitting.of(function, self.twin)
        finally:
            put_in_force(before)
        self.all_stands, self.constants = list(fitting.stands.values()), fitting.constants
        for quick in self.quick.values():
            if type(quick) is Small:
                quick.refresh()
        return fitting

    def form(self, kind: Any, make: Callable[[Any], Any], is_native: bool) -> Any:
        """A function made of the twin, compiled."""
        found = self._forms.get((kind, is_native))
        if found is None:
            backend = "auto" if is_native else "numpy"
            found = pb.compile(
                make(self.twin), backend=backend, fallback="raise", recompile_limit=1 << 30, live=False
            )  # what asks for values runs as it is
            self._forms[kind, is_native] = found
        return found


class Fast:
    """A callback during one solve: what compiled code gives for the values that it closes over, or None."""

    __slots__ = ("_function", "_lifted", "_names", "_program", "_values")

    def __init__(self, lifted: Lifted, values: Sequence[Tensor], function: Any = None) -> None:
        self._function = lifted.function if function is None else function
        self._lifted = lifted if function is None else None
        self._names = lifted._names
        self._values = list(values)
        self._program: Program | None = None
        is_outermost = not current().interceptors and current().trace is None
        if is_outermost and is_plain(*values):
            known = lifted.known if function is None else None
            try:
                self._program = known or _program_of(self._function)[0]
            except _Unfit:
                pass
        program = self._program
        if program is not None and program.owner is lifted and list(map(id, values)) == list(map(id, lifted.tensors)):
            program.owner = self  # `known_lift` has let the twin see the same

    @property
    def is_traced(self) -> bool:
        """Does compiled code stand for the callback? Then it uses the same tensors wherever it is called."""
        program = self._program
        return program is not None and program.owner is self and program.used is not None and not program.is_hopeless

    def on_numbers(self, kind: Any) -> Callable[..., Any] | None:
        """A form as a function of numbers, for a run in which nothing changes that the callback looks at; or None."""
        program = self._program
        if program is None or program.is_hopeless or program.is_busy or program.thread != threading.get_ident():
            return None
        quick = program.quick.get(kind)
        if type(quick) is not Small or (program.owner is not self and not self._filled(program)):
            return None
        return quick.on_numbers()

    def __call__(self, kind: str, make: Callable[[Any], Any], *args: Any) -> Any:
        """`make(callback)(*args)` for arrays, an array or several; None if it has to be computed otherwise."""
        program = self._program
        if program is None:
            return None
        program.count += 1
        if program.count <= EVALUATIONS or program.is_hopeless or program.is_busy:
            return None
        found = self._run(program, kind, make, args)
        return found[0] if found is not None and len(found) == 1 else found

    def pulled(self, kind: str, make: Callable[[Any], Any], args: Sequence[Any], cotangent: Any,
               least: int = EVALUATIONS) -> Any:  # fmt: skip
        """Gradients of the tensors that the callback closes over, in their order, and of `args`; None as above, or
        if there were not more than `least` evaluations."""
        program = self._program
        if program is None or program.is_hopeless or program.is_busy or program.count <= least:
            return None
        if program.thread != threading.get_ident() or (program.owner is not self and not self._filled(program)):
            return None
        stands = program.stands
        if not all(stand.requires_grad for stand in stands):  # one of the callback's own that nobody records
            return None
        number = len(args)

        def pulling(function: Any) -> Any:
            inner = make(function)

            def pull(*given: Tensor) -> Any:
                with pb.enable_grad():
                    leaves = [each.detach().requires_grad_() for each in given[:number]]
                    out = inner(*leaves)
                wanted = [*stands, *leaves]
                return pb.autograd.grad(out, wanted, given[number], allow_unused=True, materialize_grads=True)

            return pull

        return self._run(program, ("pull", kind, *map(id, stands)), pulling, [*args, cotangent])

    def pull_on_numbers(self, kind: str, make: Callable[[Any], Any], at: float, cotangent: Any) -> Any:
        """The same as a function of numbers, an argument and the cotangent; `at` is an example."""
        program = self._program
        if program is None or program.thread != threading.get_ident():
            return None
        if program.owner is not self and not self._filled(program):
            return None
        found = self.on_numbers(("pull", kind, *map(id, program.stands)))
        if found is None and self.pulled(kind, make, [at], cotangent) is not None:
            found = self.on_numbers(("pull", kind, *map(id, program.stands)))
        return found

    def _run(self, program: Program, kind: Any, make: Callable[[Any], Any], args: Sequence[Any]) -> Any:
        """The results of a form at these arrays, as a tuple of arrays, or None."""
        if program.thread != threading.get_ident():
            return None
        given = [floating(arg) for arg in args]
        if program.owner is not self and not self._filled(program):
            return None
        quick = program.quick.get(kind)
        found = None if quick is None else quick(*given)
        if found is not None and (program.count < NATIVE or kind in program.settled):
            return found
        before = current()
        mask = next_stamp() if open_levels else 0
        program.is_busy = True
        try:
            put_in_force(NORMAL.replace(grad=False) if not mask else NORMAL.replace(grad=False, forward_mask=mask))
            form = program.form(kind, make, False)
            misses = form._misses
            tensors = [made_here(arg) for arg in given]
            out = form(*tensors)
            found = (out._data,) if isinstance(out, Tensor) else tuple([part._data for part in out])
            entry, quick = form.entry_for(*tensors), form.direct(*tensors)
            # What is read before every call may lead to other tensors in another call.
            places = None if quick is None or form._varying is not None else _places(program, entry)
            program.quick[kind] = quick if places is None else small(quick, entry, tensors)
            if kind == "value":
                program.used = places
                program.moved = None if entry is None else entry.fit.moved
            if form._misses != misses:
                is_right = kind[0] == "pull" or _agree(found, make(self._eager())(*tensors))
                program.is_hopeless = not is_right or form._misses > _MOST_CAPTURES
                return found if is_right else None
            if program.count >= NATIVE:
                _choose(program, kind, make, tensors)
            return found
        except Exception as error:  # what it is the callback itself says, if it does not run either
            forgive(error)
            program.is_hopeless = True
            return None
        finally:
            program.is_busy = False
            put_in_force(before)

    def _filled(self, program: Program) -> bool:
        try:
            self._fill(program)
        except _Unfit:
            program.is_hopeless = True
        return not program.is_hopeless

    def _eager(self) -> Any:
        """The callback as it is, with the values that it is solved for."""
        lifted = Lifted(self._function, "", self._names)
        return lambda *args: lifted(self._values, *args)

    def _fill(self, program: Program) -> None:
        """Let the twin see what the callback sees."""
        fitting = program.fit(self._function, dict(zip(map(id, self._names), self._values, strict=True)))
        program.stands = [fitting.stands.get(id(name), name) for name in self._names]
        for stand, name, value in zip(program.stands, self._names, self._values, strict=True):
            if stand is name and value is not name:  # found through an attribute, where nothing else can be put
                raise _Unfit
        program.owner = self


def _places(program: Program, entry: Any) -> list[int] | None:
    """Which tensors a capture uses, by position among those that the callback leads to; None if it uses others."""
    if entry is None:
        return None
    places = {id(stand): k for k, stand in enumerate(program.all_stands)}
    held = [id(given.capture) for given in entry.inputs if given.capture is not None]
    constants = {id(each) for each in program.constants}
    return [places[each] for each in held if each in places] if all(
        each in places or each in constants for each in held
    ) else None


def _choose(program: Program, kind: Any, make: Callable[[Any], Any], tensors: list[Tensor]) -> None:
    """Take native code if it is faster here. Very small functions are not worth the way to it."""
    program.settled.add(kind)
    quick = program.quick.get(kind)
    arrays = [tensor._data for tensor in tensors]
    seconds = 1.0 if quick is None else min(_timed(quick, arrays) for _ in range(5))
    if seconds < SMALL:
        return
    form = program.form(kind, make, True)
    form(*tensors)
    native = form.direct(*tensors)
    if native is not None and min(_timed(native, arrays) for _ in range(5)) < seconds:
        program.quick[kind] = native


def _timed(function: Callable[..., Any], arrays: list[Any]) -> float:
    begin = time.perf_counter()
    function(*arrays)
    return time.perf_counter() - begin


class _Fitting:
    """Makes twins of what callbacks close over, again and again the same ones for the same structure."""

    def __init__(self, others: dict[int, Tensor]) -> None:
        self._others = others
        self.stands: dict[int, Tensor] = {}
        self.constants: list[Tensor] = []
        self._twins: dict[int, Any] = {}

    def of(self, value: Any, old: Any, is_ours: bool = False) -> Any:
        """What stands for `value`: `old`, brought up to date, if that is of the same structure. `is_ours` says that
        a function of this package closes over it."""
        if isinstance(value, Tensor):
            return self._tensor(value, old)
        if is_ours and is_input(value):
            return self._constant(np.asarray(value), old)
        if isinstance(value, FunctionType):
            return self._function(value, old)
        if type(value) in (tuple, list):
            known = old if type(old) is type(value) and len(old) == len(value) else [None] * len(value)
            parts = [self.of(part, own, is_ours) for part, own in zip(value, known, strict=True)]
            if type(old) is type(value) and len(old) == len(parts) and all(map(_is, parts, old)):
                return old
            return value if all(map(_is, parts, value)) else type(value)(parts)
        if type(value) is dict:
            known = old if type(old) is dict else {}
            made = {key: self.of(part, known.get(key), is_ours) for key, part in value.items()}
            if made.keys() == known.keys() and all(made[key] is known[key] for key in made):
                return old
            return value if all(made[key] is value[key] for key in made) else made
        if isinstance(value, functools.partial):
            known = old if isinstance(old, functools.partial) else functools.partial(_is)
            function, args = self.of(value.func, known.func), self.of(value.args, known.args, is_ours)
            named = self.of(value.keywords, known.keywords, is_ours)
            is_same = function is known.func and args is known.args and named is known.keywords
            return old if is_same else functools.partial(function, *args, **named)
        if not isinstance(value, _CONSTANT) and type(value).__module__.partition(".")[0] == "pullback":
            raise _Unfit  # an object of ours would be taken for a constant
        return value

    def _tensor(self, tensor: Tensor, old: Any) -> Tensor:
        data = array_of(self._others.get(id(tensor), tensor))
        if data is None:
            raise _Unfit
        known = self.stands.get(id(tensor))
        if known is not None:
            return known
        if not isinstance(old, Tensor) or old._data.shape != data.shape or old._data.dtype != data.dtype:
            old = made_here(data.copy())
            if data.dtype.kind in "fc":
                old.requires_grad_()
        elif any(old is stand for stand in self.stands.values()):  # one tensor before, two now
            old = made_here(data.copy()).requires_grad_(data.dtype.kind in "fc")
        else:
            np.copyto(old._data, data)
        self.stands[id(tensor)] = old
        return old

    def _constant(self, data: Any, old: Any) -> Tensor:
        """A tensor for an array or a number, which nobody differentiates."""
        if not isinstance(old, Tensor) or old._data.shape != data.shape or old._data.dtype != data.dtype:
            old = made_here(data.copy())
        else:
            np.copyto(old._data, data)
        self.constants.append(old)
        return old

    def _function(self, function: FunctionType, old: Any) -> Any:
        if id(function) in self._twins:
            return self._twins[id(function)]
        if not function.__closure__ and not function.__defaults__ and not function.__kwdefaults__:
            return function
        twin = old if isinstance(old, FunctionType) and old.__code__ is function.__code__ else None
        if twin is None or twin.__globals__ is not function.__globals__ or twin is function:
            twin = twin_of(function, function.__globals__, [CellType() for _ in function.__closure__ or ()])
        self._twins[id(function)] = twin
        is_ours = _is_ours(function)
        for cell, given in zip(twin.__closure__ or (), function.__closure__ or (), strict=True):
            cell.cell_contents = self.of(_contents(given), _contents(cell, None), is_ours)
        if function.__defaults__:
            twin.__defaults__ = self.of(function.__defaults__, twin.__defaults__, is_ours)
        if function.__kwdefaults__:
            twin.__kwdefaults__ = self.of(function.__kwdefaults__, twin.__kwdefaults__, is_ours)
        return twin


def _is_ours(function: FunctionType) -> bool:
    """Is this a function of a package that a capture takes to be constant, with its closure?"""
    return is_library(function.__globals__.get("__name__"))


def is_input(value: Any) -> bool:
    """Is this an array or a real number that compiled code can be given?"""
    return isinstance(value, float) or (isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc")


def _agree(found: Any, eager: Any) -> bool:
    """Is this what the callback itself computes? It is not if it draws random numbers, for instance."""
    expected = eager if isinstance(eager, tuple) else (eager,)
    with np.errstate(all="ignore"):
        return len(found) == len(expected) and all(
            np.allclose(one, other.detach().numpy(), rtol=1e-7, atol=1e-12, equal_nan=True)
            for one, other in zip(found, expected, strict=True)
        )


def _is(one: Any, other: Any) -> bool:
    return one is other


def _contents(cell: CellType, *default: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        if default:
            return default[0]
        raise _Unfit from None


def known_lift(name: str, function: Any, *args: Any) -> Lifted:
    """`lift`, without a call of the function if compiled code stands for it: that uses the same tensors again."""
    if not current().interceptors and current().trace is None:
        try:
            program, tensors = _program_of(function)
            if program.used is not None and not program.is_hopeless and not program.is_busy and is_plain(*tensors):
                program.fit(function, {})
                program.owner = None
                if program.moved is None or not program.moved():
                    watched = [k for k in program.used if is_watched(tensors[k])]
                    found = Lifted(function, name, [tensors[k] for k in watched], program)
                    program.owner = found
                    program.stands = [program.all_stands[k] for k in watched]
                    return found
        except _Unfit:
            pass
    return lift(name, function, *args)


def _program_of(function: Any) -> tuple[Program, list[Tensor]]:
    """The program of functions with this code, and that of the functions that they close over; the tensors there."""
    tensors: list[Tensor] = []
    key = _structure(function, {}, False, tensors)
    programs = _here.programs
    found = programs.get(key)
    if found is None:
        found = programs[key] = Program()
        if len(programs) > _MOST_PROGRAMS:
            programs.popitem(last=False)
    else:
        programs.move_to_end(key)
    return found, tensors


def _structure(value: Any, known: dict[int, int], is_ours: bool, tensors: list[Tensor]) -> Any:
    """What programs must have in common. `is_ours` as above: what nobody guards there is a part of it."""
    if isinstance(value, Tensor):  # a program of one tensor in two places is not one of two tensors
        if id(value) not in known:
            known[id(value)] = len(known)
            tensors.append(value)
        return "tensor", value.shape, value.dtype, known[id(value)]
    if is_ours and is_input(value):
        return "input", np.shape(value), np.asarray(value).dtype
    if isinstance(value, FunctionType):
        if id(value) in known:
            return "function", known[id(value)]
        known[id(value)] = len(known)
        if not _EFFECTS.isdisjoint(value.__code__.co_names):
            raise _Unfit
        own = _is_ours(value)
        inner = [_structure(_contents(cell), known, own, tensors) for cell in value.__closure__ or ()]
        defaults = _structure((value.__defaults__, value.__kwdefaults__), known, own, tensors)
        return value.__code__, id(value.__globals__), *inner, defaults
    if type(value) in (tuple, list):
        return type(value), *[_structure(part, known, is_ours, tensors) for part in value]
    if type(value) is dict:
        return dict, *[(key, _structure(part, known, is_ours, tensors)) for key, part in value.items()]
    if isinstance(value, functools.partial):
        parts = ((value.func, False), (value.args, is_ours), (value.keywords, is_ours))
        return functools.partial, *[_structure(part, known, own, tensors) for part, own in parts]
    if not is_ours:
        return type(value)
    return (type(value), value) if isinstance(value, _HASHED) else (type(value), id(value))


def floating(x: Any) -> Any:
    """A copy of what a solver gives, as an array of real or complex numbers."""
    x = np.array(x)
    return x if x.dtype == np.float64 else x.astype(np.result_type(x.dtype, np.float64))


def value_of(callback: Callable[..., Any]) -> Callable[..., Any]:
    """The callback with one tensor as its result."""
    return lambda *args: joined(callback(*args))


class Rule:
    """The residual of an equation as compiled code, for the values of one solution (`CompiledRule`).

    `function(y)` is the residual with what the callback closes over; `lead` are values in front that have no influence.
    `fast`, if given, is the residual for these values already.
    """

    __slots__ = ("_fast", "_lead")

    def __init__(
        self, lifted: Lifted, values: Sequence[Tensor], function: Callable[[Any], Any], lead: int,
        fast: Fast | None = None,
    ) -> None:  # fmt: skip
        self._fast = fast or Fast(lifted, values[lead:], function)
        self._lead = lead

    def slopes(self, y: Any) -> Any:
        """The residual and its Jacobian."""
        return self._fast("slopes", _slopes_of, y)

    def pulled(self, y: Any, cotangent: Any) -> Any:
        """The gradients of the values."""
        found = self._fast.pulled("residual", flat_of, [y], cotangent)
        return None if found is None else [None] * self._lead + list(found[:-1])


def flat_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The callback with one vector as its result."""
    return lambda y: joined(function(y)).reshape(-1)


def _slopes_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def slopes(y: Any) -> Any:
        flat = y.reshape(-1)
        residual = lambda v: joined(function(v.reshape(y.shape))).reshape(-1)
        return residual(flat), pb.func.jacobian(residual)(flat)

    return slopes
