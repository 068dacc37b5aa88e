"""`ContextNode`: the node of a call that is also the `ctx` its formulas receive; `FunctionNode`, that of a Function.

Custom operators have a kind of their own (`library/_context.py`). While the call runs, what the author says about it
(saved, dirty, not differentiable) is collected in a `Forward` record, which `apply.py` reads and drops; so the node
never keeps an output, nor an input that was not saved. Attributes that the author sets live in the node's dictionary
and stay as long as the node.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, Self

import numpy as np

from pullback.core.frames import warn
from pullback.core.spec import Spec, describe
from pullback.core.state import current, next_stamp
from pullback.errors import AutogradError
from pullback.payloads.kinds import filled
from pullback.tape.function.rules import Statics, backward_of
from pullback.tape.history import check_tracked_write, requires_grad
from pullback.tape.hook_calls import call_user, lend, taken_back
from pullback.tape.input_metadata import SparseGrad
from pullback.tape.node import Node, NodeRare, released_error, root_kind
from pullback.tape.saved import SavedVariable
from pullback.tape.task import current_task
from pullback.tensors.overwrites import make_way
from pullback.tensors.tensor import Leaf, Tensor, wrap
from pullback.tensors.views import view_of

store = object.__setattr__


class Forward:
    """What is known of a call only while its `forward` and `setup_context` run."""

    __slots__ = ("dirty", "inputs", "is_recorded", "is_tracking", "non_differentiable", "to_save", "to_save_forward")

    def __init__(self, inputs: tuple[Any, ...], is_recorded: bool, is_tracking: bool) -> None:
        self.inputs = inputs
        self.is_recorded = is_recorded
        self.is_tracking = is_tracking  # grad mode is on at the call, whether or not anything requires grad
        self.to_save: tuple[Tensor | None, ...] = ()
        self.to_save_forward: tuple[Tensor | None, ...] = ()
        self.dirty: list[Tensor] = []
        self.non_differentiable: list[Tensor] = []


class Call:
    """What the node of a call remembers of it."""

    __slots__ = (
        "deps",
        "forward",
        "is_tensor",
        "materialize",
        "needs",
        "output_specs",
        "saved",
        "scope",
        "value_specs",
        "was_read",
    )

    def __init__(self, forward: Forward, is_tensor: tuple[bool, ...], needs: tuple[bool, ...]) -> None:
        self.forward: Forward | None = forward
        self.is_tensor = is_tensor  # by argument
        self.needs = needs  # by argument: does it require grad?
        self.materialize = True
        self.deps: Any = None  # tokens behind the outputs
        self.scope: Any = None  # batch dimensions it was recorded with
        self.saved: tuple[SavedVariable, ...] = ()
        self.was_read = False  # by a Function that frees its saved tensors on access
        self.output_specs: tuple[Spec | None, ...] = ()  # by output: None if it takes no gradient
        self.value_specs: tuple[Spec | None, ...] = ()  # by output: what zeros for it look like, None if no tensor


# The context whose backward is running here with the gradients it should compute, and the one whose jvp is running
# with the tensors that it saved for that.
_in_backward: ContextVar[tuple[Any, tuple[bool, ...]] | None] = ContextVar("pullback_in_backward", default=None)
in_jvp: ContextVar[tuple[Any, tuple[Any, ...]] | None] = ContextVar("pullback_in_jvp", default=None)


class ContextNode(Node):
    """The node of a call whose derivative somebody else wrote, and the `ctx` that this author is given.

    Any attribute may be set on it, except the names that the graph itself uses.
    """

    __slots__ = ("__dict__", "_call", "next_nr", "num_outputs")

    is_strict = True
    _materialize_non_diff_grads: bool = True
    """False, set in forward: the gradients of outputs that take none arrive as None, and not as zeros."""
    _fills_tangents = True  # with zeros, where the author did not say otherwise
    _function: ClassVar[type[Statics]]
    _call: Call

    @classmethod
    def _begin(cls, call: Call, edges: list[tuple[Node | None, int]]) -> Self:
        """The node of a call that is about to run, with edges to what its tensor arguments are now."""
        node = cls()
        store(node, "_call", call)
        store(node, "next", tuple([edge[0] for edge in edges]))
        store(node, "next_nr", tuple([edge[1] for edge in edges]))
        store(node, "seq", next_stamp())
        store(node, "rare", None)
        store(node, "spec", None)
        store(node, "num_outputs", 0)
        return node

    def __setattr__(self, name: str, value: Any) -> None:
        # `rare_of` stores its record through here; authors of Functions store anything else.
        if name in _RESERVED and not isinstance(value, NodeRare):
            raise AttributeError(
                f"ctx.{name} cannot be assigned: ctx is the graph node of {self._function.__name__}, which uses that "
                "name itself; choose another one"
            )
        store(self, name, value)

    def _set_sequence_nr(self, number: int) -> None:
        store(self, "seq", number)

    @property
    def specs(self) -> tuple[Spec | None, ...]:
        return self._call.output_specs

    @property
    def _scope(self) -> Any:
        return self._call.scope

    # What forward and setup_context say ------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep these tensors for `backward`, where `ctx.saved_tensors` returns them. The last call counts."""
        self._call_in_progress("save_for_backward").to_save = _tensors("save_for_backward", tensors, allow_none=True)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep these tensors for `jvp`, where `ctx.saved_tensors` returns them. The last call counts."""
        forward = self._call_in_progress("save_for_forward")
        forward.to_save_forward = _tensors("save_for_forward", tensors, allow_none=True)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient."""
        forward = self._call_in_progress("mark_non_differentiable")
        forward.non_differentiable.extend(_tensors("mark_non_differentiable", tensors))

    def set_materialize_grads(self, value: bool) -> None:
        """True, the default: undefined gradients and tangents arrive as zeros. False: as None."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads takes a bool, got {type(value).__name__}")
        self._call.materialize = value

    def _call_in_progress(self, method: str) -> Forward:
        forward = self._call.forward
        if forward is None:
            raise RuntimeError(f"ctx.{method} is for forward and setup_context; the call of {self.name()} is over")
        return forward

    # What backward and jvp ask ---------------------------------------------------------------------------------------

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """By argument, whether its gradient is wanted; in `backward`, by the pass that is running."""
        running = _in_backward.get()
        return running[1] if running is not None and running[0] is self else self._call.needs

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved: in `backward` by `save_for_backward`, in `jvp` by `save_for_forward`."""
        return self._unpacked()

    def _unpacked(self) -> tuple[Any, ...]:
        call = self._call
        if call.forward is not None:
            running = in_jvp.get()
            return running[1] if running is not None and running[0] is self else ()
        return tuple([saved.unpack(self, True) for saved in call.saved])

    @property
    def _raw_saved_tensors(self) -> tuple[SavedVariable, ...]:
        if any(saved._released for saved in self._call.saved):
            raise released_error(self.name())
        return self._call.saved

    def apply(self, *grads: Any) -> Any:
        """Run `backward` on gradients of the outputs, as calling the node does."""
        return self(*grads)

    def release(self) -> None:
        for saved in self._call.saved:
            saved.release()

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        scope, trace = self._call.scope, current().trace
        if scope is None:
            found = self._run_backward(grads, as_tensors, wanted)
        else:
            with scope.reinstated():
                found = scope.reduced(self._run_backward(grads, as_tensors, wanted))
        return found if trace is None else trace.bound(found, grads)

    def _run_backward(self, grads: Any, as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Gradients of the tensors among the arguments, in the batch dimensions that the call was recorded with."""
        raise NotImplementedError  # abstract: the author's formula is called in one way or another

    def _formula(self, needs: tuple[bool, ...], is_recorded: bool, function: Callable[..., Any], *args: Any) -> Any:
        """What the author's formula returns. `needs` says which gradients it should compute."""
        trace = current().trace
        kept = None if trace is None else dict(self.__dict__)
        token = _in_backward.set((self, needs))
        try:
            results = call_user(is_recorded, function, *args)
        finally:
            _in_backward.reset(token)
        if kept is not None and trace is not None and _is_other(self.__dict__, kept):
            trace.looked_for = "what a backward pass has left in ctx"  # another one would find it
        return results

    def _filled(self, gradient: Any, number: int, as_tensors: bool) -> Any:
        spec = self._call.value_specs[number]
        if gradient is not None or spec is None or not self._call.materialize:
            return gradient
        if not self._materialize_non_diff_grads and self._call.output_specs[number] is None:
            return None
        like = self.output_kind(number)
        zeros = np.zeros(spec.shape, spec.dtype) if like is None else filled(like, 0, _root())
        return wrap(zeros) if as_tensors else zeros

    def _gradient(self, entry: Any, gradients: tuple[Any, ...], lent: list[Any], as_tensors: bool) -> Any:
        for original, given in zip(gradients, lent, strict=True):
            if entry is given:
                return original  # passed on as it came
        if entry is not None and not isinstance(entry, (Tensor, SparseGrad)):
            raise TypeError(
                f"backward of {self._function.__name__} returned a {type(entry).__name__}, expected a Tensor or None"
            )
        return taken_back(entry, as_tensors)


class FunctionNode(ContextNode):
    """The node of one call of a custom Function, and the `ctx` of its methods.

    Any attribute may be set on it, except the names that the graph itself uses.
    """

    __slots__ = ()

    @property
    def is_boxed(self) -> bool:  # type: ignore[override]
        """Does `backward` get one list, which it may empty?"""
        return self._function.boxed_grads_call

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that `forward` writes these arguments in place. Each must be returned."""
        forward = self._call_in_progress("mark_dirty")
        for tensor in _tensors("mark_dirty", tensors):
            if not any(tensor is value for value in forward.inputs):
                self._check_not_a_view(tensor, forward)
                warn(
                    "mark_dirty got a tensor that is no argument of the Function; it is ignored"
                )
            elif not any(tensor is other for other in forward.dirty):
                self._check_may_be_dirty(tensor, forward)
                forward.dirty.append(tensor)
                make_way(tensor, name=self._function.__name__)

    def _check_may_be_dirty(self, tensor: Tensor, forward: Forward) -> None:
        info = view_of(tensor)
        tracked = forward.is_recorded or (forward.is_tracking and info is not None and requires_grad(info.base))
        if not tracked or not tensor._spec.is_differentiable:
            return
        if info is None and type(tensor._node) is Leaf:
            raise AutogradError(
                "DIRTY_LEAF",
                f"a leaf {describe(tensor.shape, tensor.dtype)} that requires grad is marked dirty, to be written "
                "in-place",
                where=f"forward of {self._function.__name__}",
                why="the leaf would no longer hold the value that its gradient is taken at",
                fix="call the Function on a clone of the leaf, or under `pb.no_grad()` if this is an update",
            )
        check_tracked_write(tensor)

    def _check_not_a_view(self, tensor: Tensor, forward: Forward) -> None:
        if forward.is_recorded and view_of(tensor) is not None:
            raise AutogradError(
                "DIRTY_NOT_INPUT",
                "mark_dirty got a view of an intermediate value, which is no argument of the Function",
                where=f"forward of {self._function.__name__}",
                why="an in-place write to it cannot be given a history",
                fix="mark and return the argument itself, or return a fresh tensor without marking it",
            )

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved: in `backward` by `save_for_backward`, in `jvp` by `save_for_forward`."""
        call = self._call
        if call.was_read and call.forward is None:
            raise AutogradError(
                "SAVED_ONCE",
                f"the saved tensors of {self.name()} were read a second time",
                where=self.name(),
                why="clear_saved_tensors_on_access=True frees them with the first read",
                fix="read ctx.saved_tensors once and keep the result, or leave the flag off",
            )
        values = self._unpacked()
        if values and call.forward is None and self._function.clear_saved_tensors_on_access:
            self.release()
            call.was_read = True
        return values

    def release(self) -> None:
        super().release()
        self._call.was_read = False

    def _run_backward(self, grads: Any, as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        formula = backward_of(self._function)
        gradients = tuple(self._filled(gradient, number, as_tensors) for number, gradient in enumerate(grads))
        lent: list[Any] = [lend(gradient) for gradient in gradients]
        arguments: list[Any] = lent
        if self.is_boxed:
            arguments = [list(lent)]
            if current().trace is None:
                # The list that backward gets is to be the only one who holds them.
                lent, gradients = [], ()
                if type(grads) is list:
                    grads.clear()
        edge_wanted = iter(wanted)
        needs = tuple(next(edge_wanted) if is_tensor else False for is_tensor in self._call.is_tensor)
        entries = self._entries(self._formula(needs, as_tensors and current().grad, formula, self, *arguments))
        return tuple(
            self._gradient(entry, gradients, lent, as_tensors) if needed else None
            for entry, is_tensor, needed in zip(entries, self._call.is_tensor, needs, strict=True)
            if is_tensor
        )

    def _entries(self, results: Any) -> tuple[Any, ...]:
        """What backward returned, one entry per argument of forward."""
        entries: tuple[Any, ...] = results if isinstance(results, tuple) else (results,)
        count = len(self._call.is_tensor)
        while len(entries) > count and entries[-1] is None:
            entries = entries[:-1]
        if len(entries) != count:
            raise AutogradError(
                "NUM_GRADS",
                f"backward of {self._function.__name__} returned a wrong number of gradients: expected {count}, "
                f"got {len(entries)}",
                where=self.name(),
                why="there is one gradient per argument of forward, in its order",
                fix="return None for arguments that have no gradient",
            )
        for position, (entry, is_tensor) in enumerate(zip(entries, self._call.is_tensor, strict=True)):
            if entry is not None and not is_tensor:
                raise AutogradError(
                    "GRAD_FOR_NONTENSOR",
                    f"backward of {self._function.__name__} returned a gradient at position {position}, where the "
                    "argument of forward was no Tensor",
                    where=self.name(),
                    why="only Tensors have gradients",
                    fix=f"return None at position {position}",
                )
        return entries


_RESERVED = frozenset(name for name in dir(FunctionNode) if not name.startswith("__")) | {"_function"}
_RESERVED -= {"_materialize_non_diff_grads"}


def _tensors(method: str, values: tuple[Any, ...], allow_none: bool = False) -> tuple[Any, ...]:
    for value in values:
        if not isinstance(value, Tensor) and not (allow_none and value is None):
            raise TypeError(f"ctx.{method} takes Tensors{' or None' * allow_none}, got {type(value).__name__}")
    return values


def _is_other(now: dict[str, Any], before: dict[str, Any]) -> bool:
    return now.keys() != before.keys() or any(now[name] is not value for name, value in before.items())


def _root() -> Any:
    """A payload like what the running pass began with, if that has a kind."""
    task = current_task()
    return None if task is None else root_kind(task.roots)
