"""The nodes that declared operators record: `OpNode` for any call, `FastNode` for the fast paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_of
from pullback.declare.derive import pull
from pullback.declare.op import Op, Rule
from pullback.eager.call_source import SLOTS, CallRules
from pullback.eager.pull import NOT_SAVED, call_pull, counted_pull, make_pull, names_of, saved_names
from pullback.eager.segments import is_large, pull_of_large, pulled
from pullback.eager.small import COUNTING, has_kinds
from pullback.tape.node import BY_AXES, BY_PLACES, IN_ORDER, TO_PLACES, Node, rare_of, released_error
from pullback.tape.saved import SavedVariable
from pullback.tensors.overwrites import UNWRITTEN, is_disturbed


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

    is_declared = True

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
        if not as_tensors and self.op.native is not None and is_large(grads, self.operand_specs):
            found = pulled(self.op, grads, wanted, operand, self.operand_specs, output, self.params)
            if found is not None:
                return tuple(found)
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
        made = self.op.saved_aliases.get(name)
        if callable(made):
            return True, made(self)
        kind, position = locate_saved(self.op, name)
        if kind == "operand" and position < len(self.saved_operands):
            handle = self.saved_operands[position]
            if handle is None and self.statics and self.statics[position] is not None:
                return True, self.statics[position]
            return True, SavedVariable(None) if handle is None else handle
        if kind == "output" and position < len(self.saved_outputs):
            handle = self.saved_outputs[position]
            return True, SavedVariable(None) if handle is None else handle
        return saved_static(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_raw_saved_"):
            found, handle = self.raw_saved(name.removeprefix("_raw_saved_"))
            if found:
                return handle
        elif name.startswith("_saved_"):
            found, handle = self.raw_saved(name.removeprefix("_saved_"))
            if found:
                return _unpacked(self, handle)
        raise AttributeError(f"{self.name()} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_saved_attributes(self)]


def saved_static(node: Any, name: str) -> tuple[bool, Any]:
    """Whether a node has kept something of this name that is no tensor, and it: a parameter of the call, a shape."""
    for spelling in (name, *TORCH_NAMES.get(name, ())):
        if spelling in node.params:
            value = node.params[spelling]
            is_one = name == "dim" and node.op.family != "reduction" and type(value) is tuple and len(value) == 1
            return True, value[0] if is_one else value
    described = name.removesuffix("_sym_sizes").removesuffix("_sizes")
    if described != name:
        kind, position = locate_saved(node.op, described)
        if kind == "operand" and position < len(node.operand_specs):
            spec = node.operand_specs[position]
            return spec is not None, None if spec is None else spec.shape
    return False, None


def _saved_attributes(node: Any) -> list[str]:
    """The attributes under which a node shows what it keeps, by torch's names."""
    op = node.op
    operands, outputs = op.reads(tuple([each is not None for each in node.next]))
    named = [op.operands[k] for k in operands if k < len(op.operands) and not op.operands[k].startswith("*")]
    tensors = [_OPERANDS.get(name, name) if name in op.operands[:2] else name for name in named]
    tensors += [op.outputs[k] if len(op.outputs) > 1 else "result" for k in outputs if k < len(op.outputs)]
    spelled = {ours[0]: torch for torch, ours in TORCH_NAMES.items()}
    statics = [spelled.get(name, name) for name in node.params]
    statics += [name for name, made in op.saved_aliases.items() if callable(made)]
    shown = [f"_saved_{name}" for name in (*tensors, *statics)]
    return [*shown, *(f"_raw_saved_{name}" for name in tensors)]


_OPERANDS = {"x": "self", "a": "self", "y": "other", "b": "other"}


def _unpacked(node: Node, handle: Any) -> Any:
    if isinstance(handle, tuple):
        return tuple([_unpacked(node, each) for each in handle])
    return handle.unpack(node, True) if isinstance(handle, SavedVariable) else handle


TORCH_NAMES = {
    "dim": ("axis",), "dims": ("axes", "axis"), "dim1": ("axis1",), "dim2": ("axis2",), "keepdim": ("keepdims",),
    "size": ("shape",), "sizes": ("shape",), "stride": ("strides",), "storage_offset": ("offset",),
    "shifts": ("shift",), "diagonal": ("k",), "equation": ("subscripts",),
}  # fmt: skip
"""What torch calls the parameters of operators, and what they may be called here."""


def locate_saved(op: Op, name: str) -> tuple[str, int]:
    """Which operand or output `_saved_<name>` means; torch's names `self`, `other` and `result` are understood."""
    name = op.saved_aliases.get(name, name)  # type: ignore[assignment]
    if name in op.operands:
        return "operand", op.operands.index(name)
    if name in op.outputs:
        return "output", op.outputs.index(name)
    if name in ("self", "input"):
        return "operand", 0
    if name == "other" and len(op.operands) > 1:
        return "operand", 1
    if name in ("result", "output"):
        return "output", 0
    return "", 0


class FastNode(Node):
    """The node of an elementwise call on plain tensors.

    Saved values sit in slots instead of SavedVariables: the payload and its epoch, which is `UNWRITTEN` for a number
    operand; None as payload was released. It means what the same `OpNode` would mean, and a test compares them.
    """

    __slots__ = ()

    op: Op
    params: dict[str, Any] = {}  # noqa: RUF012  (elementwise operators have none)
    # Slots in the subclass that is made for the op; an operand that no rule reads has none.
    x_data: Any = None
    x_epoch: Any = UNWRITTEN
    y_data: Any = None
    y_epoch: Any = UNWRITTEN
    out_data: Any = NOT_SAVED
    operand_deps: Any = None  # those behind each operand, if they are not the same

    is_fast = True
    is_declared = True

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

    def operand_slots(self, position: int) -> tuple[Any, Any]:
        """What is kept of an operand, and its epoch."""
        return (self.x_data, self.x_epoch) if position == 0 else (self.y_data, self.y_epoch)

    def saved_handle(self, kind: str, position: int) -> Any:
        """The SavedVariable that this slot stands for; one made before, if it was given hooks. A number as it is."""
        key = f"{kind}{position}"
        if self.rare is not None and key in self.rare.saved:
            return self.rare.saved[key]
        if kind == "output":
            data = self.out_data
            handle = SavedVariable.restored(self.spec, data, None, None, 0, is_output=True)
            handle._deps = self.deps
        else:
            data, epoch = self.operand_slots(position)
            if epoch is UNWRITTEN:
                return data.item() if isinstance(data, np.ndarray) else data
            numbers = self.next_nr
            handle = SavedVariable.restored(
                self.spec if data is None else spec_of(data), data, epoch, self.next[position],
                numbers[position] if numbers else 0,
            )  # fmt: skip
            if handle._node is not None:
                handle._deps = self.deps if self.operand_deps is None else self.operand_deps[position]
        if data is None:
            handle.release()
        return handle

    def release(self) -> None:
        if self.x_epoch is not UNWRITTEN:
            self.x_data = None
        if self.y_epoch is not UNWRITTEN:
            self.y_data = None
        if self.out_data is not NOT_SAVED:
            self.out_data = None
        if self.rare is not None:
            for handle in self.rare.saved.values():
                handle.release()

    def raw_saved(self, name: str) -> tuple[bool, Any]:
        """Whether the op has something of this name, and the handle or number behind it."""
        kind, position = locate_saved(self.op, name)
        if not kind or position >= (len(self.next) if kind == "operand" else 1):
            return saved_static(self, name)
        if kind == "output" and self.out_data is NOT_SAVED:
            return True, SavedVariable(None)
        handle = self.saved_handle(kind, position)
        if handle is None:
            return True, SavedVariable(None)
        if isinstance(handle, SavedVariable):
            # A handle that users hold is the one later reads go through, so that hooks given to it count.
            rare_of(self).saved[f"{kind}{position}"] = handle
        return True, handle

    operand_specs: tuple[Spec, ...] = ()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_saved_attributes(self)]

    __getattr__ = OpNode.__getattr__


class TokenNode(FastNode):
    """The same inside a reverse transform: it knows which transforms its result depends on."""

    __slots__ = ("deps", "operand_deps")


class DirectNode(FastNode):
    """The node of a call that is not elementwise: a view, a reduction, a product, a choice; of one or several results.

    Operands that are no tensors are kept as they are, with the epoch `UNWRITTEN`. Those of which there may be any
    number are in `rest_data`, with `rest_epochs`, which is empty if none of them is a tensor.
    """

    __slots__ = ("operand_specs", "params")

    operand_specs: tuple[Spec, ...]
    rest_data: Any = ()
    rest_epochs: tuple[Any, ...] = ()
    saved: tuple[str, ...] = ()  # the values for which there are slots

    def operand_spec(self, position: int) -> Spec | None:
        return self.operand_specs[position]

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        if True not in wanted or all(g is None for g in grads):
            return (None,) * len(self.next)
        are_plain = not as_tensors and all(g is None or type(g) is np.ndarray for g in grads)
        if are_plain and self.rare is None and self.wants_all(wanted):
            return self.pull(list(grads) if len(grads) > 1 else grads[0], True)
        return tuple(
            pull(
                self.op,
                grads,
                wanted,
                lambda position: self.operand_value(position, as_tensors),
                self.operand_specs.__getitem__,
                lambda position: self._output_value(position, as_tensors),
                self.params,
            )
        )

    def _output_value(self, position: int, as_tensor: bool) -> Any:
        handle = self.saved_handle("output", position)
        return None if handle is None else handle.unpack(self, as_tensor)

    def rest_values(self) -> tuple[Any, ...]:
        """The operands of which there may be any number, as a plain pass reads them."""
        if self.rest_data is None:
            raise released_error(self.name())
        if not self.rest_epochs:
            return self.rest_data
        first = self.op.variadic_from
        return tuple([
            self.operand_value(first + k, False) if is_disturbed(data, epoch) else data
            for k, (data, epoch) in enumerate(zip(self.rest_data, self.rest_epochs, strict=True))
        ])  # fmt: skip

    def operand_slots(self, position: int) -> tuple[Any, Any]:
        first = self.op.variadic_from
        if not 0 <= first <= position:
            v = SLOTS[position]
            return (getattr(self, f"{v}_data"), getattr(self, f"{v}_epoch")) if v in self.saved else (None, UNWRITTEN)
        if "rest" not in self.saved:
            return None, UNWRITTEN
        epoch = self.rest_epochs[position - first] if self.rest_epochs else UNWRITTEN
        return (None if self.rest_data is None else self.rest_data[position - first]), epoch

    def saved_handle(self, kind: str, position: int) -> Any:
        key = f"{kind}{position}"
        if self.rare is not None and key in self.rare.saved:
            return self.rare.saved[key]
        if kind == "output":
            name = f"out{position or ''}"
            data = getattr(self, f"{name}_data") if name in self.saved else NOT_SAVED
            if data is NOT_SAVED:
                return None
            spec = self.specs[position]
            known = spec if spec is not None or data is None else spec_of(data)
            handle = SavedVariable.restored(known, data, None, None, position, is_output=spec is not None)
        else:
            data, epoch = self.operand_slots(position)
            if epoch is UNWRITTEN:
                return data
            spec = self.operand_specs[position]  # None of an index
            known = spec if spec is not None or data is None else spec_of(data)
            handle = SavedVariable.restored(known, data, epoch, self.next[position], 0)
        if data is None:
            handle.release()
        return handle

    def release(self) -> None:
        for name in self.saved:
            if name.startswith("out"):
                if getattr(self, f"{name}_data") is not NOT_SAVED:
                    setattr(self, f"{name}_data", None)
            elif name == "rest":
                self.rest_data = None if self.rest_epochs else self.rest_data
            elif getattr(self, f"{name}_epoch") is not UNWRITTEN:
                setattr(self, f"{name}_data", None)
        if self.rare is not None:
            for handle in self.rare.saved.values():
                handle.release()

    def part_of(self, whole: Any) -> Any:
        """Of the gradient of the operand, what belongs to the result: a view of it, or None if there is none."""
        part = self.op.kernel(whole, **self.params)
        return part if not self.op.may_copy or aliases(part, whole) else None

    def add_to_part(self, whole: Any, gradient: Any) -> bool:
        """Add a gradient of the result to that of the operand; says whether it did."""
        if self.op.add_at is not None:
            self.op.add_at(whole, gradient, self.rest_values(), **self.params)
            return True
        part = self.part_of(whole)
        if part is None:
            return False
        np.add(part, gradient, part)
        return True

    def take_out(self, gradient: Any) -> Any:
        """The gradient of what was written to places, of which that of the result loses it."""
        take_out: Any = self.op.take_out
        return take_out(gradient, self.rest_values(), **self.params)

    @property
    def saved_operands(self) -> tuple[SavedVariable | None, ...]:
        """The handles of the operands that are tensors, as an `OpNode` has them."""
        handles = [self.saved_handle("operand", position) for position in range(len(self.next))]
        return tuple([each if isinstance(each, SavedVariable) else None for each in handles])

    @property
    def statics(self) -> tuple[Any, ...]:
        """The operands that are no tensors, as an `OpNode` has them."""
        found = [self.operand_slots(position) for position in range(len(self.next))]
        return tuple([data if epoch is UNWRITTEN else None for data, epoch in found])

    @property
    def saved_outputs(self) -> tuple[SavedVariable | None, ...]:
        """The handles of the outputs, as an `OpNode` has them."""
        found = tuple([self.saved_handle("output", position) for position in range(self.num_outputs)])
        return () if all(each is None for each in found) else found

    def raw_saved(self, name: str) -> tuple[bool, Any]:
        """Whether the op has something of this name that its rules read, and the handle or static value behind it."""
        made = self.op.saved_aliases.get(name)
        if callable(made):
            return True, made(self)
        kind, position = locate_saved(self.op, name)
        reads_operands, reads_outputs = self.op.reads(tuple([node is not None for node in self.next]))
        if kind == "operand" and reads_operands and position < len(self.next):
            pass
        elif kind != "output" or not reads_outputs or position >= self.num_outputs:
            return saved_static(self, name)
        handle = self.saved_handle(kind, position)
        if handle is None:
            return True, SavedVariable(None)
        if isinstance(handle, SavedVariable):
            # A handle that users hold is the one later reads go through, so that hooks given to it count.
            rare_of(self).saved[f"{kind}{position}"] = handle
        return True, handle


class SeveralNode(DirectNode):
    """The same for a call with several results."""

    __slots__ = ("output_specs",)

    output_specs: tuple[Spec | None, ...]

    @property
    def specs(self) -> tuple[Spec | None, ...]:
        return self.output_specs


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

    def plain(node: Any, gradient: Any, keep: bool) -> tuple[Any, ...]:
        return loose.pull(node, gradient, keep)

    saved: Any = _class_of(op, base, rules, fits=True)
    saved.pull = pull
    loose: Any = _class_of(op, base, rules, fits=False)
    return saved, type(base.__name__, (loose,), {"__slots__": (), "pull": pull_of_large(op, plain)})


def direct_node_class(op: Op, rules: CallRules, bases: tuple[type, ...] = ()) -> type[DirectNode]:
    """The DirectNode of `op`. Its `pull` is made when the op is differentiated first."""

    def pull(self: DirectNode, gradient: Any, keep: bool) -> tuple[Any, ...]:
        if has_kinds(op):
            needs = tuple([behind is not None for behind in self.next])
            made.pull = counted_pull(op, rules, needs, COUNTING)
        else:
            made.pull = call_pull(op, rules)
        return made.pull(self, gradient, keep)

    made: Any = class_of_calls(op, rules, bases, {"pull": pull})
    if op.shows_each_once or op.add_at is not None or op.take_out is not None:
        made.has_parts, made.is_fast = True, False
        made.shows_part, made.writes_places = op.shows_each_once, op.take_out is not None
        made.part_kind = BY_PLACES if op.add_at is not None else TO_PLACES if made.writes_places else 0
        made.part_kind = {"in order": IN_ORDER, "axes": BY_AXES}.get(op.shows_all, made.part_kind)
    return made


def class_of_calls(op: Op, rules: CallRules, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
    """A DirectNode of `op` with room for what its rules read."""
    names = names_of(op, rules)
    count = op.num_outputs or 1
    base = DirectNode if count == 1 else SeveralNode
    slots = (*_slots(names), *members.pop("__slots__", ()))
    common = {"__slots__": slots, "op": op, "saved": tuple(names), "num_outputs": count}
    return type(base.__name__, (*bases, base), common | members)


def aliases(result: Any, source: Any) -> bool:
    """Did a view operation return a view, or did it have to copy?"""
    if type(result) is not np.ndarray:
        test = getattr(type(result), "aliases_payload", None)
        if test is not None:
            return bool(test(result, source))
    owner = source if source.base is None else source.base
    return result is source or result.base is source or result.base is owner


def large_direct_node_class(op: Op, made: Any) -> type[DirectNode]:
    """The same for large arrays, whose formula may be native; `made` is the class for small ones."""

    def plain(node: Any, gradient: Any, keep: bool) -> tuple[Any, ...]:
        return made.pull(node, gradient, keep)

    return type(made.__name__, (made,), {"__slots__": (), "pull": pull_of_large(op, plain)})


def _class_of(op: Op, base: Any, rules: tuple[Rule | None, ...], fits: bool) -> Any:
    """The class with room for what the rules read; its `pull` is made when the op is differentiated first."""

    def pull(self: FastNode, gradient: Any, keep: bool) -> tuple[Any, ...]:
        made.pull = make_pull(op, rules, fits, is_real=True)
        return self.pull(gradient, keep)

    made: Any = type(base.__name__, (base,), {"__slots__": _slots(saved_names(rules)), "op": op, "pull": pull})
    return made


def _slots(names: list[str]) -> tuple[str, ...]:
    """The slots for these values: each with its epoch, which results do without."""
    slots: list[str] = []
    for name in names:
        epochs = f"{name}_epochs" if name == "rest" else f"{name}_epoch"
        slots += [f"{name}_data"] if name.startswith("out") else [f"{name}_data", epochs]
    return tuple(slots)
