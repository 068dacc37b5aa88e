"""What does a custom operator cost? A product of 8 elements, forward and backward, defined by hand.

Pullback's operator is compared with the same operator made with `torch.library.custom_op`, and with Pullback's own
product. The formula is the same text in both: save both arguments, return `g * y, g * x`.
"""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

AIMS = {"torch custom_op": 0.5, "pullback built-in": 1.5}


def save(ctx: Any, inputs: Any, output: Any) -> None:
    """Both arguments are read by the formula."""
    ctx.save_for_backward(*inputs)


def formula(ctx: Any, g: Any) -> Any:
    """The gradients of a product."""
    x, y = ctx.saved_tensors
    return g * y, g * x


def pullback_operator() -> Callable[..., Any]:
    """The product as an operator of NumPy arrays."""
    library = importlib.import_module("pullback.library")

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    made = library.custom_op("bench::product", product, mutates_args=())
    made.register_autograd(formula, setup_context=save)
    return made  # type: ignore[no-any-return]


def torch_operator() -> Callable[..., Any]:
    """The product as an operator of torch's tensors."""
    torch = importlib.import_module("torch")

    def product(x, y):  # type: ignore[no-untyped-def]
        return x * y

    product.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "return": torch.Tensor}
    made = torch.library.custom_op("bench::product", product, mutates_args=())
    made.register_autograd(formula, setup_context=save)
    return made  # type: ignore[no-any-return]


def step(function: Callable[..., Any], leaf: Callable[[Any], Any], constant: Callable[[Any], Any]) -> Callable[[], Any]:
    """One forward and backward on new gradients; returns the gradients."""
    x, y, g = leaf(np.arange(8.0)), leaf(np.full(8, 2.0)), constant(np.ones(8))

    def run() -> tuple[Any, Any]:
        x.grad = y.grad = None
        function(x, y).backward(g)
        return x.grad, y.grad

    return run


def runs() -> dict[str, Callable[[], Any]]:
    """What is timed, by name; torch only where it is installed."""
    pb = importlib.import_module("pullback")

    def leaf(array: Any) -> Any:
        return pb.tensor(array, requires_grad=True)

    found = {
        "pullback custom": step(pullback_operator(), leaf, pb.tensor),
        "pullback built-in": step(lambda x, y: x * y, leaf, pb.tensor),
    }
    if importlib.util.find_spec("torch") is not None:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        found["torch custom_op"] = step(
            torch_operator(), lambda array: torch.tensor(array, requires_grad=True), torch.tensor
        )
    return found


def main(options: Options) -> None:
    """Compare the results, then time in turns and print the ratios."""
    report = Report("custom_ops")
    cases = runs()
    for name, run in cases.items():
        for gradient, expected in zip(run(), (np.full(8, 2.0), np.arange(8.0)), strict=True):
            np.testing.assert_allclose(np.asarray(gradient.detach().numpy()), expected, err_msg=name)
    best = {name: min(times) for name, times in time_in_turns(cases, options).items()}
    own = best["pullback custom"]
    rows = [
        [name, format_seconds(seconds), f"{own / seconds:.2f}", f"<= {AIMS[name]:.2f}" if name in AIMS else ""]
        for name, seconds in best.items()
    ]
    print_table("custom product of 8 elements, forward and backward", ["who", "best", "custom / who", "aim"], rows)
    report.findings["seconds"] = best
    report.write()


if __name__ == "__main__":
    main(Options())
