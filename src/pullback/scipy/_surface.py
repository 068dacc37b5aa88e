"""Names of SciPy's and what stands behind them: a function of ours, SciPy's own object, or a guard.

Every public name of a subpackage resolves. A function of ours is declared with the name of SciPy's, whose signature and
engine it has; `rules()` lists what is declared. A guard runs SciPy's function on numbers, and refuses what would lose a
derivative on the way. Classes, exceptions and constants are SciPy's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import pullback as pb
from pullback._sites import not_installed
from pullback.core.mirrors import with_items
from pullback.core.pytree import flatten
from pullback.core.records import Record
from pullback.errors import AutogradError
from pullback.func._adapt.numpy_proxy import Drawing, OldDrawing
from pullback.func._implicit.lift import is_watched
from pullback.func._implicit.linear import Diff
from pullback.scipy._examples import by_example, per_example
from pullback.scipy._kept import kept
from pullback.scipy._options import in_force
from pullback.tensors.tensor import Tensor, made_here

SUBPACKAGES = (
    "cluster.hierarchy", "cluster.vq", "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "optimize",
    "optimize.elementwise", "signal", "signal.windows", "sparse", "sparse.csgraph", "sparse.linalg", "spatial",
    "spatial.distance", "spatial.transform", "special", "stats", "stats.contingency", "stats.qmc",
)  # fmt: skip

KINDS = {
    "E": "an operator of ours under SciPy's signature",
    "C": "computed from operators of ours",
    "I": "SciPy's solver; the derivative of what the solution satisfies",
    "A": "SciPy's steps or nodes; the derivative of the formula on them",
    "P": "an operator with a transpose of its own",
    "K": "the result is constant: integers, structure, ranks",
    "X": "runs on numbers, refused where a derivative would be lost",
    "=": "SciPy's own object",
}


class Rule(Record, frozen=True):
    """What is known of a function of SciPy's. `by` are the arguments with derivatives, `reason` why there are none."""

    name: str
    kind: str
    by: str = ""
    reason: str = ""


_declared: dict[str, Rule] = {}
_functions: dict[str, Callable[..., Any]] = {}


def scipy_module(path: str) -> ModuleType:
    """A subpackage of SciPy's."""
    try:
        return import_module(f"scipy.{path}")
    except ImportError as error:
        if "scipy" not in str(error):
            raise
        raise not_installed(f"pb.scipy.{path}", "SciPy", "scipy") from error


def scipy_value(name: str) -> Any:
    """What SciPy has by this name."""
    package, _, own = name.rpartition(".")
    return getattr(scipy_module(package), own)


class Call:
    """One call of a function of SciPy's: its arguments by name, and the way to make it with others."""

    __slots__ = ("bound", "diff", "name", "plain")

    def __init__(self, name: str, plain: Callable[..., Any], bound: inspect.BoundArguments, diff: Diff) -> None:
        self.name = name
        self.plain = plain
        self.bound = bound
        self.diff = diff

    def __getitem__(self, name: str) -> Any:
        if name in self.bound.arguments:
            return self.bound.arguments[name]
        return self.bound.signature.parameters[name].default

    def __contains__(self, name: str) -> bool:
        return name in self.bound.signature.parameters

    def given(self, name: str) -> bool:
        """Did the user give this argument?"""
        return name in self.bound.arguments

    @property
    def further(self) -> tuple[Any, ...]:
        """What callbacks get besides: SciPy takes one thing for a tuple of it."""
        args = self["args"]
        return args if isinstance(args, tuple) else (args,)

    def put(self, name: str, value: Any) -> None:
        """Let an argument be this from now on."""
        self.bound.arguments[name] = value

    def run(self, **changes: Any) -> Any:
        """What SciPy returns for these arguments, with some changed."""
        given = {**self.bound.arguments, **changes}
        ordered = {name: plain_generator(given[name]) for name in self.bound.signature.parameters if name in given}
        bound = inspect.BoundArguments(self.bound.signature, ordered)
        return self.plain(*bound.args, **bound.kwargs)


def declare(*names: str, kind: str, by: str = "") -> Callable[[Callable[[Call], Any]], Callable[..., Any]]:
    """Declare functions under names of SciPy's ("optimize.root"), each a function of a `Call`."""

    def decorate(function: Callable[[Call], Any]) -> Callable[..., Any]:
        for name in names:
            _declared[name] = Rule(name, kind, by)
            _functions[name] = functools.partial(_made, name, function)
        return function

    return decorate


def declare_as(name: str, function: Callable[..., Any], kind: str, by: str = "") -> None:
    """Declare a function of ours that is one of SciPy's as it is."""
    _declared[name] = Rule(name, kind, by)
    # Operators have batching rules, and stay the objects that they are elsewhere: one page, one example, one type.
    made = function
    if isinstance(function, FunctionType) and function.__module__.startswith("pullback.scipy"):
        made = functools.wraps(function)(_or_guarded(name, per_example(function)))
    _functions[name] = lambda: made


def declare_class(*names: str) -> Callable[[Callable[[type], type]], Callable[[type], type]]:
    """Declare classes of SciPy's by what makes ours of theirs, when they are first asked for."""

    def decorate(made: Callable[[type], type]) -> Callable[[type], type]:
        for name in names:
            _declared[name] = Rule(name, "=", "the tensors that it holds")
            _functions[name] = functools.cache(lambda name=name: made(scipy_value(name)))
        return made

    return decorate


def refuse(reason: str, *names: str) -> None:
    """Declare functions that have no derivative, and why."""
    for name in names:
        _declared[name] = Rule(name, "X", reason=reason)


def constant(*names: str) -> None:
    """Declare functions whose results have no derivative: integers, structure, ranks."""
    for name in names:
        _declared[name] = Rule(name, "K", reason="the result does not move with its arguments, or only in jumps")


def _made(name: str, function: Callable[[Call], Any]) -> Callable[..., Any]:
    plain = scipy_value(name)
    signature = inspect.signature(plain)

    bind = _binder(signature)

    def made(*args: Any, diff: Diff, **kwargs: Any) -> Any:
        bound = inspect.BoundArguments(signature, kept(bind(*args, **kwargs)))
        return function(Call(name, plain, bound, diff))

    def ours(*args: Any, diff: Diff | None = None, **kwargs: Any) -> Any:
        return by_example(name, functools.partial(made, diff=in_force(diff)), args, kwargs)

    call = _or_guarded(name, ours)
    known = list(signature.parameters.values())
    place = next((k for k, each in enumerate(known) if each.kind is each.VAR_KEYWORD), len(known))
    known.insert(place, inspect.Parameter("diff", inspect.Parameter.KEYWORD_ONLY, default=None))
    return _dressed(call, plain, name, signature.replace(parameters=known), _declared[name])


def _or_guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`; for what it does not do, which is a NotImplementedError, SciPy's own behind a guard."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except NotImplementedError as error:
            kwargs.pop("diff", None)
            said = Rule(name, "X", reason=str(error))
            return guarded(name, scipy_value(name), said)(*args, **kwargs)

    return call


def _binder(signature: inspect.Signature) -> Callable[..., dict[str, Any]]:
    """`signature.bind(...).arguments`, in less time where every argument has a name and a place."""
    known = signature.parameters
    names = list(known)
    needed = [name for name, each in known.items() if each.default is each.empty]
    is_plain = all(each.kind is each.POSITIONAL_OR_KEYWORD for each in known.values())

    def bind(*args: Any, **kwargs: Any) -> dict[str, Any]:
        if is_plain and len(args) <= len(names):
            found = dict(zip(names, args, strict=False))
            if kwargs.keys() <= known.keys() - found.keys():
                found.update(kwargs)
                if all(name in found for name in needed):
                    return found
        return signature.bind(*args, **kwargs).arguments  # which also says what is wrong

    return bind


def _dressed(
    call: Callable[..., Any], plain: Any, name: str, signature: inspect.Signature | None, rule: Rule
) -> Callable[..., Any]:
    package, _, own = name.rpartition(".")
    call.__name__ = call.__qualname__ = own
    call.__module__ = f"pullback.scipy.{package}"
    call.__doc__ = f"`scipy.{name}` with derivatives.\n\n{KINDS[rule.kind]}"
    call.__doc__ += f"; by {rule.by}." if rule.by else f": {rule.reason}." if rule.reason else "."
    call.__wrapped__ = plain  # type: ignore[attr-defined]
    if signature is not None:
        call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def resolve(package: str, own: str) -> Any:
    """What `pb.scipy.<package>.<own>` is."""
    name = f"{package}.{own}"
    if name in _functions:
        return _functions[name]()
    theirs = getattr(scipy_module(package), own)
    if not is_function(theirs):
        return theirs
    return guarded(name, theirs)


def is_function(value: Any) -> bool:
    """Is this a function, of Python or not? Classes, constants and objects that can be called are SciPy's own."""
    return inspect.isroutine(value) or isinstance(value, np.ufunc) or hasattr(value, "__wrapped__")


def attach(namespace: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module that stands for a subpackage."""
    path = namespace["__name__"].removeprefix("pullback.scipy.")
    known: dict[str, Any] = {}  # not in the namespace, where they would look like the module's own

    def load(name: str) -> Any:
        if f"{path}.{name}" in SUBPACKAGES:
            return import_module(f"pullback.scipy.{path}.{name}")
        if name not in known:
            if name.startswith("_") or not hasattr(scipy_module(path), name):
                raise AttributeError(f"module 'scipy.{path}' has no attribute {name!r}")
            known[name] = resolve(path, name)
        return known[name]

    def names() -> list[str]:
        return public_names(path)

    return load, names


def declared_names(path: str) -> list[str]:
    """The functions of a subpackage that are ours."""
    return sorted(own for name in _functions for package, _, own in [name.rpartition(".")] if package == path)


def public_names(path: str) -> list[str]:
    """The public names of a subpackage of SciPy's."""
    module = scipy_module(path)
    return sorted(getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")])


# Guards.


def guarded(name: str, plain: Callable[..., Any], rule: Rule | None = None) -> Callable[..., Any]:
    """SciPy's function for numbers. A tensor that somebody differentiates is refused."""
    rule = rule or _declared.get(name) or Rule(name, "X", reason="it has no derivative here")
    is_constant = rule.kind == "K"

    def call(*args: Any, **kwargs: Any) -> Any:
        def plainly(value: Any) -> Any:
            if callable(value) and not isinstance(value, type):
                return watching(name, rule, value)
            return numbers(value)

        for place, value in (*enumerate(args), *kwargs.items()):
            if not is_constant and any(is_watched(leaf) for leaf in flatten(value)[0] if isinstance(leaf, Tensor)):
                raise no_rule(rule, f"argument {place + 1 if isinstance(place, int) else repr(place)}")
        return tensors(plain(*map(plainly, args), **{key: plainly(value) for key, value in kwargs.items()}))

    try:
        signature = inspect.signature(plain)
    except (TypeError, ValueError):
        signature = None
    return _dressed(call, plain, name, signature, rule)


def watching(name: str, rule: Rule, callback: Callable[..., Any]) -> Callable[..., Any]:
    """A callback for numbers, which refuses to give one that is differentiated."""

    @functools.wraps(callback)
    def watched(*args: Any, **kwargs: Any) -> Any:
        out = callback(*map(tensors, args), **kwargs)
        if any(is_watched(leaf) for leaf in flatten(out)[0] if isinstance(leaf, Tensor)):
            raise no_rule(rule, f"what `{getattr(callback, '__name__', 'the callback')}` returns")
        return numbers(out)

    if not name.startswith("linalg.") or not isinstance(callback, FunctionType):
        return watched
    # Compiled code asks a function how many arguments it has. Others are called by the names of these.
    of_some: dict[int, Callable[..., Any]] = {1: lambda x: watched(x), 2: lambda x, y: watched(x, y)}
    return functools.wraps(callback)(of_some.get(callback.__code__.co_argcount, watched))


def no_rule(rule: Rule, what: str) -> AutogradError:
    """The refusal of a guard."""
    return AutogradError(
        "SCIPY_NO_RULE",
        f"scipy.{rule.name} has no derivative, and {what} is being differentiated",
        why=f"{rule.reason}; its result would be a constant, and the gradient wrong",
        fix="detach() what the result does not depend on, write it with pb functions, or give it a derivative with "
        "pb.func.implicit (a solution), pb.library.custom_op or pb.autograd.Function",
    )


# Between tensors and arrays.


def numbers(value: Any) -> Any:
    """`value` with arrays in the places of tensors."""
    if isinstance(value, Tensor):
        return value.detach().numpy()
    if type(value) in (list, tuple):
        return type(value)(map(numbers, value))
    if type(value) is dict:
        return {key: numbers(each) for key, each in value.items()}
    return plain_generator(value)


def plain_generator(value: Any) -> Any:
    """The random generator itself, in the place of what adapted code sees of it."""
    return value._real if type(value) in (Drawing, OldDrawing) else value


def tensors(value: Any) -> Any:
    """`value` with tensors in the places of arrays and numbers of NumPy's."""
    if isinstance(value, np.ndarray):
        return made_here(np.asarray(value)) if value.dtype.kind in "biufc" else value
    if isinstance(value, np.inexact):
        return made_here(np.asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        made = with_items(value, list(map(tensors, value)))
        for name, further in getattr(made, "__dict__", {}).items():
            made.__dict__[name] = tensors(further)
        return made
    if type(value) in (list, tuple):
        return type(value)(map(tensors, value))
    if isinstance(value, dict) and type(value).__module__.startswith("scipy"):  # an OptimizeResult
        for key in value:
            value[key] = tensors(value[key])
    return value


def joined(value: Any) -> Tensor:
    """What a callback returned, as one tensor: lists are stacked as NumPy would, and keep their derivatives."""
    if isinstance(value, Tensor):
        return value
    return pb.tensor(value) if isinstance(value, list | tuple) else pb.asarray(value)


def rule(function: Any) -> Rule:
    """What is known of a function of SciPy's, given itself or its name: kind, arguments with derivatives, reason.

    >>> pb.scipy.rule("optimize.brentq").kind
    'I'
    """
    if isinstance(function, str):
        name = function.removeprefix("scipy.")
    else:
        plain = getattr(function, "__wrapped__", function)
        module = getattr(plain, "__module__", "").removeprefix("scipy.").partition("._")[0]
        name = f"{module}.{getattr(plain, '__name__', '')}"
    package, _, own = name.rpartition(".")
    if package not in SUBPACKAGES or not hasattr(scipy_module(package), own):
        raise ValueError(f"SciPy has no {name!r}, or no derivative of it is asked for here")
    import_module(f"pullback.scipy.{package}")
    if name in _declared:
        return _declared[name]
    is_own = not is_function(getattr(scipy_module(package), own))
    return Rule(name, "=" if is_own else "X", reason="" if is_own else "it has no derivative here")


def rules() -> Mapping[str, Rule]:
    """`rule` of every public name of every subpackage."""
    return {
        f"{path}.{own}": rule(f"{path}.{own}")
        for path in SUBPACKAGES
        for own in public_names(path)
        if hasattr(scipy_module(path), own)
    }
