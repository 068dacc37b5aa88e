"""Distributions of vectors and matrices, by all arguments: SciPy's own text on tensors, and draws of normal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._composed import anchored, has_numbers, real_or_complex, refused, watches
from pullback.scipy._replay import replay
from pullback.scipy._surface import joined, numbers, tensors
from pullback.tensors.tensor import Tensor

_DENSITY = ("pdf", "logpdf")
_COUNTS = ("pmf", "logpmf")

# By name: what has derivatives, as a test has compared (tests/scipy/test_stats_more.py).
ACCEPTED: dict[str, tuple[str, ...]] = {
    "multivariate_normal": (*_DENSITY, "rvs", "entropy", "cdf"),
    "multivariate_t": _DENSITY,
    "dirichlet": (*_DENSITY, "entropy", "mean", "var", "cov"),
    "wishart": (*_DENSITY, "mean", "var", "mode"),
    "invwishart": _DENSITY,
    "matrix_normal": _DENSITY,
    "matrix_t": _DENSITY,
    "multinomial": _COUNTS,
    "dirichlet_multinomial": _COUNTS,
    "vonmises_fisher": _DENSITY,
    "normal_inverse_gamma": _DENSITY,
}


class Multivariate:
    """One of SciPy's distributions of vectors or matrices, with parameters given or not."""

    def __init__(self, real: Any, name: str, args: tuple[Any, ...] = (), kwds: dict[str, Any] | None = None) -> None:
        self._real = real
        self._name = name
        self._args = args
        self._kwds = kwds or {}
        self.__doc__ = f"`scipy.stats.{name}` with derivatives."

    def __call__(self, *args: Any, **kwds: Any) -> Multivariate:
        if not watches((args, kwds)):
            self._real(*map(numbers, args), **{key: numbers(each) for key, each in kwds.items()})  # SciPy's checks
        kwds.pop("seed", None)
        return Multivariate(self._real, self._name, args, kwds)

    def __getattr__(self, name: str) -> Any:
        if name in self._kwds:
            return self._kwds[name]
        real = getattr(self._real, name, None)
        if real is None:  # an attribute of one with parameters, as `cov`
            named = {key: numbers(each) for key, each in self._kwds.items()}
            real = getattr(self._real(*map(numbers, self._args), **named), name)
        if not callable(real):
            return real

        def call(*args: Any, **kwds: Any) -> Any:
            if name.startswith("_"):  # SciPy's own text asks
                return replay(real, *args, **kwds)
            args, kwds = (*args, *self._args), {**self._kwds, **kwds}
            if not watches((args, kwds)):
                return tensors(real(*map(numbers, args), **{key: numbers(each) for key, each in kwds.items()}))
            if name not in ACCEPTED.get(self._name, ()):
                raise refused(f"stats.{self._name}.{name}", "it has no derivative here")
            if name in _COUNTS and watches((args[:1], kwds.get("x"))):
                raise refused(f"stats.{self._name}.{name}", "`x` counts outcomes", "SCIPY_DISCRETE_ARG", "`x`")
            ours = _OWN.get((self._name, name))
            if ours is not None:
                return ours(*args, **kwds)
            if self._name in _BY_EIGENVECTORS:
                _check_gaps(f"stats.{self._name}.{name}", (*args[1:], *kwds.values()))
            return replay(getattr(self._real, name), *args, **kwds)

        return call


_BY_EIGENVECTORS = ("multivariate_t", "matrix_t")  # of their matrices, in SciPy's text


def _check_gaps(name: str, given: tuple[Any, ...]) -> None:
    """Refuse a differentiated matrix with equal eigenvalues: what eigenvectors of these contribute is lost."""
    for matrix in given:
        if isinstance(matrix, Tensor) and watches(matrix) and matrix.ndim == 2 and has_numbers(matrix):
            values = np.linalg.eigvalsh(numbers(matrix))
            if len(values) > 1 and np.diff(values).min() <= 1e-10 * np.abs(values).max():
                raise refused(name, "its matrix has two equal eigenvalues, as a multiple of the identity", what="it")


# The normal distribution.


def _normal_parameters(mean: Any, cov: Any) -> tuple[Tensor, Tensor]:
    """As SciPy reads them: a number is the variance of each, a vector the variances."""
    cov = real_or_complex(joined(cov))
    size = joined(mean).size if mean is not None else max(1, cov.shape[-1] if cov.ndim else 1)
    mean = pb.zeros(size) if mean is None else real_or_complex(joined(mean)).reshape(-1)
    if cov.ndim < 2:
        cov = cov * pb.eye(size) if cov.size == 1 else pb.diag(cov)
    return mean, cov


def _log_normal(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Tensor:
    """Of every row of `x`; SciPy too reads one triangle of `cov`."""
    if allow_singular or not isinstance(cov, Tensor | np.ndarray | list | float | int):
        from scipy.stats import multivariate_normal

        return replay(multivariate_normal.logpdf, x, mean, cov, allow_singular)
    mean, cov = _normal_parameters(mean, cov)
    size = mean.shape[0]
    x = real_or_complex(joined(x))
    x = x.reshape(-1, 1) if x.ndim == 1 and size == 1 else x
    off = x - mean
    root = pb.linalg.cholesky(cov)
    scaled = pb.linalg.solve_triangular(root, off.reshape(-1, size).T, upper=False)
    value = -0.5 * (scaled * scaled).sum(axis=0) - pb.log(pb.diagonal(root)).sum() - 0.5 * size * np.log(2 * np.pi)
    return pb.squeeze(value.reshape(off.shape[:-1])) if off.ndim > 1 else value.reshape(())


def _draw(mean: Any = None, cov: Any = 1, size: Any = 1, random_state: Any = None) -> Tensor:
    """Whitened by the Cholesky factor, which is how the draws move with the covariance."""
    from scipy.stats import multivariate_normal

    mean, cov = _normal_parameters(mean, cov)
    plain = np.asarray(
        multivariate_normal.rvs(numbers(mean), numbers(cov), size=size, random_state=numbers(random_state))
    )
    rows = plain.reshape(-1, mean.shape[0])
    root = pb.linalg.cholesky(cov)
    white = np.linalg.solve(numbers(root.detach()), (rows - numbers(mean.detach())).T)
    return anchored(lambda *_: plain, lambda mean, root: (mean + (root @ white).T).reshape(plain.shape), mean, root)


def _entropy(mean: Any = None, cov: Any = 1) -> Tensor:
    _, cov = _normal_parameters(mean, cov)
    return 0.5 * (cov.shape[0] * (1 + np.log(2 * np.pi)) + pb.linalg.slogdet(cov)[1])


def _cdf(x: Any, mean: Any = None, cov: Any = 1, *args: Any, **kwds: Any) -> Tensor:
    """In one and two dimensions: by one coordinate, the density there times the probability of the other given it."""
    mean, cov = _normal_parameters(mean, cov)
    if args or kwds or mean.shape[0] > 2:
        raise refused("stats.multivariate_normal.cdf", "it has derivatives in one and two dimensions without options")
    x = real_or_complex(joined(x)) - mean
    if mean.shape[0] == 1:
        return pb.special.ndtr(x / pb.sqrt(cov[0, 0])).reshape(x.shape[:-1])
    s, t = pb.sqrt(cov[0, 0]), pb.sqrt(cov[1, 1])
    h, k, rho = x[..., 0] / s, x[..., 1] / t, cov[0, 1] / (s * t)
    return _two(h, k, rho)


def _two(h: Tensor, k: Tensor, rho: Tensor) -> Tensor:
    """The probability of two standard normal variables below `h` and `k`, by Owen's function."""
    rest = pb.sqrt((1 - rho) * (1 + rho))
    zero_h, zero_k = (numbers(each.detach()) == 0 for each in (h, k))
    safe_h, safe_k = pb.where(zero_h, 1e-300, h), pb.where(zero_k, 1e-300, k)
    t = pb.special.owens_t
    parts = t(h, (k / safe_h - rho) / rest) + t(k, (h / safe_k - rho) / rest)
    signs = numbers((h * k).detach())
    is_opposite = (signs < 0) | ((signs == 0) & (numbers((h + k).detach()) < 0))
    return 0.5 * (pb.special.ndtr(h) + pb.special.ndtr(k)) - parts - np.where(is_opposite, 0.5, 0.0)


def _log_matrix_normal(X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Tensor:
    """By Cholesky factors: SciPy takes eigenvectors, which have no derivatives where eigenvalues are equal."""
    x = real_or_complex(joined(X))
    n, p = x.shape[-2:]
    roots = []
    for cov, size in ((rowcov, n), (colcov, p)):
        cov = real_or_complex(joined(cov))
        cov = cov if cov.ndim == 2 else cov * pb.eye(size) if cov.size == 1 else pb.diag(cov)
        roots.append(pb.linalg.cholesky(cov))
    off = x if mean is None else x - real_or_complex(joined(mean))
    off = pb.linalg.solve(roots[0], off)
    off = pb.linalg.solve(roots[1], pb.swapaxes(off, -1, -2))
    logs = [pb.log(pb.diagonal(root)).sum() for root in roots]
    return -0.5 * (n * p * np.log(2 * np.pi) + pb.sum(off * off, axis=(-2, -1))) - p * logs[0] - n * logs[1]


def _log_inverse_wishart(x: Any, df: Any, scale: Any) -> Tensor:
    x, df, scale = (real_or_complex(joined(each)) for each in (x, df, scale))
    scale = pb.diag(scale) if scale.ndim == 1 else scale.reshape(1, 1) if not scale.ndim else scale
    side = scale.shape[-1]
    if x.ndim == 1 and side > 1:
        x = pb.diag(x)
    elif x.ndim < 2:
        x = x * pb.eye(side) if not x.ndim else x[:, None, None]
    elif x.ndim == 3:  # the last axis has the quantiles
        x = pb.moveaxis(x, -1, 0)
    x, scale = (pb.tril(each) + pb.swapaxes(pb.tril(each, -1), -1, -2) for each in (x, scale))  # what SciPy reads
    logs = pb.linalg.slogdet(scale)[1], pb.linalg.slogdet(x)[1]
    inner = pb.sum(scale * pb.swapaxes(pb.linalg.inv(x), -1, -2), axis=(-2, -1))
    constant = 0.5 * df * side * np.log(2.0) + pb.special.multigammaln(df / 2, side)
    return 0.5 * df * logs[0] - 0.5 * (df + side + 1) * logs[1] - 0.5 * inner - constant


_OWN: dict[tuple[str, str], Any] = {
    ("multivariate_normal", "logpdf"): _log_normal,
    ("multivariate_normal", "pdf"): lambda *args, **kwds: pb.exp(_log_normal(*args, **kwds)),
    ("multivariate_normal", "rvs"): _draw,
    ("multivariate_normal", "entropy"): _entropy,
    ("multivariate_normal", "cdf"): _cdf,
    ("matrix_normal", "logpdf"): _log_matrix_normal,
    ("matrix_normal", "pdf"): lambda *args, **kwds: pb.exp(_log_matrix_normal(*args, **kwds)),
    ("invwishart", "logpdf"): _log_inverse_wishart,
    ("invwishart", "pdf"): lambda *args, **kwds: pb.exp(_log_inverse_wishart(*args, **kwds)),
}
