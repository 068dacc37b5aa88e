"""What Pullback does, on one screen: differentiate plain code, check the gradient, compile it, fit a model with it.

The program is a small simulation as one writes it in NumPy: an array is allocated, filled row by row and changed
through a view. Nothing is rewritten for the sake of derivatives. `make demo` runs this file.
"""

import time

import numpy as np

import pullback as pb

STEPS, DT = 60, 0.1


def simulate(prey_and_predators, rates):
    """Predators and prey: the population over time, one row per step."""
    birth, hunt, growth, death = rates
    h = pb.zeros((STEPS + 1, 2))
    h[0] = prey_and_predators
    for i in range(STEPS):
        prey, predators = h[i]
        h[i + 1] = h[i]
        following = h[i + 1]                                   # a view: writing to it writes to h
        following[0] += DT * prey * (birth - hunt * predators)
        following[1] += DT * predators * (growth * prey - death)
    return h


def heading(text):
    """A line between the parts."""
    print(f"\n{text}\n" + "-" * len(text))


def main():
    """The four parts."""
    start = pb.tensor([1.0, 0.5])
    truth = np.array([1.1, 0.8, 0.6, 0.9])

    heading("1. Differentiate code with loops, slices and in-place writes")
    rates = pb.tensor(truth, requires_grad=True)
    population = simulate(start, rates)
    population[-1, 0].backward()
    print(f"prey at the end           {population[-1, 0].item():.4f}")
    for name, value in zip(["birth", "hunt", "growth", "death"], rates.grad.tolist(), strict=True):
        print(f"its derivative by {name:7s} {value:+.4f}")

    heading("2. Check it against finite differences")
    begin = pb.tensor([1.0, 0.5], requires_grad=True)
    assert pb.autograd.gradcheck(lambda b, r: simulate(b, r)[-1], (begin, rates))
    print("gradcheck passed: both populations at the end, by initial state and by rates")

    heading("3. Compile it: one trace of the loop, and what it does to memory")
    rng = np.random.default_rng(3)
    observed = pb.asarray(population.detach().numpy() * (1.0 + 0.02 * rng.standard_normal((STEPS + 1, 2))))
    compiled = pb.compile(lambda guess: ((simulate(start, guess) - observed) ** 2).mean())
    fitted = pb.tensor([0.8, 0.6, 0.8, 0.7], requires_grad=True)
    print(compiled.explain(fitted))

    heading("4. Fit a model with it")
    momentum, clock = np.zeros(4), time.perf_counter()
    iterations = 120
    for iteration in range(iterations + 1):
        loss = compiled(fitted)
        loss.backward()
        with pb.no_grad():                                     # the update is in place, and not differentiated
            momentum = 0.9 * momentum + fitted.grad.numpy()
            fitted -= 0.01 * pb.asarray(momentum)
            fitted.grad = None
        if iteration % 20 == 0:
            print(f"iteration {iteration:3d}   loss {loss.item():.6f}   rates {np.round(fitted.detach().numpy(), 3)}")
    seconds = time.perf_counter() - clock
    print(f"true rates                               {truth}")
    print(f"{iterations} gradients of a {STEPS}-step simulation in {seconds:.1f} s")
    assert np.abs(fitted.detach().numpy() - truth).max() < 0.1


if __name__ == "__main__":
    main()
