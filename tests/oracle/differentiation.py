"""The generator's statements about gradients: backward, grad, hooks, retained and assigned gradients."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .variables import Shape, Variable, literal

HOOK_EFFECTS = ("record", "scale", "same", "sum", "narrow", "write")


class DifferentiationStatements:
    """Makers that a `Generator` inherits. It provides the fields and methods declared here."""

    rng: random.Random
    variables: list[Variable]
    hooks: list[str]
    modes: tuple[str, ...]
    num_passes = 0

    def __init__(self) -> None:
        self.hooked: list[Variable] = []

    add: Callable[..., None]
    fresh: Callable[..., Variable]
    pick: Callable[..., Variable | None]

    def pick_differentiable(self) -> Variable | None:
        """A root: something that probably requires grad, nine times in ten."""
        found = self.pick(lambda v: v.requires_grad and v.dtype != "int64")
        return found if found is not None and self.rng.random() < 0.95 else self.pick()

    def cotangent(self, shape: Shape, dtype: str) -> str:
        values = literal(shape, lambda: str(round(self.rng.uniform(-2, 2), 1)))
        return f"{{ns}}.tensor({values}, dtype={{ns}}.{dtype})"

    def root_text(self, hole: int, root: Variable) -> tuple[str, str]:
        """A root and its gradient: implicit for a scalar, summed first, or given; now and then missing or misshapen."""
        draw = self.rng.random()
        dtype = root.dtype if root.dtype != "int64" else "float64"
        if root.shape == () and draw < 0.7:
            return f"{{{hole}}}", "None"
        if draw < 0.5:
            return f"{{{hole}}}.sum()", "None"
        if draw < 0.93:
            return f"{{{hole}}}", self.cotangent(root.shape, dtype)
        if draw < 0.96:
            return f"{{{hole}}}", "None"
        return f"{{{hole}}}", self.cotangent((5,), dtype)

    def keeping(self) -> str:
        """The `retain_graph` and `create_graph` arguments."""
        return self.rng.choices(
            ("", ", retain_graph=True", ", create_graph=True", ", create_graph=True, retain_graph=False"),
            (4, 3, 3, 0.2),
        )[0]

    def make_backward(self) -> None:
        if (root := self.pick_differentiable()) is None:
            return
        self.num_passes += 1
        args = [root]
        text, gradient = self.root_text(0, root)
        keeping = self.keeping()
        draw = self.rng.random()
        if draw < 0.12:
            other = self.pick_differentiable()
            assert other is not None
            args.append(other)
            second, second_gradient = self.root_text(1, other)
            gradients = [gradient, second_gradient] + (["None"] if self.rng.random() < 0.15 else [])
            call = f"{{ns}}.autograd.backward([{text}, {second}], [{', '.join(gradients)}]{keeping})"
            self.add("backward", call, tuple(args), num_roots=2, surplus=len(gradients) > 2, **self.passes(keeping))
            return
        inputs = ""
        if draw < 0.3:
            chosen = [self.pick_differentiable() for _ in range(self.rng.randint(1, 2))]
            holes = []
            for variable in chosen:
                assert variable is not None
                args.append(variable)
                holes.append(f"{{{len(args) - 1}}}")
            inputs = f", inputs=[{', '.join(holes)}]"
        first = gradient if gradient != "None" or inputs or keeping else ""
        call = f"{text}.backward({first}{keeping if first else keeping[2:]}{inputs})"
        self.add("backward", call, tuple(args), num_roots=1, surplus=False, **self.passes(keeping))

    def passes(self, keeping: str) -> dict[str, Any]:
        return {"create_graph": "create_graph=True" in keeping, "keep": bool(keeping) and "=False" not in keeping}

    def make_grad(self) -> None:
        if (root := self.pick_differentiable()) is None:
            return
        text, gradient = self.root_text(0, root)
        args, holes = [root], []
        used = self.pick(lambda v: v.dtype == root.dtype and v.shape == root.shape) if gradient != "None" else None
        if used is not None and self.rng.random() < 0.25:
            args.append(used)
            gradient = "{1}"
        first_input = len(args)
        for _ in range(self.rng.randint(1, 3)):
            chosen = self.pick_differentiable()
            if self.hooked and self.rng.random() < 0.4:
                chosen = self.rng.choice(self.hooked)
            assert chosen is not None
            args.append(chosen)
            holes.append(f"{{{len(args) - 1}}}")
        keeping = self.keeping()
        rest = self.rng.choices((", allow_unused=True", "", ", materialize_grads=True"), (6, 1, 1))[0]
        made = [self.fresh(v.shape, dtype=v.dtype, requires_grad="create_graph" in keeping) for v in args[first_input:]]
        call = f"{{ns}}.autograd.grad({text}, [{', '.join(holes)}], {gradient}{keeping}{rest})"
        ruled = None
        if self.rng.random() < 0.04:
            entries = ", ".join(f"'{i}': {hole}" for i, hole in enumerate(holes))
            call, ruled = (
                f"list({{ns}}.autograd.grad({text}, {inputs}, {gradient}{keeping}{rest}).values())"
                for inputs in (f"types.MappingProxyType({{{{{entries}}}}})", f"{{{{{entries}}}}}")
            )
        self.add(
            "grad", call, tuple(args), tuple(made), ruled=ruled, mapping=ruled is not None, first_input=first_input,
            unpack=len(made) == 1, num_roots=1, **self.passes(keeping),
        )  # fmt: skip

    def make_retain(self) -> None:
        if (x := self.pick_differentiable()) is not None:
            self.add("retain", "{0}.retain_grad()", (x,))

    def make_hook(self) -> None:
        if (x := self.pick_differentiable()) is None:
            return
        does = self.rng.choices(HOOK_EFFECTS, (5, 4, 1, 0.2, 0.2, 0.3))[0]
        self.hooked.append(x)
        self.register(x, "register_hook", f"hook({{name!r}}, {does!r})", "hook")

    def make_post_hook(self) -> None:
        x = self.pick(lambda v: v.is_leaf and v.requires_grad) or self.pick_differentiable()
        if x is not None:
            self.register(x, "register_post_accumulate_grad_hook", "accumulated({name!r})", "post_hook")

    def make_pre_hook(self) -> None:
        """A pre-hook on the node of an interior tensor, recording the gradient of that output."""
        x = self.pick(lambda v: v.requires_grad and not v.is_leaf)
        if x is not None:
            self.register(x, "grad_fn.register_prehook", "prehook({name!r}, {{0}}.output_nr)", "pre_hook")

    def register(self, x: Variable, method: str, function: str, kind: str) -> None:
        name = f"h{len(self.hooks)}"
        self.hooks.append(name)
        self.add(kind, f"handles[{name!r}] = {{0}}.{method}({function.format(name=name)})", (x,), hook=name)

    def make_unhook(self) -> None:
        if self.hooks:
            self.add("unhook", f"handles[{self.rng.choice(self.hooks)!r}].remove()")

    def make_observe(self) -> None:
        if (x := self.pick()) is not None:
            self.add("observe", "({0}.is_leaf, {0}.grad_fn is None, {0}.output_nr)", (x,))

    def make_get_grad(self) -> None:
        x = self.pick(lambda v: v.requires_grad and v.is_leaf) or self.pick(lambda v: v.requires_grad)
        if x is not None and self.num_passes:
            self.add("get_grad", "{0}.grad", (x,), (self.fresh(x.shape, dtype=x.dtype),))

    def make_set_grad(self) -> None:
        x = self.pick(lambda v: v.requires_grad and v.dtype == "float64")
        if x is None:
            return
        draw = self.rng.random()
        if draw < 0.3:
            self.add("set_grad", "{0}.grad = None", (x,))
        elif draw < 0.55 and x.shape and 0 not in x.shape:
            self.add("set_grad", f"{{0}}.grad = {self.cotangent((), 'float64')}.expand({x.shape})", (x,))
            self.add("backward", "{0}.sum().backward()", (x,), num_roots=1, surplus=False, **self.passes(""))
        else:
            value = self.pick(lambda v: v.shape == x.shape) or x
            self.add("set_grad", "{0}.grad = {1}", (x, value))

    def make_step(self) -> None:
        """An optimizer step: the leaf is written under `no_grad` from its own gradient."""
        x = self.pick(lambda v: v.is_leaf and v.requires_grad and not v.inference)
        if x is None or self.modes or not self.num_passes:
            return
        gradient = self.fresh(x.shape, dtype=x.dtype)
        self.add("get_grad", "{0}.grad", (x,), (gradient,))
        self.modes = ("no_grad",)
        self.add("write", "{0}.sub_({1})", (x, gradient), (), op="sub_")
        self.modes = ()
