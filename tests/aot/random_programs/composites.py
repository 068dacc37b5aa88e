"""Statements with functions in them: custom Functions, checkpoints, branches, loops, random numbers, gradients."""

from __future__ import annotations

from typing import Any

from .program import Statement

BODIES = ("a * 2.0", "a.sin()", "a * a", "a.exp() * 0.5", "a + a.sum()", "a.detach() * a")


class CompositeStatements:
    """Makers of such statements."""

    rng: Any
    scope: dict[str, Any]
    derived: set[str]
    pick_float: Any
    fresh: Any
    made: Any
    statement: Any
    number: Any

    def body(self) -> str:
        """A function of one array that keeps its shape."""
        return f"lambda a: {self.rng.choice(BODIES)}"

    def make_custom(self) -> Statement | None:
        """A custom Function."""
        x = self.pick_float()
        if x is None:
            return None
        name = self.rng.choice(("Halved", "Flattened", "Both", "Fixed", "Doubled"))
        if name == "Halved":
            y = self.pick_float(lambda v: v.shape == self.scope[x].shape)
            return None if y is None else self.made(f"fn.Halved.apply({x}, {y})", x, y)
        if name == "Both":
            first, second = self.fresh(), self.fresh()
            return self.statement(f"{first}, {second} = fn.Both.apply({x})", x, makes=(first, second))
        return self.made(f"fn.{name}.apply({x})", x)

    def make_checkpoint(self) -> Statement | None:
        x = self.pick_float()
        return None if x is None else self.made(f"pb.checkpoint({self.body()}, {x})", x)

    def make_branch(self) -> Statement | None:
        x, y = self.pick_float(), self.pick_float()
        if x is None or y is None:
            return None
        return self.made(f"pb.cond({y}.sum() > {self.number()}, {self.body()}, {self.body()}, {x})", x, y)

    def make_loop(self) -> Statement | None:
        """A scan over the first axis."""
        x = self.pick_float(lambda v: v.ndim > 0 and v.shape[0] > 0)
        if x is None:
            return None
        last, ys = self.fresh(), self.fresh()
        step = self.rng.choice(("(c + r * r, c * 2.0)", "(c * 0.5 + r, r)", "(r.sin() + c, c * r)"))
        reverse = self.rng.choice(("", ", reverse=True"))
        text = f"{last}, {ys} = pb.scan(lambda c, r: {step}, {x}[0] * 1.0, {x}{reverse})"
        return self.statement(text, x, makes=(last, ys))

    def make_noise(self) -> Statement | None:
        x = self.pick_float()
        form = self.rng.choice(("{0} * pb.random.normal(size={0}.shape)", "{0} + pb.random.random({0}.shape)"))
        return None if x is None else self.made(form.format(x), x)

    def make_inner_grads(self) -> Statement | None:
        """Two gradients at once."""
        y = self.pick_float(lambda v: v.requires_grad)
        x = self.pick_float(lambda v: v.requires_grad)
        z = self.pick_float(lambda v: v.requires_grad)
        if y is None or x is None or z is None:
            return None
        if any(self.scope[each] is self.scope[name] for name in self.derived for each in (x, z)):
            return None
        first, second = self.fresh(), self.fresh()
        more = self.rng.choice(("", ", retain_graph=True", ", create_graph=True"))
        text = f"{first}, {second} = pb.autograd.grad(({y} + {y}).sum(), [{x}, {z}]{more})"
        return self.statement(text, y, x, z, makes=(first, second))

    def make_own_leaf(self) -> Statement | None:
        """A leaf of the function's own, which gets a gradient."""
        x = self.pick_float()
        if x is None:
            return None
        leaf, grad = self.fresh(), self.fresh()
        loss = self.rng.choice((f"({leaf} * {leaf}).sum()", f"{leaf}.sum()", f"({leaf} * {x}.detach()).mean()"))
        text = f"{leaf} = {x}.detach().clone().requires_grad_()\n{loss}.backward()\n{grad} = {leaf}.grad"
        return self.statement(text, x, makes=(grad,))
