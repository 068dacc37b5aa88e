"""`minimize`, `least_squares` and `root`: SciPy's solvers on trees, with derivatives from Pullback.

The tree becomes one vector of float64, SciPy does the work, and the answer becomes a tree again. To differentiate by
what the solution depends on, use `pb.scipy.optimize`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import pullback as pb
from pullback._sites import not_installed
from pullback.core.progress import Progress, TimeUp, shown
from pullback.core.pytree import flatten, map_leaves
from pullback.core.reports import INFO, report
from pullback.tree import ravel

_WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_WITH_HESSIAN = {"dogleg", "trust-exact", "trust-constr"}  # those that take a whole matrix
_WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov"}  # those that multiply with the Hessian


def minimize(
    function: Callable[..., Any], tree: Any, *, method: str | None = None, bounds: Any = None, constraints: Any = (),
    hess: str | None = "auto", compile: bool = True, tol: float | None = None, callback: Any = None,
    progress: Progress = None, timeout: float | None = None, **options: Any,
) -> Any:  # fmt: skip
    """The minimum of a function of a tree: SciPy's result, whose `x` and `jac` are trees like `tree`, the start.

    `method` is one of `scipy.optimize.minimize`. Value and gradient come from one call, which is compiled unless
    `compile=False`. Methods that want second derivatives get them: as products with a vector, or, where a method takes
    nothing else, as a matrix; `hess="hvp"` asks for products where both are possible, and None for none. `bounds` is a
    pair of trees, or of numbers, for all below and above; None is no bound. `constraints` are SciPy's, and their
    functions take trees. `options` are those of the method. `progress` shows the iterations: True shows a bar, a
    function is called with `(done, total, label)`. After `timeout` seconds the result is where the search is by then,
    with `success` False.

    >>> start = {"x": pb.tensor(-1.2), "y": pb.tensor(1.0)}
    >>> found = pb.optim.minimize(lambda t: (1 - t["x"]) ** 2 + 100 * (t["y"] - t["x"] ** 2) ** 2, start)
    >>> found.success, found.x["x"].round(decimals=4)
    (True, tensor(1.))
    """
    optimize = _optimize()
    x0, unravel = _start(tree)
    name = (method or "").lower()
    loss = lambda x: function(unravel(x))
    if hess not in ("auto", "hvp", None):
        raise ValueError(f"pb.optim.minimize: hess must be 'auto', 'hvp' or None, got {hess!r}")
    make = pb.compile if compile else _as_it_is
    given: dict[str, Any] = {}
    if name in _WITHOUT_GRADIENT:
        value = make(loss)
        fun: Any = lambda x: float(value(pb.tensor(x)))
    else:
        both = make(pb.func.value_and_grad(loss))
        fun = lambda x: _numbers(*both(pb.tensor(x)))
        given["jac"] = True
    if hess is not None and (name in _WITH_PRODUCTS or (name == "trust-constr" and hess == "hvp")):
        product = make(lambda x, v: pb.func.jvp(pb.func.grad(loss), (x,), (v,))[1])
        given["hessp"] = lambda x, v: _array(product(pb.tensor(x), pb.tensor(v)))
    elif hess is not None and name in _WITH_HESSIAN:
        matrix = make(pb.func.hessian(loss))
        given["hess"] = lambda x: _array(matrix(pb.tensor(x)))
    if bounds is not None:
        given["bounds"] = optimize.Bounds(*_bounds(bounds, tree, x0.size))
    if constraints:
        given["constraints"] = [_constraint(each, unravel, make, optimize) for each in _listed(constraints)]
    search = lambda: optimize.minimize(fun, x0, method=method, tol=tol, options=options or None, **given)
    last = [x0]
    with shown(progress, int(options.get("maxiter") or 200 * x0.size), "minimize", timeout) as bar:

        def each(intermediate_result: Any) -> Any:
            last.append(np.array(getattr(intermediate_result, "x", intermediate_result)))
            bar.advance()
            return None if callback is None else callback(_in_trees(intermediate_result, unravel))

        if callback is not None or timeout is not None or bar.is_shown or callable(progress):
            given["callback"] = each
        try:
            result = search()
        except TimeUp:
            at = fun(last[-1])
            value, slope = at if isinstance(at, tuple) else (at, None)
            said = f"stopped after {timeout} seconds, as timeout= asks"
            result = optimize.OptimizeResult(
                x=last[-1], fun=value, jac=slope, success=False, status=-1, message=said, nit=len(last) - 1
            )
    report(f"minimize by {method or 'the default'}: {result.message}", "optim", INFO)
    return _in_trees(result, unravel)


def least_squares(
    function: Callable[..., Any], tree: Any, *, bounds: Any = None, compile: bool = True, progress: Progress = None,
    **options: Any,
) -> Any:  # fmt: skip
    """The tree where the sum of squares of what `function` returns is smallest: SciPy's result, whose `x` and `grad`
    are trees like the start. `options` are those of `scipy.optimize.least_squares`. `progress` counts the Jacobians:
    True shows a bar, a function is called with `(done, total, label)`.

    >>> t = pb.linspace(0.0, 1.0, 5)
    >>> residuals = lambda p: p["height"] * pb.exp(-p["rate"] * t) - 2 * pb.exp(-3 * t)
    >>> found = pb.optim.least_squares(residuals, {"height": pb.tensor(1.0), "rate": pb.tensor(1.0)})
    >>> found.x["rate"].round(decimals=6)
    tensor(3.)
    """
    optimize = _optimize()
    x0, unravel = _start(tree)
    make = pb.compile if compile else _as_it_is
    residuals = lambda x: ravel(function(unravel(x)))[0]
    value, slopes = make(residuals), make(_jacobian(residuals, x0))
    low, high = _bounds(bounds, tree, x0.size)
    with shown(progress, int(options.get("max_nfev") or 100 * x0.size), "least_squares") as bar:

        def jac(x: Any) -> Any:
            bar.advance()
            return _array(slopes(pb.tensor(x)))

        result = optimize.least_squares(lambda x: _array(value(pb.tensor(x))), x0, jac, (low, high), **options)
    report(f"least_squares: {result.message}", "optim", INFO)
    return _in_trees(result, unravel)


def root(
    function: Callable[..., Any], tree: Any, *, method: str = "hybr", tol: float | None = None, compile: bool = True,
    **options: Any,
) -> Any:  # fmt: skip
    """The tree where `function`, which returns as many numbers as the tree has, is zero: SciPy's result, whose `x` is
    a tree like the start. `method` is one of `scipy.optimize.root`, and `options` are its own.

    >>> found = pb.optim.root(lambda t: {"a": t["x"] + t["y"] - 3, "b": t["x"] - t["y"] ** 2 + 3},
    ...                       {"x": pb.tensor(1.0), "y": pb.tensor(1.0)})
    >>> found.x["y"].round(decimals=6)
    tensor(2.)
    """
    optimize = _optimize()
    x0, unravel = _start(tree)
    make = pb.compile if compile else _as_it_is
    equations = lambda x: ravel(function(unravel(x)))[0]
    value, slopes = make(equations), make(_jacobian(equations, x0))
    jac = {"jac": lambda x: _array(slopes(pb.tensor(x)))} if method in ("hybr", "lm") else {}
    found = optimize.root(
        lambda x: _array(value(pb.tensor(x))), x0, method=method, tol=tol, options=options or None, **jac
    )
    return _in_trees(found, unravel)


def _optimize() -> Any:
    """SciPy's module."""
    try:
        return import_module("scipy.optimize")
    except ImportError as error:
        raise not_installed("pb.optim.minimize, least_squares or root", "SciPy", "scipy") from error


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _jacobian(function: Callable[..., Any], x0: Any) -> Callable[..., Any]:
    """The Jacobian by whichever direction needs fewer passes."""
    rows = function(pb.tensor(x0)).shape[0]
    return pb.func.jacfwd(function) if x0.size <= rows else pb.func.jacrev(function)


def _start(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    vector, unravel = ravel(pb.tree.detach(tree))
    if vector.dtype.kind != "f":
        raise TypeError(f"SciPy searches real numbers, and the tree has {vector.dtype}; give floating-point numbers")
    return np.array(vector.numpy(), float), unravel


def _numbers(value: Any, gradient: Any) -> tuple[float, Any]:
    return float(value.detach()), _array(gradient)


def _array(tensor: Any) -> Any:
    # A copy: solvers keep and overwrite what they are given.
    return np.array(tensor.detach().numpy(), float)


def _bounds(bounds: Any, tree: Any, size: int) -> tuple[Any, Any]:
    """The lower and the upper bounds of all numbers of the tree."""
    if bounds is None:
        return np.full(size, -np.inf), np.full(size, np.inf)
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise TypeError("bounds must be a pair: a tree or a number of what is below, and one of what is above")
    return _bound(bounds[0], tree, -np.inf), _bound(bounds[1], tree, np.inf)


def _bound(bound: Any, tree: Any, free: float) -> Any:
    def filled(leaf: Any, own: Any) -> Any:
        value = free if own is None else own.detach() if isinstance(own, pb.Tensor) else own
        return np.broadcast_to(np.asarray(value, float), np.shape(leaf)).ravel()

    for_all = bound is None or isinstance(bound, int | float)
    parts = map_leaves(lambda leaf: filled(leaf, bound), tree) if for_all else map_leaves(filled, tree, bound)
    return np.concatenate(flatten(parts)[0])


def _listed(constraints: Any) -> list[Any]:
    return list(constraints) if isinstance(constraints, list | tuple) else [constraints]


def _constraint(given: Any, unravel: Callable[[Any], Any], make: Callable[..., Any], optimize: Any) -> Any:
    """A constraint of SciPy's whose function takes a tree, as one of a vector with its Jacobian."""
    if isinstance(given, optimize.LinearConstraint):
        return given  # a matrix for the vector that pb.tree.ravel makes
    own = given["fun"] if isinstance(given, dict) else given.fun
    value = lambda x: pb.asarray(own(unravel(x))).reshape((-1,))
    values, slopes = make(value), make(pb.func.jacrev(value))
    fun, jac = lambda x: _array(values(pb.tensor(x))), lambda x: _array(slopes(pb.tensor(x)))
    if isinstance(given, dict):
        return {**given, "fun": fun, "jac": jac}
    return optimize.NonlinearConstraint(fun, given.lb, given.ub, jac=jac, keep_feasible=given.keep_feasible)


def _in_trees(result: Any, unravel: Callable[[Any], Any]) -> Any:
    """A result of SciPy's whose points and gradients are trees."""
    for name in ("x", "jac", "grad"):
        vector = result.get(name)
        is_one = isinstance(vector, np.ndarray) and vector.ndim == 1 and vector.shape == np.shape(result.get("x"))
        if name == "x" or is_one:
            result[f"_{name}"] = vector
    for name in ("x", "jac", "grad"):
        if f"_{name}" in result:
            result[name] = unravel(pb.tensor(result.pop(f"_{name}")))
    return result
