"""A network on torch's arrays
==============================

Fit a network whose arrays are torch's: on a GPU if there is one, on the CPU otherwise.

The tape is Pullback's, the arrays are another library's, and nothing leaves its device. Without torch the same program
runs on the arrays of array-api-strict.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

try:
    import torch

    place = "cuda" if torch.cuda.is_available() else "cpu"

    def on_device(values):
        """The values as an array of torch's."""
        return torch.as_tensor(values, device=place)
except ImportError:
    import array_api_strict

    on_device = array_api_strict.asarray

rng = np.random.default_rng(0)
points = rng.uniform(-2, 2, (256, 2))
heights = np.sin(points[:, :1]) * np.cos(points[:, 1:])

x, y = pb.foreign(on_device(points)), pb.foreign(on_device(heights))
shapes = [(2, 32), (32,), (32, 1), (1,)]
weights = [pb.foreign(on_device(rng.normal(size=shape) * 0.5), requires_grad=True) for shape in shapes]


def loss(weights):
    """The mean square of the errors of the network."""
    w1, b1, w2, b2 = weights
    error = pb.tanh(x @ w1 + b1) @ w2 + b2 - y
    return (error * error).mean()


first, values = loss(weights).item(), []
for _ in range(400):
    value = loss(weights)
    values.append(value.item())
    gradients = pb.autograd.grad(value, weights)
    with pb.no_grad():
        for w, g in zip(weights, gradients, strict=True):
            w -= 0.05 * g  # written in the library's own memory, where it can be written
print(f"on {weights[0].device}: the loss went from {first:.3f} to {value.item():.3f}")
print(f"a gradient is a {type(gradients[0].payload).__module__.partition('.')[0]} array of shape {gradients[0].shape}")
assert value.item() < first / 4
plt.semilogy(values)
plt.xlabel("step")
plt.ylabel("loss")
plt.show()
