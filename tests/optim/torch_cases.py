"""Steps of optimisers on one small problem, written once for Pullback and torch; what torch made of them is recorded.

`python -m tests.optim.torch_cases` in the environment of `make oracle` writes `torch_steps.json` anew. The problem of
LBFGS is convex: elsewhere a difference in the last digit may take the search into another valley.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("torch_steps.json")
STEPS = 50
SHOWN = (0, 4, 49)
CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.002, "momentum": 0.9}),
    ("SGD", {"lr": 0.002, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("LBFGS", {}),
    ("LBFGS", {"max_iter": 1, "max_eval": 25}),
    ("LBFGS", {"max_iter": 3, "history_size": 4}),
    ("LBFGS", {"lr": 20.0, "max_iter": 2}),
    ("LBFGS", {"lr": 0.5, "history_size": 3}),
]

_rng = np.random.default_rng(0)
A, W, B, Y = (_rng.normal(size=shape) for shape in [(5, 4), (4, 3), (3,), (5, 3)])


def hard(lib, w, b, a, y):
    r = lib.tanh(a @ w + b) - y
    return (r * r).sum() + 0.1 * (w**4).sum() + (1 - b[0]) ** 2 + 10 * (b[1] - b[0] ** 2) ** 2


def convex(lib, w, b, a, y):
    r = a @ w + b - y
    return (r * r).sum() + 0.1 * (w**4).sum() + (b**2).sum()


def trajectory(lib, name, settings, steps=STEPS):
    """The parameters behind every step, as rows."""
    a, y = lib.tensor(A), lib.tensor(Y)
    w, b = (lib.tensor(x, requires_grad=True) for x in (W, B))
    opt = getattr(lib.optim, name)([w, b], **settings)
    loss_of = convex if name == "LBFGS" else hard

    def closure():
        opt.zero_grad()
        loss = loss_of(lib, w, b, a, y)
        loss.backward()
        return loss

    rows = []
    for _ in range(steps):
        opt.step(closure)
        rows.append(np.concatenate([w.detach().numpy().ravel(), b.detach().numpy()]))
    return np.array(rows)


SCHEDULES: dict[str, Any] = {
    "onecycle": lambda o, s: s.OneCycleLR(o, max_lr=0.3, total_steps=21),
    "cosine": lambda o, s: s.CosineAnnealingLR(o, T_max=25, eta_min=0.01),
    "exponential": lambda o, s: s.ExponentialLR(o, 0.9),
    "linear": lambda o, s: s.LinearLR(o, 1.0, 0.25, total_iters=10),
    "piecewise": lambda o, s: s.MultiStepLR(o, [5, 12], 0.1),
}


def record() -> None:
    """Write what torch does."""
    import torch

    def rates(make):
        opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        schedule = make(opt, torch.optim.lr_scheduler)
        found = []
        for _ in range(20):
            found.append(schedule.get_last_lr()[0])
            opt.step()
            schedule.step()
        return found

    gradients = [torch.tensor(10 * W), torch.tensor(B)]
    parameters = [torch.zeros_like(g, requires_grad=True) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g
    torch.nn.utils.clip_grad_norm_(parameters, 1.5)
    wolfe = {"line_search_fn": "strong_wolfe"}
    made = {
        "version": torch.__version__,
        "steps": [
            trajectory(torch, name, settings | (wolfe if name == "LBFGS" else {}))[list(SHOWN)].tolist()
            for name, settings in CASES
        ],
        "schedules": {name: rates(make) for name, make in SCHEDULES.items()},
        "clipped": [p.grad.numpy().tolist() for p in parameters],
    }
    RECORDED.write_text(json.dumps(made) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
