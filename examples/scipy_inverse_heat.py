"""Find a conductivity from temperatures
========================================

Find how well a rod conducts heat from where it is warm: an inverse problem with a sparse system inside.

Each evaluation solves a sparse linear system for the temperatures. Its gradient by 99 conductivities costs one more
solution with the same factors, so the fit is as quick as if somebody had derived the adjoint equations.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize, sparse

N = 100
SOURCE = np.zeros(N)
SOURCE[10:15], SOURCE[85:90] = 1.0, -1.0  # heated on the left, cooled on the right
SEEN = np.arange(2, N, 5)  # where there are thermometers


def temperatures(log_conductivity):
    """The steady state of a rod whose ends are kept at zero."""
    k = pb.exp(log_conductivity)
    between = pb.concat([k[:1], k, k[-1:]])  # the links to the ends as well
    matrix = sparse.diags_array([-between[1:-1], between[:-1] + between[1:], -between[1:-1]], offsets=[-1, 0, 1])
    return sparse.linalg.spsolve(matrix, SOURCE)


def main():
    """Make measurements, and find the conductivity that explains them."""
    place = np.linspace(0, 1, N - 1)
    truth = -1.5 * np.exp(-((place - 0.5) ** 2) / 0.005)  # a stretch that conducts badly
    rng = np.random.default_rng(0)
    measured = temperatures(pb.asarray(truth)).numpy()[SEEN]
    size = 0.002 * measured.max()
    measured = measured + size * rng.standard_normal(len(SEEN))

    def misfit(log_conductivity):
        off = (temperatures(log_conductivity)[SEEN] - measured) / size
        rough = log_conductivity[1:] - log_conductivity[:-1]
        return (off * off).sum() + 100.0 * (rough * rough).sum()

    found = optimize.minimize(misfit, np.zeros(N - 1), method="L-BFGS-B", options={"maxiter": 60})
    estimate = found.x.detach().numpy()
    before = misfit(pb.zeros(N - 1)).item()
    print(f"{found.nfev} evaluations with gradients: misfit {before:.0f} -> {found.fun.item():.0f}")
    worst = place[np.argmin(estimate)]
    print(f"the worst conductor is at {worst:.2f} (true: 0.50), with exp({estimate.min():.2f}) (true: exp(-1.50))")
    assert abs(worst - 0.5) < 0.05

    plt.plot(place, np.exp(truth), "k:", label="true conductivity")
    plt.plot(place, np.exp(estimate), label="found")
    plt.plot(SEEN / N, np.full(len(SEEN), 0.05), "r^", ms=4, label="thermometers")
    plt.xlabel("place")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
