"""The nodes that declared operators record: `OpNode` for any call, `FastNode` for the fast paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._node import Node, rare_of
from pullback.autograd._saved import SavedVariable
from pullback.core.spec import Spec
from pullback.declare.derive import pull
from pullback.declare.op import Op, Rule
from pullback.eager.formulas import RELEASED, make_pull, pulled_rules, saved_names


class OpNode(Node):
    """The node of a declared operator: the declaration, its static parameters, and what its rules read."""

    __slots__ = ("next_nr", "num_outputs", "op", "operand_specs", "output_specs", "params", "saved_operands",
                 "saved_outputs", "statics")  # fmt: skip

    op: Op
    params: dict[str, Any]
    operand_specs: tuple[Spec | None, ...]
    output_specs: tuple[Spec | None, ...]
    saved_operands: tuple[SavedVariable | None, ...]
    saved_outputs: tuple[SavedVariable | None, ...]
    statics: tuple[Any, ...]  # operands that are not tensors, by position

    def name(self) -> str:
        return self.op.grad_name

    @property
    def specs(self) -> tuple[Spec | None, ...]:
        return self.output_specs

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        if True not in wanted or (grads[0] is None and all(g is None for g in grads)):
            return (None,) * len(self.next)
        operand, output = (
            (self.operand_tensor, self.output_tensor) if as_tensors else (self.operand_payload, self.output_payload)
        )
        return tuple(pull(self.op, grads, wanted, operand, self.operand_specs.__getitem__, output, self.params))

    def operand_payload(self, position: int) -> Any:
        """A saved operand as the rules of a plain pass see it."""
        saved = self.saved_operands[position]
        return self.statics[position] if saved is None else saved.unpack(self, False)

    def operand_tensor(self, position: int) -> Any:
        """A saved operand with its history, for a pass that is recorded."""
        saved = self.saved_operands[position]
        return self.statics[position] if saved is None else saved.unpack(self, True)

    def output_payload(self, position: int) -> Any:
        """A saved output as the rules of a plain pass see it."""
        saved = self.saved_outputs[position]
        return None if saved is None else saved.unpack(self, False)

    def output_tensor(self, position: int) -> Any:
        """A saved output with its history, for a pass that is recorded."""
        saved = self.saved_outputs[position]
        return None if saved is None else saved.unpack(self, True)

    def release(self) -> None:
        for saved in (*self.saved_operands, *self.saved_outputs):
            if saved is not None:
                saved.release()

    def raw_saved(self, name: str) -> tuple[bool, Any]:
        """Whether the op has something of this name, and the handle or static value behind it."""
        kind, position = locate_saved(self.op, name)
        if kind == "operand" and position < len(self.saved_operands):
            handle = self.saved_operands[position]
            if handle is None and self.statics and self.statics[position] is not None:
                return True, self.statics[position]
            return True, SavedVariable(None) if handle is None else handle
        if kind == "output" and position < len(self.saved_outputs):
            handle = self.saved_outputs[position]
            return True, SavedVariable(None) if handle is None else handle
        if name in self.params:
            return True, self.params[name]
        return False, None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_raw_saved_"):
            found, handle = self.raw_saved(name.removeprefix("_raw_saved_"))
            if found:
                return handle
        elif name.startswith("_saved_"):
            found, handle = self.raw_saved(name.removeprefix("_saved_"))
            if found:
                return handle.unpack(self, True) if isinstance(handle, SavedVariable) else handle
        raise AttributeError(f"{self.name()} has no attribute {name!r}")


def locate_saved(op: Op, name: str) -> tuple[str, int]:
    """Which operand or output `_saved_<name>` means; torch's names `self`, `other` and `result` are understood."""
    name = op.saved_aliases.get(name, name)
    if name in op.operands:
        return "operand", op.operands.index(name)
    if name in op.outputs:
        return "output", op.outputs.index(name)
    if name == "self":
        return "operand", 0
    if name == "other" and len(op.operands) > 1:
        return "operand", 1
    if name == "result":
        return "output", 0
    return "", 0


class FastNode(Node):
    """The node of an elementwise call on plain tensors.

    Saved values sit in slots instead of SavedVariables: the operand, its payload, and its version when saved; a
    number operand is a payload without tensor. It means what the same `OpNode` would mean, and a test compares them.
    """

    __slots__ = ()

    op: Op
    params: dict[str, Any] = {}  # noqa: RUF012  (elementwise operators have none)
    # Slots in the subclass that is made for the op; an operand that no rule reads has none.
    x: Any = None
    x_data: Any = None
    x_version: int = 0
    y: Any = None
    y_data: Any = None
    y_version: int = 0
    out_data: Any = None
    out_counter: Any = None
    deps: Any = None  # the tokens behind the result, in a `TokenNode`

    is_fast = True

    def name(self) -> str:
        return self.op.grad_name

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        if grads[0] is None:
            return (None,) * len(self.next)
        if not as_tensors and self.rare is None and type(grads[0]) is np.ndarray and self.wants_all(wanted):
            return self.pull(grads[0], True)
        return tuple(
            pull(
                self.op,
                grads,
                wanted,
                lambda position: self.operand_value(position, as_tensors),
                self.operand_spec,
                lambda position: self.saved_handle("output", 0).unpack(self, as_tensors),
                self.params,
            )
        )

    def operand_spec(self, position: int) -> Spec | None:
        """Shape and dtype of an operand; the rules of elementwise operators do not ask for them."""
        return self.spec

    def wants_all(self, wanted: tuple[bool, ...]) -> bool:
        """Is every gradient wanted that this node has? The fast formula computes them all, and reads what they need."""
        return all(want or behind is None for want, behind in zip(wanted, self.next, strict=True))

    def operand_value(self, position: int, as_tensor: bool) -> Any:
        """A saved operand."""
        handle = self.saved_handle("operand", position)
        return handle.unpack(self, as_tensor) if isinstance(handle, SavedVariable) else handle

    def saved_handle(self, kind: str, position: int) -> Any:
        """The SavedVariable that this slot stands for; one made before, if it was given hooks. A number as it is."""
        key = f"{kind}{position}"
        if self.rare is not None and key in self.rare.saved:
            return self.rare.saved[key]
        if kind == "output":
            handle = SavedVariable.restored(self.spec, self.out_data, None, 0, self.out_counter, None, 0)
            handle._deps = self.deps
            released = self.out_data is None and self.out_counter is RELEASED
        else:
            tensor, data = (self.x, self.x_data) if position == 0 else (self.y, self.y_data)
            if tensor is None:
                return data.item() if isinstance(data, np.ndarray) else data
            version = self.x_version if position == 0 else self.y_version
            released = tensor is RELEASED
            node = None if released else self.next[position]
            numbers = self.next_nr
            handle = SavedVariable.restored(
                self.spec if released else tensor._spec, data, None if released else tensor, version, None, node,
                numbers[position] if numbers else 0,
            )  # fmt: skip
        if released:
            handle.release()
        return handle

    def release(self) -> None:
        if self.x is not None:
            self.x, self.x_data = RELEASED, None
        if self.y is not None:
            self.y, self.y_data = RELEASED, None
        if self.out_data is not None:
            self.out_counter, self.out_data = RELEASED, None
        if self.rare is not None:
            for handle in self.rare.saved.values():
                handle.release()

    def check(self, position: int) -> None:
        """Make the checks that the fast pull found reason for; raise, or return if the value is still good."""
        self.operand_value(position, False)

    def raw_saved(self, name: str) -> tuple[bool, Any]:
        """Whether the op has something of this name, and the handle or number behind it."""
        kind, position = locate_saved(self.op, name)
        if not kind or position >= (len(self.next) if kind == "operand" else 1):
            return False, None
        missing = self.out_data is None and self.out_counter is not RELEASED
        if kind == "output" and missing:
            return True, SavedVariable(None)
        handle = self.saved_handle(kind, position)
        if handle is None:
            return True, SavedVariable(None)
        if isinstance(handle, SavedVariable):
            # A handle that users hold is the one later reads go through, so that hooks given to it count.
            rare_of(self).saved[f"{kind}{position}"] = handle
        return True, handle

    __getattr__ = OpNode.__getattr__


class TokenNode(FastNode):
    """The same inside a reverse transform: it knows which transforms its result depends on."""

    __slots__ = ("deps",)


class DirectNode(FastNode):
    """The node of a call of one or two plain tensors that is not elementwise: a view, a reduction, a product."""

    __slots__ = ("operand_specs", "params")

    operand_specs: tuple[Spec, ...]
    saves_x = saves_y = saves_out = False  # do some rules read this value, so that there are slots for it?

    def operand_spec(self, position: int) -> Spec | None:
        return self.operand_specs[position]

    @property
    def saved_operands(self) -> tuple[SavedVariable | None, ...]:
        """The handles of the operands, as an `OpNode` has them."""
        return tuple(self.saved_handle("operand", position) for position in range(len(self.next)))

    @property
    def saved_outputs(self) -> tuple[SavedVariable | None, ...]:
        """The handle of the output, as an `OpNode` has it."""
        return () if self.out_counter is None else (self.saved_handle("output", 0),)

    def raw_saved(self, name: str) -> tuple[bool, Any]:
        """As `FastNode` has it, but what no rule reads is not there."""
        kind, _ = locate_saved(self.op, name)
        reads_operands, reads_outputs = self.op.reads(tuple([node is not None for node in self.next]))
        if (kind == "operand" and reads_operands) or (kind == "output" and reads_outputs):
            return super().raw_saved(name)
        return (True, self.params[name]) if name in self.params else (False, None)


def fast_node_classes(op: Op, rules: tuple[Rule, ...]) -> tuple[type[FastNode], type[FastNode]]:
    """The FastNodes of an elementwise `op`: for operands and result of one spec, and for operands that broadcast."""
    return _class_of(op, FastNode, rules, fits=True), _class_of(op, FastNode, rules, fits=False)


def token_node_classes(op: Op, rules: tuple[Rule, ...]) -> tuple[type[FastNode], type[FastNode]]:
    """The same for calls inside a reverse transform."""
    return _class_of(op, TokenNode, rules, fits=True), _class_of(op, TokenNode, rules, fits=False)


def large_node_classes(
    op: Op, rules: tuple[Rule, ...], base: Any, metered: Callable[[Op, tuple[Rule, ...], Any], None]
) -> tuple[type[FastNode], type[FastNode]]:
    """The same for large arrays; `metered` gives a class its formula when the first of its nodes is differentiated."""

    def pull(self: FastNode, gradient: Any, keep: bool) -> tuple[Any, ...]:
        metered(op, rules, saved)
        return self.pull(gradient, keep)

    saved: Any = _class_of(op, base, rules, fits=True)
    saved.pull = pull
    return saved, _class_of(op, base, rules, fits=False)


def direct_node_class(op: Op) -> type[DirectNode] | None:
    """The DirectNode of `op`, None if its rules are not of the kind that has a compiled formula."""
    rules = pulled_rules(op)
    return None if rules is None else _class_of(op, DirectNode, rules, fits=False)


def _class_of(op: Op, base: Any, rules: tuple[Rule | None, ...], fits: bool) -> Any:
    """The class with room for what the rules read; its `pull` is made when the op is differentiated first."""

    def pull(self: FastNode, gradient: Any, keep: bool) -> tuple[Any, ...]:
        made.pull = make_pull(op, rules, fits, is_real=base is not DirectNode)
        return self.pull(gradient, keep)

    slots: list[str] = []
    for name in saved_names(rules):
        slots += ["out_data", "out_counter"] if name == "out" else [name, f"{name}_data", f"{name}_version"]
    members = {"__slots__": tuple(slots), "op": op, "pull": pull}
    made: Any = type(base.__name__, (base,), members | {f"saves_{name}": True for name in saved_names(rules)})
    return made
