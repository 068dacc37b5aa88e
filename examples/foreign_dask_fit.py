"""A fit to more than memory holds
==================================

Fit a line to more numbers than fit into memory, with dask: one pass over the data for each step.

Forward and backward build dask's graph and compute nothing; `pb.interop.compute` runs both at once.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

try:
    import dask
    import dask.array as da
except ImportError:
    sys.exit("dask is not installed: pip install 'dask[array]'")

dask.config.set(scheduler="synchronous")
slope, offset = 1.7, -0.4
data = da.random.default_rng(0)
xs = data.uniform(-1, 1, size=100_000, chunks=20_000)  # stands for files on a disk
ys = slope * xs + offset + 0.1 * data.standard_normal(size=100_000, chunks=20_000)

x, y = pb.foreign(xs), pb.foreign(ys)
parameters = np.zeros(2)
for _ in range(12):
    p = pb.tensor(parameters).to("dask").requires_grad_()
    error = p[0] * x + p[1] - y
    loss = (error * error).mean()
    (gradient,) = pb.autograd.grad(loss, p)
    value, step = pb.interop.compute(loss, gradient)
    parameters -= 0.6 * step
few = slice(0, 500)
plt.plot(xs[few].compute(), ys[few].compute(), ".", ms=3, color="lightgray", label="some of the data")
plt.plot([-1, 1], parameters[1] + parameters[0] * np.array([-1, 1]), label="fit")
plt.legend()
plt.show()
print(f"slope {parameters[0]:.2f}, offset {parameters[1]:.2f}, loss {value:.4f}")
assert abs(parameters[0] - slope) < 0.05 and abs(parameters[1] - offset) < 0.05
