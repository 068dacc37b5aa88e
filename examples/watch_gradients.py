"""Watch and change gradients
=============================

Look at gradients on their way, change them, and decide where saved values are kept.

Hooks see (and may replace) the gradient of a tensor when backward computes it. Saved-tensor hooks see every value that
the tape keeps for backward: here they are stored in half the space, as float32, and restored on demand.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


def watch():
    """Print the gradients of a small network layer by layer, and clip one of them."""
    rng = np.random.default_rng(1)
    x = pb.asarray(rng.standard_normal((16, 4)))
    weights = [pb.tensor(rng.standard_normal((4, 4)), requires_grad=True) for _ in range(3)]

    norms = {}
    h = x
    for number, weight in enumerate(weights):
        h = pb.tanh(h @ weight)
        h.register_hook(lambda g, number=number: norms.update({number: float((g * g).sum()) ** 0.5}))
    weights[0].register_hook(lambda g: pb.clip(g, -1.0, 1.0))
    handle = weights[1].register_post_accumulate_grad_hook(lambda leaf: print("weights[1] has its gradient"))
    h.retain_grad()
    (h * h).sum().backward()

    for number in sorted(norms, reverse=True):
        print(f"layer {number}: gradient norm {norms[number]:8.4f}")
    assert list(norms) == [2, 1, 0], "gradients arrive from the last layer to the first"
    assert pb.abs(weights[0].grad).max().item() <= 1.0
    assert h.grad is not None
    handle.remove()
    plt.bar([f"layer {number}" for number in sorted(norms)], [norms[number] for number in sorted(norms)])
    plt.ylabel("norm of the gradient")
    plt.show()


def compress():
    """Keep the values saved for backward as float32, and measure what that saves and costs."""
    kept = {"before": 0, "after": 0}

    def pack(tensor):
        full = tensor.detach().numpy()
        small = full.astype(np.float32)
        kept["before"] += full.nbytes
        kept["after"] += small.nbytes
        return small

    def unpack(small):
        return pb.asarray(small.astype(np.float64))

    def loss(x):
        for _ in range(10):
            x = pb.sin(x) * x
        return x.sum()

    x = pb.tensor(np.linspace(0.5, 1.5, 1000), requires_grad=True)
    (exact,) = pb.autograd.grad(loss(x), x)
    with pb.autograd.graph.saved_tensors_hooks(pack, unpack):
        value = loss(x)
    (approximate,) = pb.autograd.grad(value, x)
    error = (pb.abs(approximate - exact).max() / pb.abs(exact).max()).item()
    print(f"saved values: {kept['before']} bytes, packed into {kept['after']}; relative error {error:.1e}")
    assert kept["after"] * 2 == kept["before"] and error < 1e-5


if __name__ == "__main__":
    watch()
    compress()
