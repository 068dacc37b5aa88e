"""Laplace approximation of a posterior
=======================================

Approximate a posterior by a normal distribution at its peak: Laplace's method, for a logistic regression.

Three transforms do the work: `grad` and `hessian` for Newton's method and for the covariance, and `vmap` of `grad` for
the uncertainty of predictions. The evidence and the moments are compared with sums over a fine grid, which two
parameters still allow.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


def data():
    """Doses, and whether the treatment worked."""
    rng = np.random.default_rng(4)
    dose = rng.uniform(-2.0, 2.0, 60)
    worked = rng.uniform(size=60) < 1.0 / (1.0 + np.exp(-(0.5 + 1.5 * dose)))
    return pb.asarray(dose), pb.asarray(worked.astype(float))


def logit(parameters, dose):
    """The linear predictor."""
    return parameters[0] + parameters[1] * dose


def negative_log_joint(parameters, dose, worked, deviation=2.0):
    """Minus the logarithm of likelihood times prior."""
    z = logit(parameters, dose)
    likelihood = (worked * z - pb.logaddexp(0.0, z)).sum()
    prior = -0.5 * (parameters**2).sum() / deviation**2 - np.log(2 * np.pi * deviation**2)
    return -(likelihood + prior)


def peak_of(loss, at):
    """Newton's method."""
    slope, curvature = pb.func.grad(loss), pb.func.hessian(loss)
    for iteration in range(1, 20):
        step = pb.linalg.solve(curvature(at), slope(at))
        at = at - step
        if pb.abs(step).max().item() < 1e-12:
            print(f"Newton's method took {iteration} steps to {np.round(at.numpy(), 4)}")
            return at
    raise RuntimeError("Newton's method did not converge")


def on_a_grid(loss, centre, covariance):
    """Evidence, mean and covariance by summation: `vmap` evaluates the loss at all points at once."""
    reach = 7.0 * np.sqrt(np.diag(covariance))
    axes = [np.linspace(c - r, c + r, 161) for c, r in zip(centre, reach, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    heights = np.exp(-pb.func.vmap(loss, chunk_size=4096)(pb.asarray(points)).numpy())
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    weights = heights / heights.sum()
    mean = weights @ points
    return np.log(heights.sum() * cell), mean, (points - mean).T @ ((points - mean) * weights[:, None])


def main():
    """Find the peak, read the covariance off the Hessian, compare, predict."""
    dose, worked = data()
    loss = lambda parameters: negative_log_joint(parameters, dose, worked)
    peak = peak_of(loss, pb.zeros(2))
    precision = pb.func.hessian(loss)(peak)
    covariance = pb.linalg.inv(precision)
    evidence = -loss(peak) + np.log(2 * np.pi) - 0.5 * pb.linalg.slogdet(precision)[1]

    exact_evidence, exact_mean, exact_covariance = on_a_grid(loss, peak.numpy(), covariance.numpy())
    print(f"log evidence          {evidence.item():8.4f}   on the grid {exact_evidence:8.4f}")
    for name, row, value, exact in zip(["offset", "slope"], range(2), peak.tolist(), exact_mean, strict=True):
        deviation, wanted = covariance[row, row].item() ** 0.5, exact_covariance[row, row] ** 0.5
        print(f"{name:6s} {value:7.4f} ± {deviation:.4f}          on the grid {exact:7.4f} ± {wanted:.4f}")
        assert abs(value - exact) < 0.5 * wanted and abs(deviation / wanted - 1) < 0.2
    assert abs(evidence.item() - exact_evidence) < 0.1

    # How uncertain is a prediction? To first order, its gradient by the parameters carries the covariance over.
    doses = pb.asarray(np.linspace(-2.0, 2.0, 5))
    slopes = lambda doses: pb.func.vmap(pb.func.grad(logit), in_dims=(None, 0))(peak, doses)
    spread = lambda doses: pb.sqrt(pb.einsum("ni,ij,nj->n", slopes(doses), covariance, slopes(doses)))
    for at, z, s in zip(doses.tolist(), logit(peak, doses).tolist(), spread(doses).tolist(), strict=True):
        low, middle, high = (1.0 / (1.0 + np.exp(-value)) for value in (z - 2 * s, z, z + 2 * s))
        print(f"at dose {at:+.1f} it works with probability {middle:.2f}, between {low:.2f} and {high:.2f}")
        assert low < 1.0 / (1.0 + np.exp(-(0.5 + 1.5 * at))) < high

    grid = pb.asarray(np.linspace(-2.0, 2.0, 100))
    low, middle, high = (pb.sigmoid(logit(peak, grid) + k * spread(grid)).numpy() for k in (-2, 0, 2))
    plt.fill_between(grid.numpy(), low, high, alpha=0.3, label="two deviations")
    plt.plot(grid.numpy(), middle, label="it works with probability")
    plt.plot(dose.numpy(), worked.numpy(), "k|", label="data")
    plt.xlabel("dose")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
