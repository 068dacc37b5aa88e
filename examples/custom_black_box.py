"""A black box with finite differences
======================================

A simulator that cannot be looked into, with a derivative by finite differences in one direction.

`simulate` stands for a program that only returns numbers. Its jvp runs it twice, next to the point, along the
tangent: forward mode costs two runs, whatever the number of parameters. The difference is an operator too, so the tape
knows that something was computed there, and a derivative of the difference itself is refused instead of zero.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

STEP = 1e-6


def run_simulation(parameters):
    """Free fall with drag: the height after each of 50 steps."""
    gravity, drag, speed = parameters
    height, heights = 0.0, []
    for _ in range(50):
        speed += 0.02 * (-gravity - drag * speed * abs(speed))
        height += 0.02 * speed
        heights.append(height)
    return np.array(heights)


@pb.library.custom_op("examples::simulate", mutates_args=())
def simulate(parameters: np.ndarray) -> np.ndarray:
    """The heights, for (gravity, drag, initial speed)."""
    return run_simulation(parameters)


@pb.library.custom_op("examples::simulate_along", mutates_args=())
def simulate_along(parameters: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """How the heights change along a direction, by a central difference."""
    size = np.linalg.norm(direction)
    if size == 0:
        return np.zeros(50)
    step = STEP * direction / size
    return (run_simulation(parameters + step) - run_simulation(parameters - step)) / (2 * STEP) * size


def setup_context(ctx, inputs, output):
    """The point at which the derivative is taken."""
    ctx.save_for_backward(inputs[0])
    ctx.save_for_forward(inputs[0])


def backward(ctx, g):
    """One direction for each parameter: reverse mode of a black box costs as many runs as there are parameters."""
    (parameters,) = ctx.saved_tensors
    return pb.stack([(g * simulate_along(parameters, unit)).sum() for unit in pb.eye(parameters.shape[0])])


simulate.register_autograd(backward, setup_context=setup_context)
simulate.register_jvp(lambda ctx, t: simulate_along(ctx.saved_tensors[0], t))


def main():
    """Fit the parameters to heights that were observed, by Gauss and Newton."""
    truth = pb.tensor([9.81, 0.05, 12.0])
    observed = simulate(truth)
    guess = pb.tensor([8.0, 0.0, 10.0])
    print("gradcheck:", pb.autograd.gradcheck(simulate, (truth.clone().requires_grad_(),), eps=1e-4, atol=1e-4))
    for _ in range(6):
        directions = pb.eye(3)
        columns = [pb.func.jvp(simulate, (guess,), (direction,)) for direction in directions]
        residual = observed - columns[0][0]
        jacobian = np.stack([slope.numpy() for _, slope in columns], axis=1)
        guess = guess + pb.asarray(np.linalg.lstsq(jacobian, residual.numpy(), rcond=None)[0])
        print("misfit", f"{(residual**2).sum().item():.3e}", "at", np.round(guess.numpy(), 4))

    plt.plot(observed.numpy(), "o", ms=3, label="observed")
    plt.plot(simulate(pb.tensor([8.0, 0.0, 10.0])).numpy(), ":", label="first guess")
    plt.plot(simulate(guess).numpy(), label="fitted")
    plt.xlabel("step")
    plt.ylabel("height")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
