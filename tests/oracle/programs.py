"""Random programs: a seed and an index give a program, always the same one.

The generator keeps a rough idea of every variable (shape, dtype, who shares memory with whom, whether it probably
requires grad) so that most statements succeed and the interesting ones meet: a view and a write to its base, a hook
and a rebased history, a saved value and a `no_grad` block. It need not be right. A statement that raises is as good
a test as one that works, since both sides must raise alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import Any

from .differentiation import DifferentiationStatements
from .statements import Program, Statement
from .variables import Shape, Variable, formula, literal

UNARY = ("sin", "cos", "tanh", "sigmoid", "square", "abs", "exp", "clone")
BINARY = {"{0} + {1}": "add", "{0} - {1}": "sub", "{0} * {1}": "mul", "{0} / {1}": "div"}
SHAPES: tuple[Shape, ...] = ((), (2,), (3,), (4,), (2, 3), (3, 2), (2, 2), (3, 3), (1, 3), (2, 1), (2, 2, 2), (0,))

MOST_WRITTEN = 64  # elements that are written one by one

Make = Callable[[], None]


@dataclass(frozen=True)
class Profile:
    """What a program is mostly about: weights of statement makers, and how often a mode is entered."""

    weights: dict[str, float]
    modes: tuple[tuple[tuple[str, ...], float], ...] = ()


BASE = {
    "leaf": 1, "unary": 2, "binary": 3, "scalar": 2, "reduction": 1.5, "matmul": 0.4, "where": 0.4, "join": 0.4,
    "advanced_read": 0.5, "cast": 0.2, "view": 4, "views": 1, "write": 3, "write_scalar": 2, "write_item": 2,
    "write_advanced": 0.8, "detach": 0.7, "data": 0.3, "clone": 0.4, "flag": 0.5, "retain": 0.7, "hook": 0.8,
    "unhook": 0.1, "observe": 1, "backward": 1.3, "grad": 1.5, "get_grad": 0.6, "set_grad": 0.2, "copy": 0.1,
    "set_data": 0.1, "detach_": 0.1, "loop": 0.25, "step": 0.3, "fill": 0.5, "post_hook": 0.15, "pre_hook": 0.15,
}  # fmt: skip

NO_GRAD = ((("no_grad",), 1.0), (("no_grad", "enable_grad"), 0.15), (("no_grad_twice",), 0.1), (("enable_grad",), 0.1))
INFERENCE = (
    (("inference",), 1.0), (("no_grad",), 0.5), (("inference", "enable_grad"), 0.15), (("inference", "normal"), 0.15),
)  # fmt: skip

PROFILES = (
    Profile({}),
    Profile({"view": 8, "views": 2.5, "write": 5, "write_scalar": 4, "write_item": 4, "observe": 2}),
    Profile({"views": 5, "write": 5, "write_scalar": 5, "hook": 2, "retain": 2}),
    Profile({"view": 6, "write": 4, "write_scalar": 4}, NO_GRAD),
    Profile({"flag": 2, "detach": 2, "data": 1, "detach_": 0.5, "copy": 1, "set_data": 1}, NO_GRAD),
    Profile({"hook": 4, "retain": 3, "unhook": 0.8, "observe": 2, "backward": 2.5, "post_hook": 1, "pre_hook": 1}),
    Profile({"grad": 5, "hook": 2, "square": 1, "binary": 5, "get_grad": 1.5}),
    Profile({"leaf": 2, "view": 5}, INFERENCE),
    Profile({"binary": 5, "write": 6, "write_scalar": 4, "write_item": 5, "write_advanced": 2, "loop": 1}),
    Profile({"backward": 4, "set_grad": 1.5, "get_grad": 2, "step": 2}, NO_GRAD),
)


class Generator(DifferentiationStatements):
    """Builds one program; `rng` decides everything."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng
        self.statements: list[Statement] = []
        self.variables: list[Variable] = []
        self.hooks: list[str] = []
        self.modes: tuple[str, ...] = ()
        self.num_names = 0
        self.num_exponentials = 0
        self.profile = rng.choice(PROFILES)
        weights = BASE | self.profile.weights
        self.makers = [name for name in weights if hasattr(self, f"make_{name}")]
        self.weights = [weights[name] for name in self.makers]

    def program(self) -> Program:
        """Leaves first, then anything, then enough differentiation to see what the rest did."""
        for position in range(self.rng.randint(1, 3)):
            self.make_leaf(requires_grad=position == 0 or None)
        if self.rng.random() < 0.7:
            self.rng.choice((self.make_scalar, self.make_unary))()
        length = self.rng.randint(5, 16)
        while len(self.statements) < length:
            self.enter_modes()
            maker = self.rng.choices(self.makers, self.weights)[0]
            getattr(self, f"make_{maker}")()
        self.modes = ()
        for _ in range(self.rng.randint(1, 2)):
            self.rng.choice((self.make_backward, self.make_grad))()
        for variable in self.variables:
            self.add("observe", OBSERVE, (variable,))
        return tuple(self.statements)

    def enter_modes(self) -> None:
        """Keep the block of the previous statement, leave it, or enter another."""
        if not self.profile.modes:
            return
        draw = self.rng.random()
        if draw < 0.45:
            return
        if draw < 0.7:
            self.modes = ()
            return
        stacks, weights = zip(*self.profile.modes, strict=True)
        self.modes = self.rng.choices(stacks, weights)[0]

    # ---- bookkeeping -----------------------------------------------------------------------------------------

    @property
    def recording(self) -> bool:
        """Whether the current modes record history."""
        enabled = True
        for mode in self.modes:
            enabled = mode in ("enable_grad", "normal")
        return enabled and "inference" not in self.modes

    def fresh(self, shape: Shape, like: Variable | None = None, **changes: Any) -> Variable:
        """A new variable; `like` lends dtype and the probable flag."""
        self.num_names += 1
        made = Variable(f"t{self.num_names}", shape, inference="inference" in self.modes)
        if like is not None:
            made.dtype, made.requires_grad = like.dtype, like.requires_grad and self.recording
            made.transposed = like.transposed and len(shape) > 1
        made.root = made.name
        for name, value in changes.items():
            setattr(made, name, value)
        self.variables.append(made)
        return made

    def add(
        self, kind: str, text: str, args: tuple[Variable, ...] = (), out: tuple[Variable, ...] = (), **rest: Any
    ) -> None:
        spelling = {name: rest.pop(name) for name in ("torch", "ruled") if name in rest}
        names = tuple(variable.name for variable in args), tuple(variable.name for variable in out)
        self.statements.append(Statement(kind, text, *names, self.modes, **spelling, facts=rest))

    def pick(self, wanted: Callable[[Variable], bool] = lambda _: True) -> Variable | None:
        """A variable that satisfies `wanted`, recent ones more likely; None when there is none."""
        found = [variable for variable in self.variables if wanted(variable)]
        if not found:
            return None
        return self.rng.choices(found, [1 + 0.5 * i for i in range(len(found))])[0]

    def pick_float(self) -> Variable | None:
        return self.pick(lambda v: v.dtype != "int64")

    def shape(self) -> Shape:
        return self.rng.choices(SHAPES, [1, 2, 4, 4, 4, 2, 2, 3, 1, 1, 1, 0.3])[0]

    def values(self, shape: Shape, dtype: str = "float64") -> str:
        if prod(shape) > MOST_WRITTEN:
            return formula(shape, "" if dtype == "int64" else " * 0.37")
        if dtype == "int64":
            return literal(shape, lambda: str(self.rng.randint(-3, 4)))
        return literal(shape, lambda: str(round(self.rng.uniform(-2, 2), 2)))

    def number(self) -> str:
        return str(self.rng.choice((0.5, 2.0, -1.5, 3.0, 0.25)))

    # ---- creation and functions ------------------------------------------------------------------------------

    def make_leaf(self, requires_grad: bool | None = None) -> None:
        shape = self.shape()
        dtype = self.rng.choices(("float64", "float32", "int64"), (16, 1.5, 0 if requires_grad else 0.7))[0]
        wants = dtype != "int64" and (requires_grad or self.rng.random() < 0.5)
        made = self.fresh(shape, dtype=dtype, requires_grad=wants, is_leaf=True)
        text = f"{{ns}}.tensor({self.values(shape, dtype)}, dtype={{ns}}.{dtype}, requires_grad={wants})"
        self.add("leaf", text, (), (made,))

    def make_unary(self) -> None:
        if (x := self.pick_float()) is None:
            return
        name = self.rng.choice(UNARY)
        if name == "exp" and not self.may_exponentiate():
            name = "sin"
        self.add("read", f"{{0}}.{name}()", (x,), (self.fresh(x.shape, x),), op=name)

    def may_exponentiate(self) -> bool:
        self.num_exponentials += 1
        return self.num_exponentials <= 2

    def make_clone(self) -> None:
        if (x := self.pick()) is not None:
            self.add("read", "{0}.clone()", (x,), (self.fresh(x.shape, x),), op="clone")

    def make_binary(self) -> None:
        if (x := self.pick_float()) is None:
            return
        y = self.pick(lambda v: v.dtype == x.dtype and broadcast(v.shape, x.shape) is not None)
        if y is None:
            return
        shape = broadcast(x.shape, y.shape)
        assert shape is not None
        text = self.rng.choices((*BINARY, "{ns}.maximum({0}, {1})"), (3, 2, 5, 1, 0.7))[0]
        made = self.fresh(shape, x)
        made.requires_grad |= y.requires_grad and self.recording
        self.add("read", text, (x, y), (made,), op=BINARY.get(text, "maximum"))
        if x.transposed != y.transposed:
            self.in_order(made)

    def make_scalar(self) -> None:
        if (x := self.pick_float()) is None:
            return
        number = self.number()
        form = self.rng.choice(("mul", "add", "div", "rsub", "pow", "clip"))
        text = {
            "mul": f"{{0}} * {number}", "add": f"{{0}} + {number}", "div": f"{{0}} / {number}",
            "rsub": f"{number} - {{0}}", "pow": f"{{0}} ** {self.rng.choice((2, 3))}", "clip": "{0}.clip(-1.0, 1.0)",
        }[form]  # fmt: skip
        ruled = f"{{ns}}.ops.aten.{form}.Scalar({{0}}, {number})" if form in ("mul", "div") else None
        self.add("read", text, (x,), (self.fresh(x.shape, x),), op=form, ruled=ruled, scalar=True)

    def make_reduction(self) -> None:
        if (x := self.pick_float()) is None:
            return
        name = self.rng.choice(("sum", "sum", "mean", "prod", "amax", "logsumexp", "cumsum"))
        if not x.shape or 0 in x.shape or (name in ("prod", "cumsum", "logsumexp") and len(x.shape) != 1):
            name = "sum"
        if name == "mean" and x.inference:
            name = "sum"  # torch cannot take the mean along an axis of an inference tensor that requires grad
        axis = self.rng.choice((None, *range(len(x.shape))))
        if name in ("prod", "cumsum", "logsumexp"):
            axis = 0
        keep = self.rng.random() < 0.3
        if name == "cumsum":
            self.add("read", "{0}.cumsum(axis=0)", (x,), (self.fresh(x.shape, x),), op=name)
            return
        if axis is None and name != "prod":
            self.add("read", f"{{0}}.{name}()", (x,), (self.fresh((), x),), op=name)
            return
        shape = reduced(x.shape, axis, keep)
        self.add(
            "read", f"{{0}}.{name}(axis={axis}, keepdims={keep})", (x,), (self.fresh(shape, x),), op=name,
            torch=f"{{0}}.{name}(dim={axis}, keepdim={keep})",
        )  # fmt: skip

    def make_matmul(self) -> None:
        x = self.pick(lambda v: v.dtype == "float64" and len(v.shape) in (1, 2) and 0 not in v.shape)
        if x is None:
            return
        fits = x.shape[-1]
        y = self.pick(lambda v: v.dtype == "float64" and len(v.shape) in (1, 2) and v.shape[0] == fits)
        if y is None:
            return
        made = self.fresh(x.shape[:-1] + y.shape[1:], x)
        made.requires_grad |= y.requires_grad and self.recording
        self.add("read", "{0} @ {1}", (x, y), (made,), op="matmul")

    def make_where(self) -> None:
        if (x := self.pick_float()) is None:
            return
        y = self.pick(lambda v: v.dtype == x.dtype and v.shape == x.shape)
        assert y is not None
        mask = literal(x.shape, lambda: str(self.rng.random() < 0.5))
        made = self.fresh(x.shape, x)
        made.requires_grad |= y.requires_grad and self.recording
        self.add(
            "read", f"{{ns}}.where({{ns}}.tensor({mask}, dtype={{ns}}.bool), {{0}}, {{1}})", (x, y), (made,), op="where"
        )
        if x.transposed or y.transposed:
            self.in_order(made)

    def in_order(self, made: Variable) -> None:
        """Go on with a copy of `made` in a known memory order.

        How a result of operands with different orders lies in memory is a choice, and it decides whether a reshape of
        it is a view: so nothing else is done with it.
        """
        self.variables.remove(made)
        spelling = "{0}.clone(memory_format={ns}.contiguous_format)"
        copy = self.fresh(made.shape, made)
        copy.transposed = False
        self.add("read", "{0}.copy('C')", (made,), (copy,), op="clone", torch=spelling)

    def make_join(self) -> None:
        if (x := self.pick_float()) is None:
            return
        y = self.pick(lambda v: v.dtype == x.dtype and v.shape == x.shape)
        assert y is not None
        made = self.fresh((2, *x.shape), x)
        made.requires_grad |= y.requires_grad and self.recording
        self.add("read", "{ns}.stack([{0}, {1}])", (x, y), (made,), op="stack")
        if x.transposed or y.transposed:
            self.in_order(made)

    def make_cast(self) -> None:
        if (x := self.pick_float()) is None:
            return
        dtype = "float32" if x.dtype == "float64" else "float64"
        made = self.fresh(x.shape, x)
        made.dtype = dtype
        self.add("read", f"{{0}}.to({{ns}}.{dtype})", (x,), (made,), op="cast")

    def make_advanced_read(self) -> None:
        x = self.pick(lambda v: bool(v.shape) and 0 not in v.shape)
        if x is None:
            return
        rows = [self.rng.randrange(x.shape[0]) for _ in range(self.rng.randint(1, 3))]
        self.add("read", f"{{0}}[{rows}]", (x,), (self.fresh((len(rows), *x.shape[1:]), x),), op="index")

    # ---- views -----------------------------------------------------------------------------------------------

    def view_of(self, x: Variable, shape: Shape, **changes: Any) -> Variable:
        made = self.fresh(shape, x, root=x.root, is_view=True, expanded=x.expanded, inference=x.inference, **changes)
        made.constant = x.constant or not self.recording
        made.requires_grad = x.requires_grad and not made.constant
        return made

    def make_view(self) -> None:
        if (x := self.pick()) is None:
            return
        text, shape, expanded = self.rng.choice(self.view_forms(x.shape))
        made = self.view_of(x, shape)
        made.expanded = x.expanded or expanded
        made.transposed |= any(word in text for word in ("swapaxes", "permute", "mT", "diagonal"))
        self.add("view", text, (x,), (made,))

    def view_forms(self, shape: Shape) -> list[tuple[str, Shape, bool]]:
        """The views a tensor of `shape` has: text, resulting shape, whether elements repeat."""
        rng, ndim = self.rng, len(shape)
        forms: list[tuple[str, Shape, bool]] = [("{0}[...]", shape, False), ("{0}.unsqueeze(0)", (1, *shape), False)]
        forms.append((f"{{0}}.expand({(2, *shape)})", (2, *shape), True))
        if 1 in shape:
            axis = shape.index(1)
            forms.append((f"{{0}}.squeeze({axis})", shape[:axis] + shape[axis + 1 :], False))
        if not ndim or 0 in shape:
            return forms
        forms += [self.sliced(shape) for _ in range(4)]
        axis = rng.randrange(ndim)
        rest = shape[:axis] + shape[axis + 1 :]
        forms.append((f"{{0}}.select({axis}, {rng.randrange(shape[axis])})", rest, False))
        length = rng.randint(1, shape[axis])
        start = rng.randint(0, shape[axis] - length)
        narrowed = (*shape[:axis], length, *shape[axis + 1 :])
        forms.append((f"{{0}}.narrow({axis}, {start}, {length})", narrowed, False))
        forms.append((f"{{0}}.reshape({(prod(shape),)})", (prod(shape),), False))
        if prod(shape) % 2 == 0:
            forms.append((f"{{0}}.reshape({(2, prod(shape) // 2)})", (2, prod(shape) // 2), False))
        if ndim >= 2:
            forms.append((f"{{0}}.swapaxes(0, {ndim - 1})", (shape[-1], *shape[1:-1], shape[0]), False))
            axes = rng.sample(range(ndim), ndim)
            forms.append((f"{{0}}.permute({tuple(axes)})", tuple(shape[a] for a in axes), False))
            forms.append(("{0}.mT", (*shape[:-2], shape[-1], shape[-2]), False))
            forms.append(("{0}.diagonal()", (*shape[2:], min(shape[:2])), False))
        return forms

    def sliced(self, shape: Shape) -> tuple[str, Shape, bool]:
        parts, result = self.basic_index(shape)
        return f"{{0}}[{', '.join(parts)}]", result, False

    def basic_index(self, shape: Shape) -> tuple[list[str], Shape]:
        """A random index of ints and slices for the leading axes, and the shape it leaves."""
        rng = self.rng
        parts, result = [], []
        for size in shape[: rng.randint(1, len(shape))]:
            if rng.random() < 0.35:
                parts.append(str(rng.randrange(-size, size)))
                continue
            start, stop = sorted((rng.randint(0, size), rng.randint(0, size)))
            if start == stop:
                start, stop = 0, size
            step = rng.choice((1, 1, 1, 2))
            parts.append(f"{start}:{stop}" + (f":{step}" if step > 1 else ""))
            result.append(len(range(start, stop, step)))
        return parts, (*result, *shape[len(parts) :])

    def make_views(self) -> None:
        """Several views at once. `forms` says how each is made alone, which is how rule D6 rebuilds it."""
        x = self.pick(lambda v: bool(v.shape) and 0 not in v.shape)
        if x is None:
            return
        axis = self.rng.randrange(len(x.shape))
        size, rest = x.shape[axis], x.shape[:axis] + x.shape[axis + 1 :]
        form = self.rng.choice(("unbind", "chunk", "split_with_sizes", "iterate"))
        if form == "iterate":
            axis, size, rest = 0, x.shape[0], x.shape[1:]
        if form in ("unbind", "iterate"):
            text = f"{{ns}}.unbind({{0}}, {axis})" if form == "unbind" else "tuple({0})"
            out = tuple(self.view_of(x, rest) for _ in range(size))
            forms = [f"{{0}}.select({axis}, {i})" for i in range(size)]
            self.add("views", text, (x,), out, forms=forms, unpack=size == 1)
            return
        lengths = [1] * size if size == 1 else [self.rng.randint(1, size - 1)]
        lengths = [*lengths, size - lengths[0]] if size > 1 else lengths
        text = f"{{ns}}.split_with_sizes({{0}}, {lengths}, {axis})"
        if form == "chunk":
            step = -(-size // 2)
            lengths = [step, size - step] if size > step else [size]
            text = f"{{ns}}.chunk({{0}}, 2, {axis})"
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        out = tuple(self.view_of(x, (*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in lengths)
        forms = [f"{{0}}.narrow({axis}, {s}, {n})" for s, n in zip(starts, lengths, strict=True)]
        self.add("views", text, (x,), out, forms=forms, unpack=len(out) == 1)

    # ---- in-place writes -------------------------------------------------------------------------------------

    def wrote(self, x: Variable, *operands: Variable) -> None:
        """Everything that shares memory with `x` may carry history now."""
        if self.recording and any(operand.requires_grad for operand in operands):
            for variable in self.variables:
                if variable.root == x.root and not variable.constant:
                    variable.requires_grad, variable.is_leaf = True, False

    def pick_target(self) -> Variable | None:
        """Something to write: seldom a leaf that requires grad, which would only be refused."""
        target = self.pick(lambda v: not (v.is_leaf and v.requires_grad and self.recording))
        return target if target is not None and self.rng.random() < 0.93 else self.pick()

    def make_write(self) -> None:
        if (x := self.pick_target()) is None:
            return
        operand = self.pick(lambda v: broadcast(v.shape, x.shape) == x.shape and v.dtype != "int64")
        if operand is None or x.dtype == "int64":
            return
        name = self.rng.choices(("add_", "sub_", "mul_", "div_", "copy_"), (3, 2, 4, 0.7, 3))[0]
        if operand.dtype != x.dtype and not operand.shape:
            name = "copy_"
        text = f"{{0}}.{name}({{1}})"
        if name in ("add_", "mul_") and self.rng.random() < 0.2:
            text = "{0} += {1}" if name == "add_" else "{0} *= {1}"
        self.wrote(x, operand)
        self.add("write", text, (x, operand), (), op=name)

    def make_write_scalar(self) -> None:
        if (x := self.pick_target()) is None or x.dtype == "int64":
            return
        form = self.rng.choices(("mul_", "add_", "div_", "sub_", "unary", "clip_"), (5, 4, 1, 1, 4, 0.5))[0]
        if form == "unary":
            name = self.rng.choice(("exp_", "sin_", "tanh_", "sigmoid_", "neg_", "abs_", "square_"))
            if name == "exp_" and not self.may_exponentiate():
                name = "tanh_"
            self.add("write", f"{{0}}.{name}()", (x,), (), op=name)
            return
        if form == "clip_":
            self.add("write", "{0}.clip_(-1.0, 1.0)", (x,), (), op=form)
            return
        number = self.number()
        ruled = f"{{ns}}.ops.aten.{form}.Scalar({{0}}, {number})" if form in ("mul_", "div_") else None
        self.add("write", f"{{0}}.{form}({number})", (x,), (), op=form, ruled=ruled, scalar=True)

    def make_fill(self) -> None:
        if (x := self.pick_target()) is None:
            return
        text = self.rng.choice(("{0}.zero_()", "{0}.fill_(2.0)" if x.dtype != "int64" else "{0}.fill_(2)"))
        self.add("write", text, (x,), (), op="fill_")

    def make_write_item(self) -> None:
        x = self.pick(lambda v: bool(v.shape) and 0 not in v.shape and not (v.is_leaf and v.requires_grad))
        if x is None or x.dtype == "int64":
            return
        parts, shape = self.basic_index(x.shape)
        index = ", ".join(parts)
        value = self.pick(lambda v: v.dtype == x.dtype and broadcast(v.shape, shape) == shape)
        if value is None or self.rng.random() < 0.25:
            self.add("write", f"{{0}}[{index}] = {self.number()}", (x,), (), op="set", index=index)
            return
        self.wrote(x, value)
        self.add("write", f"{{0}}[{index}] = {{1}}", (x, value), (), op="set", index=index)

    def make_write_advanced(self) -> None:
        """Writes through integer arrays (repeats included, rule D34) and masks."""
        x = self.pick(lambda v: bool(v.shape) and 0 not in v.shape and not (v.is_leaf and v.requires_grad))
        if x is None or x.dtype == "int64":
            return
        if self.rng.random() < 0.4:
            mask = literal(x.shape, lambda: str(self.rng.random() < 0.5))
            index = f"{{ns}}.tensor({mask}, dtype={{ns}}.bool)"
            self.add("write", f"{{0}}[{index}] = {self.number()}", (x,), (), op="set", advanced=index)
            return
        rows = [self.rng.randrange(x.shape[0]) for _ in range(self.rng.randint(1, 3))]
        shape = (len(rows), *x.shape[1:])
        value = self.pick(lambda v: v.dtype == x.dtype and broadcast(v.shape, shape) == shape)
        if value is None:
            self.add("write", f"{{0}}[{rows}] = {self.number()}", (x,), (), op="set", advanced=str(rows))
            return
        self.wrote(x, value)
        self.add("write", f"{{0}}[{rows}] = {{1}}", (x, value), (), op="set", advanced=str(rows), rows=rows)

    def make_loop(self) -> None:
        """Preallocate and fill: `h[i + 1] = h[i] * w`, the case region-aware version checks exist for (rule D17)."""
        w = self.pick(lambda v: v.dtype == "float64" and v.shape == ())
        if w is None:
            w = self.fresh((), requires_grad=True, is_leaf=True)
            self.add("leaf", f"{{ns}}.tensor({self.values(())}, dtype={{ns}}.float64, requires_grad=True)", (), (w,))
        h = self.fresh((4,))
        self.add("leaf", "{ns}.tensor([1.0, 1.0, 1.0, 1.0], dtype={ns}.float64)", (), (h,))
        for i in range(self.rng.randint(2, 3)):
            self.wrote(h, w)
            self.add("write", f"{{0}}[{i + 1}] = {{0}}[{i}] * {{1}}", (h, w), (), op="set", index=str(i + 1))

    # ---- aliases and flags -----------------------------------------------------------------------------------

    def make_detach(self) -> None:
        if (x := self.pick()) is not None:
            self.add("alias", "{0}.detach()", (x,), (self.fresh(x.shape, dtype=x.dtype, inference=x.inference),))

    def make_data(self) -> None:
        if (x := self.pick()) is not None:
            self.add("alias", "{0}.data", (x,), (self.fresh(x.shape, dtype=x.dtype, inference=x.inference),))

    def make_copy(self) -> None:
        x = self.pick(lambda v: not v.is_view and not v.inference)
        if x is not None and not self.modes:
            self.add("copy", "copy.copy({0})", (x,), (replace_copy(self.fresh(x.shape), x),))

    def make_set_data(self) -> None:
        roots = [v.root for v in self.variables]
        x = self.pick(lambda v: not v.is_view and not v.inference and roots.count(v.root) == 1)
        if x is None:
            return
        made = f"{{ns}}.tensor({self.values(x.shape, x.dtype)}, dtype={{ns}}.{x.dtype})"
        self.add("set_data", f"{{0}}.data = {made}", (x,))

    def make_detach_(self) -> None:
        if (x := self.pick()) is not None:
            x.requires_grad, x.is_leaf = False, True
            self.add("detach_", "{0}.detach_()", (x,))

    def make_flag(self) -> None:
        bases = {v.root for v in self.variables if v.is_view}
        x = self.pick(lambda v: v.name in bases and not v.requires_grad) if self.rng.random() < 0.5 else None
        x = x or self.pick(lambda v: not v.constant)
        if x is None:
            return
        wanted = self.rng.random() < 0.8
        text = "{0}.requires_grad_()" if wanted else "{0}.requires_grad_(False)"
        if self.rng.random() < 0.25:
            text = f"{{0}}.requires_grad = {wanted}"
        if x.dtype != "int64" and (x.is_leaf or not x.requires_grad):
            x.requires_grad, x.is_leaf = wanted, True
            for view in self.variables:
                if view.root == x.name and view.is_view and not view.constant:
                    view.requires_grad |= wanted
        self.add("flag", text, (x,), wanted=wanted)


OBSERVE = "({0}.is_leaf, {0}.grad_fn is None, {0}.output_nr)"


def replace_copy(made: Variable, x: Variable) -> Variable:
    made.dtype, made.requires_grad, made.is_leaf = x.dtype, x.requires_grad, True
    return made


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """The shape `a` and `b` broadcast to, or None."""
    result = []
    for m, n in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if m != n and 1 not in (m, n):
            return None
        result.append(n if m == 1 else m)
    return tuple(reversed(result))


def reduced(shape: Shape, axis: int | None, keepdims: bool) -> Shape:
    if axis is None:
        return (1,) * len(shape) if keepdims else ()
    return (*shape[:axis], *((1,) if keepdims else ()), *shape[axis + 1 :])


def generate(seed: int, index: int) -> Program:
    """Program number `index` of `seed`."""
    return Generator(random.Random(f"{seed}:{index}")).program()
