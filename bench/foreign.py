"""What tensors on torch's arrays cost beside torch itself: `python -m bench foreign`

Results are compared first. Rows: one operator on 8 elements, unrecorded and recorded, and its share of backward, over
the library's own call; and a step of a small network against torch's own autograd.
"""

from typing import Any

import numpy as np

import pullback as pb
from bench.plain_numpy import in_turns
from bench.runner import Options, format_seconds, print_table

GOALS = {"unrecorded": 2e-6, "recorded": 4e-6, "backward": 5e-6, "network": 1.5}


def main(options: Options) -> None:
    """Measure and print all rows."""
    try:
        import torch
    except ImportError:
        print("foreign: SKIPPED, torch is not installed")
        return
    seconds = 0.2 if options.quick else 1.0
    rows = [*_operator_rows(torch, seconds), _network_row(torch, seconds)]
    print_table("arrays of torch", ["row", "torch", "Pullback on torch", "goal", "found"], rows)


def _operator_rows(torch: Any, seconds: float) -> list[list[str]]:
    raw = torch.linspace(0.1, 1.0, 8, dtype=torch.float64)
    constant, leaf = pb.foreign(raw), pb.foreign(raw.clone(), requires_grad=True)
    assert np.allclose(pb.sin(constant).numpy(), torch.sin(raw).numpy())
    plain, unrecorded, recorded = in_turns(
        (lambda: torch.sin(raw), lambda: pb.sin(constant), lambda: pb.sin(leaf)), seconds
    )
    seed = pb.foreign(torch.ones(8, dtype=torch.float64))

    def forward(length: int) -> Any:
        y = leaf
        for _ in range(length):
            y = pb.sin(y)
        return y

    def both(length: int) -> Any:
        return pb.autograd.grad(forward(length), leaf, seed)

    # A call of grad costs something by itself, which is no operator's share: of ten operators and of a hundred.
    one, ten, hundred, ten_forward, hundred_forward = in_turns(
        (lambda: both(1), lambda: both(10), lambda: both(100), lambda: forward(10), lambda: forward(100)), seconds
    )
    share = (hundred - hundred_forward - (ten - ten_forward)) / 90
    own = 2 * plain  # what backward of a sine computes: a cosine and a product
    return [
        ["sin, 8 elements, unrecorded", *_over(plain, unrecorded, GOALS["unrecorded"])],
        ["the same, recorded", *_over(plain, recorded, GOALS["recorded"])],
        ["its share of backward", *_over(own, share, GOALS["backward"])],
        ["grad of nothing", "", format_seconds(ten - ten_forward - 10 * share), "", ""],
        ["forward and backward of one", format_seconds(3 * plain), format_seconds(one), "", ""],
    ]


def _over(plain: float, ours: float, goal: float) -> list[str]:
    found = ours - plain
    return [
        format_seconds(plain), format_seconds(ours), f"+ {format_seconds(goal)}",
        f"+ {format_seconds(max(found, 0.0))}{'' if found <= goal else '  (above)'}",
    ]  # fmt: skip


def _network_row(torch: Any, seconds: float) -> list[str]:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) * 0.3 for shape in ((64, 32), (32, 64), (64,), (64, 8), (8,))]
    data, *weights = [torch.tensor(a) for a in arrays]
    theirs = [w.clone().requires_grad_() for w in weights]
    x, ours = pb.foreign(data), [pb.foreign(w.clone(), requires_grad=True) for w in weights]

    def step_of_torch() -> Any:
        w1, b1, w2, b2 = theirs
        loss = ((torch.tanh(data @ w1 + b1) @ w2 + b2) ** 2).mean()
        return torch.autograd.grad(loss, theirs)

    def step_of_ours() -> Any:
        w1, b1, w2, b2 = ours
        loss = ((pb.tanh(x @ w1 + b1) @ w2 + b2) ** 2).mean()
        return pb.autograd.grad(loss, ours)

    for one, other in zip(step_of_torch(), step_of_ours(), strict=True):
        assert np.allclose(one.numpy(), other.numpy())
    theirs_best, ours_best = in_turns((step_of_torch, step_of_ours), seconds)
    ratio = ours_best / theirs_best
    return [
        "network, batch 64", format_seconds(theirs_best), format_seconds(ours_best), f"{GOALS['network']}",
        f"{ratio:.2f}{'' if ratio <= GOALS['network'] else '  (above)'}",
    ]  # fmt: skip
