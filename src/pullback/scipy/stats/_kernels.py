"""`gaussian_kde` by points, data, weights and bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._composed import real_or_complex, refused, watches
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import joined, numbers, scipy_module
from pullback.tensors.tensor import Tensor


class gaussian_kde(metaclass=PerExample):
    """`scipy.stats.gaussian_kde` with derivatives."""

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        bandwidth = bw_method.detach().item() if isinstance(bw_method, Tensor) else bw_method
        given = numbers(joined(dataset).detach()), None if weights is None else numbers(joined(weights).detach())
        # SciPy's own looks at what was given, and draws.
        self._plain = scipy_module("stats").gaussian_kde(given[0], None if callable(bandwidth) else bandwidth, given[1])
        self.dataset = pb.atleast_2d(real_or_complex(joined(dataset)))
        self.d, self.n = self.dataset.shape
        weights = pb.ones(self.n) if weights is None else real_or_complex(joined(weights))
        self.weights = weights / weights.sum()
        self.neff = 1 / (self.weights**2).sum()
        self.set_bandwidth(bw_method)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Let the kernel be this wide."""
        if bw_method is None or bw_method == "scott":
            self.factor: Any = self.scotts_factor()
        elif isinstance(bw_method, str) and bw_method == "silverman":
            self.factor = self.silverman_factor()
        elif callable(bw_method) and not isinstance(bw_method, Tensor):
            self.factor = joined(bw_method(self))
        else:
            self.factor = joined(bw_method)
        middle = self.dataset @ self.weights
        off = self.dataset - middle[:, None]
        self._data_covariance = (off * self.weights) @ off.T / (1 - (self.weights**2).sum())
        self.covariance = self._data_covariance * self.factor**2
        self._root = pb.linalg.cholesky(self.covariance)

    def covariance_factor(self) -> Any:
        """How wide the kernel is, in standard deviations of the data."""
        return self.factor

    def scotts_factor(self) -> Tensor:
        """By Scott's rule."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Tensor:
        """By Silverman's rule."""
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    @property
    def inv_cov(self) -> Tensor:
        """The inverse of the kernel's covariance."""
        return pb.linalg.inv(self.covariance)

    def logpdf(self, x: Any) -> Tensor:
        """The logarithm of the estimated density at points."""
        return pb.logsumexp(self._logs(x, self._root) + pb.log(self.weights), axis=1)

    def evaluate(self, points: Any) -> Tensor:
        """The estimated density at points."""
        return pb.sum(pb.exp(self._logs(points, self._root)) * self.weights, axis=1)

    __call__ = evaluate

    def pdf(self, x: Any) -> Tensor:
        """The estimated density at points."""
        return self.evaluate(x)

    def _logs(self, points: Any, root: Tensor) -> Tensor:
        """Of the kernel of each of the data, at each of the points."""
        at = pb.atleast_2d(real_or_complex(joined(points)))
        if at.shape[0] != self.d:
            if at.shape != (1, self.d):
                raise ValueError(f"points have dimension {at.shape[0]}, dataset has dimension {self.d}")
            at = at.reshape((self.d, 1))
        white = lambda x: pb.linalg.solve_triangular(root, x, upper=False)
        off = white(at)[:, :, None] - white(self.dataset)[:, None, :]
        scale = pb.log(pb.diagonal(root)).sum() + 0.5 * self.d * np.log(2 * np.pi)
        return -0.5 * (off**2).sum(axis=0) - scale

    def integrate_gaussian(self, mean: Any, cov: Any) -> Tensor:
        """The integral of the estimate times a normal density."""
        mean = pb.atleast_1d(real_or_complex(joined(mean)))
        root = pb.linalg.cholesky(self.covariance + pb.atleast_2d(joined(cov)))
        return (pb.exp(self._logs(mean[:, None], root))[0] * self.weights).sum()

    def integrate_box_1d(self, low: Any, high: Any) -> Tensor:
        """The probability between two numbers."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        spread, data = pb.sqrt(self.covariance[0, 0]), self.dataset[0]
        ends = [pb.special.ndtr((joined(end) - data) / spread) for end in (low, high)]
        return (self.weights * (ends[1] - ends[0])).sum()

    def integrate_kde(self, other: Any) -> Tensor:
        """The integral of two estimates times each other."""
        small, large = (self, other) if self.n < other.n else (other, self)
        root = pb.linalg.cholesky(small.covariance + large.covariance)
        logs = large._logs(small.dataset, root)
        return (pb.exp(logs) * large.weights * small.weights[:, None]).sum()

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None, **options: Any) -> Any:
        """The probability of a box, of numbers."""
        if watches((low_bounds, high_bounds, self.covariance, self.dataset)):
            raise refused("stats.gaussian_kde.integrate_box", "its probability has no formula")
        return self._plain.integrate_box(numbers(low_bounds), numbers(high_bounds), maxpts, **options)

    def resample(self, size: Any = None, seed: Any = None) -> Tensor:
        """Draws of the estimate: constants."""
        return pb.asarray(self._plain.resample(size, seed))

    def marginal(self, dimensions: Any) -> gaussian_kde:
        """The estimate of some of the coordinates."""
        chosen = np.atleast_1d(dimensions)
        return gaussian_kde(self.dataset[chosen], bw_method=self.factor, weights=self.weights)


def from_scipy(plain: Any) -> gaussian_kde:
    """What stands for an estimate of SciPy's."""
    return gaussian_kde(plain.dataset, bw_method=float(plain.factor), weights=plain.weights)
