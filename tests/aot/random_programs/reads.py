"""Statements that compute: elementwise functions, reductions, products, gathers, gradients inside of the function."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Statement

UNARY = ("sin", "cos", "tanh", "exp", "square", "abs", "sigmoid", "neg")


def broadcasts(x: Any, y: Any) -> bool:
    """Have these a common shape?"""
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


class ReadStatements:
    """Makers of statements without side effects."""

    rng: Any
    scope: dict[str, Any]
    names: list[str]
    derived: set[str]
    pick: Any
    pick_tensor: Any
    pick_float: Any
    number: Any
    fresh: Any
    made: Any
    statement: Any

    def make_unary(self) -> Statement | None:
        x = self.pick_float()
        return None if x is None else self.made(f"{x}.{self.rng.choice(UNARY)}()", x)

    def make_binary(self) -> Statement | None:
        x = self.pick_tensor()
        y = None if x is None else self.pick(lambda v: broadcasts(v, self.scope[x]))
        if x is None or y is None:
            return None
        sign = self.rng.choices(("+", "-", "*", "/"), (3, 2, 5, 0.5))[0]
        return self.made(f"{x} {sign} {y}", x, y)

    def make_scalar(self) -> Statement | None:
        x = self.pick_tensor()
        if x is None:
            return None
        form = self.rng.choice(("{0} * {1}", "{0} + {1}", "{1} - {0}", "{0} / {1}", "{0} ** 2", "{0} > {1}"))
        return self.made(form.format(x, self.number()), x)

    def make_reduction(self) -> Statement | None:
        x = self.pick_float()
        if x is None:
            return None
        name = self.rng.choice(("sum", "sum", "mean", "amax", "prod", "cumsum"))
        axes = [None, *range(self.scope[x].ndim)]
        axis = self.rng.choice(axes)
        keep = ", keepdims=True" if name != "cumsum" and self.rng.random() < 0.3 else ""
        return self.made(f"{x}.{name}(axis={axis}{keep})", x)

    def make_matmul(self) -> Statement | None:
        x = self.pick_float(lambda v: v.ndim in (1, 2))
        if x is None:
            return None
        inner = self.scope[x].shape[-1]
        y = self.pick_float(lambda v: v.ndim in (1, 2) and v.shape[0] == inner)
        return None if y is None else self.made(f"{x} @ {y}", x, y)

    def make_join(self) -> Statement | None:
        x = self.pick_tensor()
        y = None if x is None else self.pick_tensor(lambda v: v.shape == self.scope[x].shape)
        if x is None or y is None:
            return None
        return self.made(f"pb.{self.rng.choice(('stack', 'concatenate'))}([{x}, {y}])", x, y)

    def make_take(self) -> Statement | None:
        """Advanced reads: lists of rows, integer tensors, masks of known truth."""
        x = self.pick_tensor(lambda v: v.ndim > 0 and v.size > 0)
        if x is None:
            return None
        length = self.scope[x].shape[0]
        rows = [self.rng.randrange(length) for _ in range(self.rng.randint(1, 3))]
        form = self.rng.choice(("{0}[{1}]", "{0}[np.array({1})]", "{0}[..., {2}]", "pb.take({0}, {1}, axis=0)"))
        last = [self.rng.randrange(self.scope[x].shape[-1])]
        return self.made(form.format(x, rows, last), x)

    def make_cast(self) -> Statement | None:
        x = self.pick_tensor()
        form = self.rng.choice((
            "{0}.to(pb.float32)", "{0}.to(pb.float64)", "{0}.contiguous()", "{0}.to({0}.dtype)", "{0}.flatten()",
            "{0}.astype(pb.float64)", "pb.asarray({0})", "{0}.conj()",
        ))  # fmt: skip
        return None if x is None else self.made(form.format(x), x)

    def make_where(self) -> Statement | None:
        x = self.pick_float()
        y = None if x is None else self.pick_float(lambda v: broadcasts(v, self.scope[x]))
        if x is None or y is None:
            return None
        return self.made(f"pb.where({x} > {self.number()}, {x}, {y})", x, y)

    def make_clone(self) -> Statement | None:
        x = self.pick_tensor()
        return None if x is None else self.made(f"{x}.{self.rng.choice(('clone', 'copy'))}()", x)

    def make_inner_grad(self) -> Statement | None:
        """A gradient that the function itself asks for. A trace knows nothing of what led from one argument to another,
        so it is not asked of an argument that others were made from."""
        y = self.pick_float(lambda v: v.requires_grad)
        x = self.pick_float(lambda v: v.requires_grad)
        if x is None or y is None or any(self.scope[x] is self.scope[name] for name in self.derived):
            return None
        more = self.rng.choice(("", ", retain_graph=True", ", create_graph=True"))
        return self.made(f"pb.autograd.grad(({y} * {y}).sum(), [{x}]{more})[0]", y, x)

    def make_filled(self) -> Statement | None:
        """New memory, filled in a loop."""
        x = self.pick_float(lambda v: v.ndim == 0)
        name = self.fresh()
        if x is None:
            text = f"{name} = pb.zeros((2, 2))\nfor k in range(2):\n    {name}[k] = k + 1.0"
            return self.statement(text, makes=(name,))
        step = f"{name}[k] = {x} * (k + 1) + ({name}[k - 1] if k else 0.0)"
        text = f"{name} = pb.zeros(3)\nfor k in range(3):\n    {step}"
        return self.statement(text, x, makes=(name,))

    def make_same(self) -> Statement | None:
        """New tensors that hold constants."""
        x = self.pick_tensor()
        form = self.rng.choice((
            "pb.zeros({0}.shape)", "pb.ones_like({0})", "pb.tensor([1.0, 2.0, 3.0])", "pb.full((), 2.0)",
            "pb.zeros_like({0}, requires_grad=True)", "pb.tensor([0.5, 1.5], requires_grad=True)",
        ))  # fmt: skip
        return None if x is None else self.made(form.format(x), x)
