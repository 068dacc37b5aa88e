"""Hamiltonian Monte Carlo with 512 chains
==========================================

Sample from a hierarchical model by Hamiltonian Monte Carlo, with hundreds of chains at once.

The data are the classic eight schools: the effect of coaching in each, with its standard error. The schools' true
effects come from a common distribution whose mean and deviation are unknown too. Effects are written as `mu + tau * z`
with standard normal `z` (the non-centred form), because a sampler that moves `tau` and the effects themselves gets
stuck in a funnel.

The density is a function of the parameters of one chain. `vmap` of `grad_and_value` makes it a function of all chains.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

EFFECT = pb.asarray(np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]))
ERROR = pb.asarray(np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]))
CHAINS, WARMUP, DRAWS, LEAPS = 512, 30, 30, 8


def energy(position):
    """Minus the logarithm of the joint density of one chain's `mu`, `log(tau)` and eight `z`, up to a constant."""
    mu, log_tau, z = position[0], position[1], position[2:]
    tau = pb.exp(log_tau)
    prior = (mu / 5.0) ** 2 / 2 + pb.log1p((tau / 5.0) ** 2) - log_tau + (z**2).sum() / 2
    return prior + (((EFFECT - mu - tau * z) / ERROR) ** 2).sum() / 2


slope_and_energy = pb.func.vmap(pb.func.grad_and_value(energy))


def leap(position, momentum, slope, scale, step):
    """Follow the motion for a while. Arrays are updated in place; that is fine, nothing here is differentiated."""
    for _ in range(LEAPS):
        momentum -= step / 2 * slope
        position += step * scale * momentum
        slope, height = slope_and_energy(position)
        momentum -= step / 2 * slope
    return position, momentum, slope, height


def sample(rng):
    """Draws after the warm-up, with one row for each chain and draw, and the rate of acceptance."""
    scale = pb.asarray(np.array([10.0, 1.0] + [1.0] * 8))  # rough variances of the parameters
    position = pb.asarray(rng.standard_normal((CHAINS, 10)))
    slope, height = slope_and_energy(position)
    step, draws, rates = 0.1, [], []
    for iteration in range(WARMUP + DRAWS):
        momentum = pb.asarray(rng.standard_normal((CHAINS, 10))) / pb.sqrt(scale)
        before = height + (scale * momentum**2).sum(axis=1) / 2
        jitter = step * rng.uniform(0.8, 1.2)
        moved, momentum, new_slope, new_height = leap(position.clone(), momentum, slope, scale, jitter)
        after = new_height + (scale * momentum**2).sum(axis=1) / 2
        chance = pb.exp(pb.clip(before - after, max=0.0))
        accept = pb.asarray(rng.uniform(size=CHAINS)) < chance
        position = pb.where(accept[:, None], moved, position)
        slope = pb.where(accept[:, None], new_slope, slope)
        height = pb.where(accept, new_height, height)
        if iteration < WARMUP:
            step *= np.exp(0.3 * (chance.mean().item() - 0.8))  # aim at four of five
        else:
            draws.append(position.numpy().copy())
            rates.append(chance.mean().item())
    return np.stack(draws, axis=1), np.mean(rates), step


def main():
    """Sample, and compare with what is known about this posterior."""
    draws, rate, step = sample(np.random.default_rng(1))
    mu, tau = draws[:, :, 0], np.exp(draws[:, :, 1])
    schools = mu[:, :, None] + tau[:, :, None] * draws[:, :, 2:]
    within, between = draws.var(axis=1).mean(axis=0), draws.mean(axis=1).var(axis=0)
    print(f"{CHAINS} chains of {DRAWS} draws, step {step:.2f}, accepted {100 * rate:.0f} %")
    print(f"mean effect mu    {mu.mean():5.2f} ± {mu.std():.2f}   (known: 4.4 ± 3.3)")
    print(f"deviation tau     {tau.mean():5.2f} ± {tau.std():.2f}   (known: 3.6 ± 3.2)")
    for name, mean, deviation, effect, error in zip(
        "ABCDEFGH", schools.mean(axis=(0, 1)), schools.std(axis=(0, 1)), EFFECT.tolist(), ERROR.tolist(), strict=True
    ):
        print(f"school {name}          {mean:5.2f} ± {deviation:.2f}   (measured {effect:+.0f} ± {error:.0f})")
    assert 0.6 < rate < 0.95
    assert (between < within).all(), "the chains do not agree with each other"
    assert abs(mu.mean() - 4.4) < 0.4 and abs(mu.std() - 3.3) < 0.4
    assert abs(tau.mean() - 3.6) < 0.5 and abs(tau.std() - 3.2) < 0.8
    assert schools[:, :, 0].mean() > schools[:, :, 2].mean(), "school A did better than school C"

    plt.errorbar(EFFECT.numpy(), range(8), xerr=ERROR.numpy(), fmt="o", alpha=0.4, label="measured")
    plt.errorbar(schools.mean(axis=(0, 1)), range(8), xerr=schools.std(axis=(0, 1)), fmt="s", label="posterior")
    plt.yticks(range(8), "ABCDEFGH")
    plt.xlabel("effect of coaching")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
