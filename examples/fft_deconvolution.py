"""Sharpen a signal with the FFT
==============================

A blurred and noisy signal, and the sharp one that explains it.

The blur is a product of Fourier transforms. What is minimised is the misfit and the variation of the signal, whose
gradient goes back through both transforms.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize

N = 256
t = np.arange(N)
kernel = np.exp(-0.5 * (np.minimum(t, N - t) / 6.0) ** 2)
response = pb.fft.rfft(pb.asarray(kernel / kernel.sum()))


def blurred(signal):
    """The signal after the blur."""
    return pb.fft.irfft(pb.fft.rfft(signal) * response, n=N)


def main():
    """Blur, add noise, find the signal again."""
    rng = np.random.default_rng(0)
    truth = np.where((t > 50) & (t < 90), 1.0, 0.0) + np.where((t > 150) & (t < 165), 0.7, 0.0)
    seen = blurred(pb.asarray(truth)) + 0.01 * pb.asarray(rng.standard_normal(N))

    def loss(signal):
        jumps = signal[1:] - signal[:-1]
        return ((blurred(signal) - seen) ** 2).sum() + 2e-3 * pb.sqrt(jumps**2 + 1e-4).sum()

    assert pb.autograd.gradcheck(lambda s: loss(pb.concat([s, seen[8:]])), (pb.ones(8).requires_grad_(),))
    found = optimize.minimize(loss, seen, method="L-BFGS-B", options={"maxiter": 600}).x.detach().numpy()
    before, after = np.abs(seen.numpy() - truth).mean(), np.abs(found - truth).mean()
    print(f"mean error {before:.3f} before, {after:.3f} after")
    assert after < before / 2

    plt.plot(seen.numpy(), color="lightgray", label="seen")
    plt.plot(truth, "k:", label="true")
    plt.plot(found, label="found")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
