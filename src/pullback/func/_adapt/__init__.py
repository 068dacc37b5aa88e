"""`adapt`: an unmodified NumPy function as one that can be differentiated."""

from __future__ import annotations

import functools
import linecache
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType
from types import coroutine as coroutine_of
from typing import Any

from pullback.core.doors import door
from pullback.core.frames import MARK, adapted_call
from pullback.errors import AutogradError
from pullback.func._adapt.numpy_proxy import is_numpy, numpy_value
from pullback.func._adapt.rewrite import ADAPTED, Rewriter, home_of
from pullback.func._adapt.scipy_callbacks import is_scipy, public_module
from pullback.func._made import Transformed, made_by


@door
def adapt(
    function: Callable[..., Any] | None = None, *, modules: Iterable[ModuleType | str] = ()
) -> Callable[..., Any]:
    """`function`, written for NumPy, as a function of tensors that can be differentiated. It is not modified.

    While it runs, `np` is a proxy of NumPy for it: arrays of real and complex numbers are tensors from the moment they
    are made. So `h = np.zeros(3)` followed by `h[0] = x` keeps the gradient, as do `np.array([x, y])` and `h += x`.

        def path_length(points):
            steps = np.zeros(len(points) - 1)
            for i in range(len(steps)):
                steps[i] = np.sqrt(np.sum((points[i + 1] - points[i]) ** 2))
            return steps.sum()

        points = pb.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]], requires_grad=True)
        pb.func.adapt(path_length)(points).backward()

    **Seen** are the function and what it uses, in its own module and in others: helper functions, decorated functions,
    closures, default arguments, methods and objects of classes, `functools.partial`, tables of functions; NumPy under
    any name (`from numpy import sin`, `import numpy.linalg as la`, an import in the function); and the functions of
    `math` and `cmath`, `float`, `complex`, `round`, `x.item()` and `x.tolist()`, which stay differentiable. `type(x)`
    and `isinstance(x, ...)` take a tensor for the array or NumPy's number that it stands for. Functions of SciPy that
    Pullback has too, as `scipy.linalg.expm`, `stats.norm.logpdf` or `optimize.minimize`, keep gradients.

    **Not seen** are Python's own modules and libraries such as pandas, matplotlib or torch, unless `modules` names
    them; compiled code; and classes with `__slots__`, a metaclass, `__new__` or `__init_subclass__`. They run as they
    are. Where a tensor with a gradient would become an array there, the error has code `ADAPT_UNSEEN` and says what to
    name; other uses are refused or, for `float(x)` and `math`, warned about as outside of `adapt`. A function of
    SciPy's that has no derivative here is given constants only: `SCIPY_NO_RULE`.
    `int(x)` and comparisons give plain values, as everywhere.

    **Arrays** among the arguments, in globals and in attributes of objects are seen as tensors on the same memory.
    Values with a gradient may be written to them, and the gradient flows on from there within the call. Afterwards the
    array has the numbers, and a `DetachedArrayWarning` says so unless the function returned it; hand over a tensor
    instead to keep the gradient there too. A leaf that requires grad is handed over as a copy, so that the function may
    write to its argument. A tensor without axes behaves as NumPy's numbers do: `old = x[0]` is a copy, and
    `total += x[0]` makes a new one. Arrays of whole numbers and truth values stay NumPy arrays. What backward needs may
    be overwritten, as by `y = np.exp(x); y += 1`: it is copied first.

    Nothing is left behind after the call, also when it fails, except what the function itself assigned: attributes,
    and `global` names, which reach the module when the call ends. Results are ordinary tensors. Calls may be nested,
    run in several threads, and be given to `grad`, `vmap` and the other transforms, which adapted code may also use.
    Generators and coroutines are adapted whenever they run.

    >>> def lengths(points):
    ...     out = np.zeros(len(points))
    ...     for k in range(len(points)):
    ...         out[k] = np.sqrt(np.sum(points[k] ** 2))
    ...     return out
    >>> pb.grad(lambda points: pb.func.adapt(lengths)(points).sum())(pb.tensor([[3.0, 4.0]]))
    tensor([[0.6, 0.8]])
    """
    if function is None:
        return functools.partial(adapt, modules=modules)
    named = frozenset(_module_names(modules))
    if is_numpy(function) and not isinstance(function, type):
        return made_by(adapt, function)(numpy_value(function))
    home = home_of(function)
    if home is None or isinstance(function, type):
        raise TypeError(
            f"adapt: expected a Python function, method, partial or callable object, got {function!r}. Inside of "
            "compiled code NumPy cannot be replaced; write a pb.autograd.Function for it"
        )
    return _adapted(function, home, named)


def _module_names(modules: Iterable[ModuleType | str]) -> Iterator[str]:
    if isinstance(modules, (str, ModuleType)):
        raise TypeError("adapt: modules= takes a list of modules, such as modules=[helpers]")
    for module in modules:
        name = module.__name__ if isinstance(module, ModuleType) else module
        if not isinstance(name, str):
            raise TypeError(f"adapt: modules= takes modules or their names, got {module!r}")
        if name.partition(".")[0] in ("numpy", "pullback", "scipy"):
            raise ValueError(f"adapt: {name} is not a module to see into: its functions take tensors already")
        yield name


def _adapted(function: Callable[..., Any], home: FunctionType, named: frozenset[str]) -> Callable[..., Any]:
    def adapted(*args: Any, **kwargs: Any) -> Any:
        own = getattr(home, "__wrapped__", home)  # in a trace, which is told what it returns
        rewriter = Rewriter(own, named, adapted_call(sys._getframe(1)))
        result = None
        try:
            with _Running(rewriter):
                inner = rewriter.see(function)
                given = {name: rewriter.see_argument(arg) for name, arg in kwargs.items()}
                result = inner(*map(rewriter.see_argument, args), **given)
            if isinstance(result, AsyncGeneratorType):
                raise TypeError(f"adapt: {home.__qualname__} is an async generator; adapt the function that it calls")
            if isinstance(result, _RESUMED):
                return _resume(result, rewriter) if isinstance(result, GeneratorType) else _await(result, rewriter)
            out = rewriter.result(result)
        finally:
            if not isinstance(result, _RESUMED):
                rewriter.finish()
        rewriter.check({**dict(enumerate(args)), **kwargs})
        return out

    made = Transformed(adapted)
    functools.update_wrapper(made, function, updated=())
    made.recipe = (adapt, function, (), {"modules": sorted(named)})
    setattr(made, ADAPTED, True)
    return made


_RESUMED = (GeneratorType, CoroutineType)
"""What runs after the call, by turns."""


def _resume(generator: Any, rewriter: Rewriter) -> Generator[Any, Any, Any]:
    """A generator or coroutine, adapted whenever it runs. What it assigns is stored when it ends."""
    resume = functools.partial(generator.send, None)
    try:
        while True:
            try:
                with _Running(rewriter):
                    value = resume()
            except StopIteration as end:
                out = rewriter.result(end.value)
                break
            try:
                resume = functools.partial(generator.send, (yield rewriter.result(value)))
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
    finally:
        rewriter.finish()
    rewriter.check({})
    return out


async def _await(coroutine: Any, rewriter: Rewriter) -> Any:
    return await coroutine_of(_resume)(coroutine, rewriter)


class _Running:
    """While adapted code runs, its errors say what was not seen."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        unseen = None if error is None else _explain(error, self.rewriter)
        if unseen is not None:
            raise unseen from error


# Errors ---------------------------------------------------------------------------------------------------------------


def _explain(error: BaseException, rewriter: Rewriter) -> AutogradError | None:
    """The error for a gradient that would have been lost where `adapt` cannot see; None if this is another error."""
    cause: BaseException | None = error
    while cause is not None and getattr(cause, "code", "") not in ("NUMPY_ON_GRAD", "SCIPY_ON_GRAD"):
        cause = cause.__cause__
    if cause is None:
        return None
    frame, line = _place(error)
    name, module = frame.f_code.co_qualname, frame.f_globals.get("__name__", "?")
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    where = f"{frame.f_code.co_filename}:{line}" + (f": {text}" if text else "")
    why = "a NumPy array or a compiled function met a tensor that requires grad, and its gradient would be lost"
    if MARK in frame.f_globals:
        return AutogradError(
            "ADAPT_UNSEEN", f"adapt cannot see into what `{name}` calls or writes to here", where=where, why=why,
            fix="use NumPy's functions here, make the array of real numbers in the adapted function (arrays with "
            "fields, masked arrays and arrays of objects stay NumPy's), or write a pb.autograd.Function",
        )  # fmt: skip
    if rewriter.is_visible_module(module):
        return AutogradError(
            "ADAPT_UNSEEN", f"adapt did not see `{name}`: it was reached through a class or code it does not see into",
            where=where, why=why, fix="call it from a function that is seen, or hand over pb.func.adapt of it",
        )  # fmt: skip
    fix = f"adapt(f, modules=[{module!r}]) if its objects and functions are Python code written for NumPy"
    if is_scipy(module):
        module = public_module(module)
        fix = "use pb.special, pb.linalg, pb.fft, pb.signal or NumPy's functions, or write a pb.autograd.Function"
    return AutogradError(
        "ADAPT_UNSEEN", f"adapt does not see into `{module}`, whose function `{name}` was called", where=where, why=why,
        fix=fix,
    )  # fmt: skip


def _place(error: BaseException) -> tuple[FrameType, int]:
    """The innermost frame of the user's, and the line it was at."""
    trace = error.__traceback__
    assert trace is not None
    place = trace.tb_frame, trace.tb_lineno
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in ("pullback", "numpy"):
            place = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return place
