"""Statements that write in place, look at a tensor in another shape, or change its flags."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb

from .program import Statement
from .reads import broadcasts


class WriteStatements:
    """Makers of statements that change something."""

    rng: Any
    scope: dict[str, Any]
    pick: Any
    pick_tensor: Any
    pick_float: Any
    number: Any
    modes: tuple[str, ...]
    parameters: list[str]
    made: Any
    statement: Any
    basic_index: Any

    def pick_target(self) -> str | None:
        """Something to write: seldom a leaf that requires grad, which would only be refused."""
        records = not self.modes and pb.is_grad_enabled()
        target = self.pick_tensor(lambda x: not (x.is_leaf and x.requires_grad and records))
        found: str | None = target if target is not None and self.rng.random() < 0.95 else self.pick_tensor()
        return found

    def operand_for(self, target: str) -> str | None:
        """Something that can be written into the target."""
        x = self.scope[target]
        found: str | None = self.pick(
            lambda v: broadcasts(v, x) and np.broadcast_shapes(v.shape, x.shape) == x.shape
            and np.can_cast(v.dtype, x.dtype, "same_kind")
        )  # fmt: skip
        return found

    def make_write(self) -> Statement | None:
        x = self.pick_target()
        y = None if x is None else self.operand_for(x)
        if x is None or y is None:
            return None
        form = self.rng.choice(("{0}.add_({1})", "{0}.mul_({1})", "{0}.sub_({1})", "{0} += {1}", "{0} *= {1}"))
        return self.statement(form.format(x, y), x, y)

    def make_write_number(self) -> Statement | None:
        x = self.pick_target()
        if x is None:
            return None
        form = self.rng.choice(("{0}.add_({1})", "{0}.mul_({1})", "{0} -= {1}", "{0} *= {1}", "{0}.div_({1})"))
        number = self.number() if self.scope[x].dtype.kind != "i" else "2"
        return self.statement(form.format(x, number), x)

    def make_write_unary(self) -> Statement | None:
        x = self.pick_target()
        if x is None:
            return None
        return self.statement(f"{x}.{self.rng.choice(('sin_', 'tanh_', 'neg_', 'exp_', 'abs_', 'square_'))}()", x)

    def make_write_item(self) -> Statement | None:
        x = self.pick_target()
        if x is None or not self.scope[x].ndim:
            return None
        index = self.basic_index(self.scope[x].shape)
        part = self.scope[x].detach()._data[eval(f"np.s_[{index}]", {"np": np})]
        y = self.pick(lambda v: broadcasts(v, part) and np.broadcast_shapes(v.shape, part.shape) == part.shape)
        value = y if y is not None and self.rng.random() < 0.7 else self.number()
        return self.statement(f"{x}[{index}] = {value}", x, *((y,) if value is y and y is not None else ()))

    def make_write_item_op(self) -> Statement | None:
        x = self.pick_target()
        if x is None or not self.scope[x].ndim:
            return None
        index = self.basic_index(self.scope[x].shape)
        y = self.pick_tensor(lambda v: v.ndim == 0)
        value = y if y is not None and self.rng.random() < 0.5 else self.number()
        sign = self.rng.choice(("+=", "*=", "-="))
        return self.statement(f"{x}[{index}] {sign} {value}", x, *((y,) if value is y and y is not None else ()))

    def make_write_advanced(self) -> Statement | None:
        x = self.pick_target()
        if x is None or not self.scope[x].ndim or not self.scope[x].size:
            return None
        length = self.scope[x].shape[0]
        rows = [self.rng.randrange(length) for _ in range(self.rng.randint(1, 2))]
        y = self.pick_tensor(lambda v: v.ndim == 0)
        value = y if y is not None and self.rng.random() < 0.6 else self.number()
        form = self.rng.choice((
            "{0}[{1}] = {2}", "{0}[{1}] += {2}", "{0}[{0} > 0.5] = {2}", "{0}[np.array({1})] *= {2}",
        ))  # fmt: skip
        return self.statement(form.format(x, rows, value), x, *((y,) if value is y and y is not None else ()))

    def make_copy(self) -> Statement | None:
        x = self.pick_target()
        y = None if x is None else self.operand_for(x)
        return None if x is None or y is None else self.statement(f"{x}.copy_({y})", x, y)

    def make_fill(self) -> Statement | None:
        x = self.pick_target()
        form = self.rng.choice(("{0}.fill_(2)", "{0}.zero_()", "{0}[...] = 1"))
        return None if x is None else self.statement(form.format(x), x)

    def make_look(self) -> Statement | None:
        """The same tensor, with other axes."""
        x = self.pick_tensor(lambda v: not isinstance(v, np.ndarray))
        form = self.rng.choice((
            "{0}.t_()", "{0}.squeeze_()", "{0}.unsqueeze_(0)", "{0}.swapaxes_(0, -1)", "{0}.unsqueeze_(-1)",
            "{0}.squeeze_(0)", "{0}.transpose_(0, 1)",
        ))  # fmt: skip
        return None if x is None else self.statement(form.format(x), x)

    def make_flag(self) -> Statement | None:
        # Not on an argument that is a view: what of it requires grad then depends on its base, which a trace has not.
        x = self.pick_float(lambda v: v._base is None or not any(v is self.scope[name] for name in self.parameters))
        forms = ("{0}.requires_grad_()", "{0}.requires_grad_(False)", "{0}.requires_grad = True")
        form = self.rng.choices(forms, (5, 1, 1))[0]
        return None if x is None else self.statement(form.format(x), x)

    def make_data(self) -> Statement | None:
        """Other memory for a tensor that is no view: a view would be one no longer, and still have its base."""
        x = self.pick_tensor(lambda v: v._base is None)
        y = None if x is None else self.pick_tensor(lambda v: v._spec == self.scope[x]._spec)
        if x is None or y is None:
            return None
        form = self.rng.choice(("{0}.data = {1}.detach()", "{0}.data = {1} * 2.0", "{0}.data = {1}.clone()"))
        return self.statement(form.format(x, y), x, y)

    def make_grad_mode(self) -> Statement | None:
        if self.modes:
            return None
        return self.statement(f"pb.set_grad_enabled({self.rng.random() < 0.5})")

    def make_detach_in_place(self) -> Statement | None:
        x = self.pick_tensor()
        return None if x is None else self.statement(f"{x}.detach_()", x)

    def make_retain(self) -> Statement | None:
        # What a view retains after a write to its base depends on how its history is rebuilt.
        x = self.pick_float(lambda v: v.requires_grad and not v.is_leaf and v._base is None)
        return None if x is None else self.statement(f"{x}.retain_grad()", x)

    def make_array_write(self) -> Statement | None:
        """A write to an argument that is a NumPy array."""
        x = self.pick(lambda v: isinstance(v, np.ndarray) and v.ndim)
        form = self.rng.choice(("{0}[0] = {1}", "{0}[...] = {1}", "{0} += {1}", "{0}[1:] *= {1}"))
        return None if x is None else self.statement(form.format(x, self.number()), x)
