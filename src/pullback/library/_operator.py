"""`CustomOpDef`: a custom operator, its slots, and the call."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

from pullback.core.state import current, restore_beside_modes
from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.graph.ir import finders
from pullback.graph.text.literals import Described, Writer, described
from pullback.library._call import LIST, STATIC, TENSOR, Binder, Call, Layout, Promise, laid_out
from pullback.library._errors import BindError
from pullback.library._fake import as_spec, outputs_of_fake
from pullback.library._fast import fast_function
from pullback.library._formulas import forward_from
from pullback.library._op import as_op, as_view_op, call_operator
from pullback.library._reverse import Missing, Transposed
from pullback.library._schema import Schema
from pullback.library._slots import Registrations
from pullback.library._tracing import check_written_arrays
from pullback.tensors.tensor import Tensor, as_constant

_log = logging.getLogger("pullback.library")
_switched_off: contextvars.ContextVar[frozenset[tuple[str, str]]] = contextvars.ContextVar(
    "pullback_kernels_off", default=frozenset()
)
restore_beside_modes(_switched_off.get, _switched_off.set)
lock = threading.RLock()
"""Held while an operator is defined or changed; calls take none."""

operators: dict[str, CustomOpDef] = {}
"""Every custom operator by qualified name, in the order of definition."""


class CustomOpDef(Registrations):
    """A custom operator. Call it like a function; fill its slots with the `register_*` and `def*` methods."""

    def __init__(
        self,
        qualname: str,
        schema: Schema,
        function: Callable[..., Any] | None,
        tags: frozenset[str],
        autograd_fallback: str,
        place: str,
    ) -> None:
        self.qualname = qualname
        self.namespace, _, rest = qualname.partition("::")
        self.name, _, self.overload = rest.partition(".")
        self.schema = schema
        self.tags = tags
        self.mutates_args = schema.written
        self.autograd_fallback = autograd_fallback
        self.defined_at = place
        self.function = function
        # Slots: each holds what was registered together with the place of its registration.
        self.kernels: dict[str, tuple[Callable[..., Any], str]] = {}
        self.default_kernel: tuple[Callable[..., Any], str] | None = None
        self.fake: tuple[Callable[..., Any], str] | None = None
        self.batch: tuple[Any, str] | None = None
        self.effect: tuple[str | None, str] | None = None
        self.halves: Callable[[Any], Any] | None = None  # of a collective, which a graph may start and wait for
        self.reverse: Any = None
        self.forward: Any = None
        self.setup: tuple[Callable[..., Any], str] | None = None
        self.save_half: tuple[Callable[..., Any], str] | None = None
        self.backward_half: Any = None
        self.seen_outputs = self._new_record()
        self._op: Op | None = None
        self._fast: Callable[..., Any] | None = None  # the fast path of plain calls, made with `_op`
        self.is_elementwise = "pointwise" in tags
        self.annotated: list[Any] = []  # of a primitive: for each parameter, what its annotation asks for
        self.signature = _signature(function, schema)
        self.binder = Binder(qualname, schema)
        self.adapters: list[tuple[bool, bool]] | None = None if schema.is_dynamic else [
            (argument.type.as_array, argument.type.writes or "writable_inputs" in tags)
            for argument in schema.positional
        ]  # fmt: skip
        self.returns_one_array = (
            not schema.is_dynamic and not schema.returns_tuple and len(schema.returns) == 1
            and schema.returns[0].is_tensor and not schema.returns[0].is_list and schema.returns[0].as_array
            and not schema.returns[0].alias
        )  # fmt: skip
        self._plain_layout = tuple((TENSOR, index) for index in range(self.binder.num_tensors))
        self.view_op = as_view_op(self) if schema.returns_views else None  # what graphs have, if it is a view
        self.arguments_type = collections.namedtuple(  # type: ignore[misc]
            f"{self.name}_args", [argument.name for argument in schema.arguments], rename=True
        )
        if function is not None:
            for attribute in ("__name__", "__doc__", "__module__", "__qualname__"):
                with contextlib.suppress(AttributeError):
                    setattr(self, attribute, getattr(function, attribute))
            self.__wrapped__ = function
            if self.signature is not None:
                self.__signature__ = self.signature

    # Calling ----------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is None and self._op is None:
            self._resolve()
            fast = self._fast
        if fast is not None and not kwargs and not _switched_off.get():
            found = fast(args)
            if found is not None:
                return found
        values, keywords = self.bind(args, kwargs)
        return self.call_bound(values, keywords)

    def bind(self, args: Any, kwargs: dict[str, Any], coerce: bool = True) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call in full: positional values, and keyword-only ones by name."""
        if self.schema.is_dynamic:
            return self._bind_dynamic(args, kwargs)
        if self.mutates_args and current().trace is not None:
            check_written_arrays(self, args, kwargs)
        return self.binder.bind(args, kwargs, coerce)

    def call_bound(self, values: list[Any], keywords: dict[str, Any]) -> Any:
        """The call with arguments that were bound."""
        layout, operands = laid_out(values)
        return call_operator(Call(self, layout, keywords), operands)

    @property
    def op(self) -> Op:
        """The operator as others know it, with the derivatives in force; an error if half of the pair is missing."""
        return self._op or self._resolve()

    @property
    def has_formula(self) -> bool:
        """Has somebody said what the derivative is?"""
        self._check_pair()
        return self.reverse is not None or self.forward is not None

    def _resolve(self) -> Op:
        if not self.has_formula and self.autograd_fallback == "nondiff":
            found = as_op(self)
        else:
            reverse = self.reverse or (Missing() if self.forward is None else Transposed(self.forward))
            found = as_op(self, reverse, self.forward or forward_from(reverse))
        self._fast = fast_function(self, found, self._plain_layout)
        self._op = found
        return found

    def _specs(self, args: Any, kwargs: dict[str, Any]) -> Any:
        values, keywords = self.bind(args, kwargs)
        layout, operands = laid_out(values)
        call = Call(self, layout, keywords)
        flat = outputs_of_fake(self, call, [x._data for x in operands])
        return call.results([as_spec(each) for each in flat]) if flat else None

    def is_autograd_enabled(self) -> bool:
        """False inside `set_kernel_enabled("autograd", False)`."""
        off = _switched_off.get()
        return not off or (self.qualname, "autograd") not in off

    def kernel_for(self, call: Call) -> tuple[Callable[..., Any], str]:
        """The kernel of a call, and where it was registered."""
        off = _switched_off.get()
        kernel = self.kernels.get("cpu") if self.kernels else None
        if kernel is not None and (not off or (self.qualname, "cpu") not in off):
            return kernel
        if self.default_kernel is not None:
            return self.default_kernel
        if not any(kind != STATIC for kind, _ in call.layout) and not call.keywords:
            raise NotImplementedError(
                f"{self.qualname} was called with no Tensor inputs, and it has no default kernel: "
                "register one with register_kernel(None)"
            )
        raise NotImplementedError(f'{self.qualname} has no cpu impl registered: use register_kernel("cpu")')

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside the block, use the kernel of this device or not; `"autograd"` stands for differentiation."""
        key = (self.qualname, device_type)
        off = _switched_off.get()
        if device_type != "autograd" and device_type not in self.kernels:
            _log.warning("%s: there is no kernel for %s to switch", self.qualname, device_type)
        elif enabled is (key not in off):
            _log.warning("%s: the kernel for %s is %s already", self.qualname, device_type, "on" if enabled else "off")
        token = _switched_off.set(off - {key} if enabled else off | {key})
        try:
            yield
        finally:
            _switched_off.reset(token)

    def written_operands(self, call: Call) -> list[int]:
        """The operands that the schema says are written, once for every occurrence."""
        found: list[int] = []
        for (kind, data), argument in zip(call.layout, self.schema.positional, strict=True):
            if argument.type.writes:
                found += [data] if kind == TENSOR else [k for k in data if k is not None] if kind == LIST else []
        return found

    @property
    def casts_results(self) -> bool:
        """Are results cast to NumPy's promotion of the arguments?"""
        return self.is_elementwise and self.fake is None

    @property
    def locations(self) -> dict[str, str]:
        """Where each filled slot was registered."""
        slots: dict[str, Any] = {"kernel": self.default_kernel, "fake": self.fake, "batch": self.batch,
                                 "effect": self.effect, "setup_context": self.setup}  # fmt: skip
        found = {"definition": self.defined_at}
        found |= {name: slot[1] for name, slot in slots.items() if slot is not None}
        found |= {f"kernel[{name}]": slot[1] for name, slot in self.kernels.items()}
        found |= {name: slot.location for name, slot in (("reverse", self.reverse), ("forward", self.forward)) if slot}
        return found

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.qualname})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.qualname,)

    def __copy__(self) -> CustomOpDef:
        return self

    def __deepcopy__(self, memo: Any) -> CustomOpDef:
        return self

    def _destroy(self) -> None:
        """Remove the operator from the registry. For tests."""
        with lock:
            if operators.get(self.qualname) is self:
                del operators[self.qualname]

    def _bind_dynamic(self, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        signature = self.signature
        values, keywords = list(args), dict(kwargs)
        if signature is not None:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise BindError(f"{self.qualname}: {error}\n  signature  {self.name}{signature}") from None
            bound.apply_defaults()
            values, keywords = list(bound.args), dict(bound.kwargs)
        by_keyword = [name for name, value in kwargs.items() if _requires_grad(value)]
        if by_keyword:
            raise TypeError(
                f"{self.qualname}: {by_keyword[0]} requires grad and was given by keyword; pass what is differentiated "
                "positionally"
            )
        for position, annotation in enumerate(self.annotated):
            if annotation is not None and position < len(values):
                values[position] = self.binder.converted(annotation[0], annotation[1], values[position], True)
        return [as_input(value) for value in values], {name: _as_constant(value) for name, value in keywords.items()}


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(value.requires_grad)


def as_input(value: Any) -> Any:
    """An argument of a primitive: arrays, also in lists, are inputs like Tensors."""
    if hasattr(value, "__array_interface__") and not isinstance(value, Tensor):
        return as_constant(value)
    if type(value) in (list, tuple) and any(isinstance(x, Tensor) or hasattr(x, "__array_interface__") for x in value):
        return [as_input(each) for each in value]
    return value


def _as_constant(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


def find(qualname: str) -> CustomOpDef:
    """The operator of this name."""
    found = operators.get(qualname)
    if found is None and qualname.startswith("callback::"):
        raise LookupError(
            f"{qualname}: a callback has no name that it could be found by; make an operator of it with custom_op"
        )
    if found is None:
        raise LookupError(f"there is no custom operator {qualname!r} here: import the module that defines it")
    return found


def _signature(function: Any, schema: Schema) -> inspect.Signature | None:
    if function is None:
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


# Custom operators in the text of graphs: found by qualified name, with their calls taken apart.

def _find(name: str) -> Op | None:
    definition = operators.get(name)
    return None if definition is None else definition.view_op or definition.op


def _values_of(call: Call) -> tuple[Any, ...]:
    """What a call is made of before it runs, and what it promises; the number of its results is found out then."""
    values = (call.definition.qualname, call.layout, call.keywords)
    return values if call.promise is None else (*values, call.promise)


def _build(qualname: str, layout: Layout, keywords: dict[str, Any], promise: Promise | None = None) -> Call:
    call = Call(find(qualname), layout, keywords)
    call.promise = promise
    if promise is not None and promise.schema != str(call.definition.schema):
        raise AutogradError(
            "GRAPH_OPERATOR",
            f"{qualname} has another schema than when the graph was written",
            where=f"here      {qualname}{call.definition.schema}\n        in graph  {qualname}{promise.schema}",
            why="the graph gives the arguments of the old one",
            fix="trace the function again",
        )
    return call


def _parts_of(promise: Promise) -> tuple[Any, ...]:
    """The fields up to the last that says something."""
    values = (promise.schema, promise.results, promise.written, promise.same, promise.outs, promise.forward)
    defaults = (..., ..., (), (), (), None)
    last = max(index for index, (value, default) in enumerate(zip(values, defaults, strict=True)) if value != default)
    return values[: last + 1]


def _arguments_of(call: Call, operands: list[str], writer: Writer) -> list[str]:
    """The arguments of a node as its operator was called."""
    outs = () if call.promise is None else call.promise.outs
    parts = []
    for kind, data in call.layout:
        if kind == LIST:
            parts.append(f"[{', '.join('None' if index is None else operands[index] for index in data)}]")
        else:
            parts.append(operands[data] if kind == TENSOR else writer.value(data))
    given = operands[len(operands) - len(outs) :]
    return [*parts, *writer.params(call.keywords), *(f"{name}={x}" for name, x in zip(outs, given, strict=True))]


def teach_graphs() -> None:
    """Let graphs find custom operators, and write and read their calls."""
    finders.append(_find)
    described[Call] = Described("Call", _values_of, _build, _arguments_of)
    described[Promise] = Described("Promise", _parts_of, Promise)
