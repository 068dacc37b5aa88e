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
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

import pullback as pb
from pullback.aot._surroundings.seer import is_library
from pullback.core.mirrors import twin_of
from pullback.core.state import NORMAL, current, next_stamp, open_levels, put_in_force
from pullback.func._implicit.lift import Lifted, array_of, is_plain
from pullback.scipy._surface import joined
from pullback.tensors.tensor import Tensor, made_here

EVALUATIONS = 8  # of a callback, in one solve or several, before it is compiled
NATIVE = 300  # ... before it is compiled to native code
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
        self.twin: Any = None
        self.count = 0  # evaluations so far
        self.owner: Any = None  # whose values the twin has
        self.stands: list[Tensor] = []
        self.is_busy = False
        self.is_hopeless = False
        self._forms: dict[tuple[str, bool], Any] = {}

    def form(self, kind: str, make: Callable[[Any], Any], is_native: bool) -> Any:
        """A function made of the twin, compiled."""
        found = self._forms.get((kind, is_native))
        if found is None:
            backend = "auto" if is_native else "numpy"
            found = pb.compile(make(self.twin), backend=backend, fallback="raise", recompile_limit=1 << 30)
            self._forms[kind, is_native] = found
        return found


class Fast:
    """A callback during one solve: what compiled code gives for the values that it closes over, or None."""

    __slots__ = ("_function", "_names", "_program", "_values")

    def __init__(self, lifted: Lifted, values: Sequence[Tensor], function: Any = None) -> None:
        self._function = lifted.function if function is None else function
        self._names = lifted._names
        self._values = list(values)
        self._program: Program | None = None
        is_outermost = not current().interceptors and current().trace is None
        if is_outermost and is_plain(*values):
            try:
                self._program = _program_of(self._function)
            except _Unfit:
                pass

    def __call__(self, kind: str, make: Callable[[Any], Any], *args: Any) -> Any:
        """`make(callback)(*args)` for arrays, an array or several; None if it has to be computed otherwise."""
        program = self._program
        if program is None:
            return None
        program.count += 1
        if program.count <= EVALUATIONS or program.is_hopeless or program.is_busy:
            return None
        return self._run(program, kind, make, args, None)

    def pulled(self, kind: str, make: Callable[[Any], Any], args: Sequence[Any], cotangent: Any,
               least: int = EVALUATIONS) -> Any:  # fmt: skip
        """Gradients of the tensors that the callback closes over, in their order, and of `args`; None as above, or
        if there were not more than `least` evaluations."""
        program = self._program
        if program is None or program.is_hopeless or program.is_busy or program.count <= least:
            return None
        found = self._run(program, kind, make, args, cotangent)
        if found is None or any(stand is name for stand, name in zip(program.stands, self._names, strict=True)):
            return None
        return found

    def _run(self, program: Program, kind: str, make: Callable[[Any], Any], args: Sequence[Any], cotangent: Any) -> Any:
        before = current()
        mask = next_stamp() if open_levels else 0
        program.is_busy = True
        try:
            put_in_force(NORMAL.replace(grad=False) if not mask else NORMAL.replace(grad=False, forward_mask=mask))
            if program.owner is not self:
                self._fill(program)
            form = program.form(kind, make, program.count >= NATIVE or kind not in _EVALUATED)
            misses = form._misses
            given = [made_here(floating(arg)) for arg in args]
            if cotangent is None:
                out = form(*given)
                found: Any = out._data if isinstance(out, Tensor) else tuple([part._data for part in out])
            else:
                put_in_force(NORMAL.replace(forward_mask=mask) if mask else NORMAL)
                for arg in given:
                    arg.requires_grad_()
                out = form(*given)
                wanted = [*program.stands, *given]
                parts = pb.autograd.grad(out, wanted, made_here(np.asarray(cotangent)), allow_unused=True)
                found = [None if part is None else part._data for part in parts]
            if form._misses != misses:
                is_right = cotangent is not None or _agree(found, make(self._eager())(*given))
                program.is_hopeless = not is_right or form._misses > _MOST_CAPTURES
                return found if is_right else None
            return found
        except Exception:  # what it is the callback itself says, if it does not run either
            program.is_hopeless = True
            return None
        finally:
            program.is_busy = False
            put_in_force(before)

    def _eager(self) -> Any:
        """The callback as it is, with the values that it is solved for."""
        lifted = Lifted(self._function, "", self._names)
        return lambda *args: lifted(self._values, *args)

    def _fill(self, program: Program) -> None:
        """Let the twin see what the callback sees."""
        fitting = _Fitting({id(name): value for name, value in zip(self._names, self._values, strict=True)})
        program.twin = fitting.of(self._function, program.twin)
        program.stands = [fitting.stands.get(id(name), name) for name in self._names]
        for stand, name, value in zip(program.stands, self._names, self._values, strict=True):
            if stand is name and value is not name:  # found through an attribute, where nothing else can be put
                raise _Unfit
        program.owner = self


_EVALUATED = ("value", "residual")  # small enough for NumPy to be tried first


class _Fitting:
    """Makes twins of what callbacks close over, again and again the same ones for the same structure."""

    def __init__(self, others: dict[int, Tensor]) -> None:
        self._others = others
        self.stands: dict[int, Tensor] = {}
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
            return made_here(data.copy())
        np.copyto(old._data, data)
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
    with np.errstate(all="ignore"):
        return np.allclose(found, eager.detach().numpy(), rtol=1e-7, atol=1e-12, equal_nan=True)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _contents(cell: CellType, *default: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        if default:
            return default[0]
        raise _Unfit from None


def _program_of(function: Any) -> Program:
    """The program of functions with this code, and that of the functions that they close over."""
    key = _structure(function, set())
    programs = _here.programs
    found = programs.get(key)
    if found is None:
        found = programs[key] = Program()
        if len(programs) > _MOST_PROGRAMS:
            programs.popitem(last=False)
    else:
        programs.move_to_end(key)
    return found


def _structure(value: Any, known: set[int], is_ours: bool = False) -> Any:
    """What programs must have in common. `is_ours` as above: what nobody guards there is a part of it."""
    if isinstance(value, Tensor):
        return "tensor", value.shape, value.dtype
    if is_ours and is_input(value):
        return "input", np.shape(value), np.asarray(value).dtype
    if isinstance(value, FunctionType):
        if id(value) in known:
            return "function"
        known.add(id(value))
        if not _EFFECTS.isdisjoint(value.__code__.co_names):
            raise _Unfit
        own = _is_ours(value)
        inner = [_structure(_contents(cell), known, own) for cell in value.__closure__ or ()]
        defaults = _structure((value.__defaults__, value.__kwdefaults__), known, own)
        return value.__code__, id(value.__globals__), *inner, defaults
    if type(value) in (tuple, list):
        return type(value), *[_structure(part, known, is_ours) for part in value]
    if type(value) is dict:
        return dict, *[(key, _structure(part, known, is_ours)) for key, part in value.items()]
    if isinstance(value, functools.partial):
        parts = ((value.func, False), (value.args, is_ours), (value.keywords, is_ours))
        return functools.partial, *[_structure(part, known, own) for part, own in parts]
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
    """

    __slots__ = ("_fast", "_lead")

    def __init__(self, lifted: Lifted, values: Sequence[Tensor], function: Callable[[Any], Any], lead: int) -> None:
        self._fast = Fast(lifted, values[lead:], function)
        self._lead = lead

    def slopes(self, y: Any) -> Any:
        """The residual and its Jacobian."""
        return self._fast("slopes", _slopes_of, y)

    def pulled(self, y: Any, cotangent: Any) -> Any:
        """The gradients of the values."""
        found = self._fast.pulled("residual", _flat_of, [y], cotangent)
        return None if found is None else [None] * self._lead + found[:-1]


def _flat_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda y: joined(function(y)).reshape(-1)


def _slopes_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def slopes(y: Any) -> Any:
        flat = y.reshape(-1)
        residual = lambda v: joined(function(v.reshape(y.shape))).reshape(-1)
        return residual(flat), pb.func.jacobian(residual)(flat)

    return slopes
