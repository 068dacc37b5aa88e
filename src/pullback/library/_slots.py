"""The methods that fill an operator's slots. Each takes effect with the next call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pullback.core.frames import warn
from pullback.library import _formulas as _forward
from pullback.library import _reverse
from pullback.library._batching import CoreSignature
from pullback.library._call import Call
from pullback.library._fake import SeenOutputs, outputs_of_fake
from pullback.library._schema import DEVICES, Schema
from pullback.payloads.devices import names_a_kind

# Where registrations are made: every error about a slot says it.

_HERE = str(Path(__file__).parent)


def registered_at() -> str:
    """The place outside of this package that the running call came from, as `file:line`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_PAIR_RETURNS = ("Tensor", "int", "SymInt", "bool", "float")
_VMAP_RULES = ("sequential", "expand_dims", "broadcast_all")


class Registrations:
    """What a `CustomOpDef` can be told after its definition."""

    qualname: str
    name: str
    schema: Schema
    tags: frozenset[str]
    is_elementwise: bool
    kernels: dict[str, tuple[Callable[..., Any], str]]
    default_kernel: tuple[Callable[..., Any], str] | None
    fake: tuple[Callable[..., Any], str] | None
    batch: tuple[Any, str] | None
    effect: tuple[str | None, str] | None
    reverse: Any
    forward: Any
    setup: tuple[Callable[..., Any], str] | None
    save_half: tuple[Callable[..., Any], str] | None
    backward_half: Any
    seen_outputs: SeenOutputs | None
    _op: Any
    _fast: Any

    # Derivatives ------------------------------------------------------------------------------------------------------

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """Give the operator a reverse formula: `backward(ctx, *gradients)` returns one gradient per argument.

        `setup_context(ctx, inputs, output)` says what to save; it has `keyword_only_inputs` in third place if the
        schema has keyword-only arguments. `register_autograd(None)` removes the formula.
        """
        if backward is None:
            self._set(reverse=None, setup=None)
            return
        _check_callable(backward, "backward")
        self._check_functional("register_autograd")
        if setup_context is not None:
            _check_callable(setup_context, "setup_context")
            count = 4 if self.schema.keyword_only else 3
            _check_arity(setup_context, count, f"{self.qualname}: setup_context")
        place = registered_at()
        setup = None if setup_context is None else (setup_context, place)
        self._set(reverse=_reverse.Formula(backward, place), setup=setup)

    def register_jvp(self, fn: Any = None, /, *, linear: Any = None) -> Any:
        """Give the operator a forward formula, or say that it is linear.

        `fn(ctx, *tangents)` returns one tangent per output. `linear=True`: linear in all tensors together;
        `linear=("a", "b")`: in each of these arguments for fixed others. Serves as a decorator.
        """
        if linear is not None and linear is not False:
            names = None if linear is True else (linear,) if isinstance(linear, str) else tuple(linear)
            known = {argument.name for argument in self.schema.positional if argument.type.is_tensor}
            if names is not None and not set(names) <= known:
                raise ValueError(f"{self.qualname}: linear={names} names arguments that are not Tensors: known {known}")
            self._check_functional("register_jvp")
            place = registered_at()
            self._set(forward=_forward.Linear(place) if names is None else _forward.LinearIn(names, place))
            return self
        if fn is None:
            return self.register_jvp
        _check_callable(fn, "jvp")
        self._check_functional("register_jvp")
        self._set(forward=_forward.Formula(fn, registered_at()))
        return fn

    def defvjp(self, *rules: Any, argnums: Sequence[int] | None = None) -> Any:
        """Reverse rules, one per argument: `rule(ans, *args, **kw)` returns the function from `g` to the gradient.

        None means zero. With `argnums` only those positions are given or replaced.
        """
        given = self._rules_by_position(rules, argnums)
        if argnums is not None and type(self.reverse) is _reverse.Rules:
            given = {**self.reverse.rules, **given}
        self._set(reverse=_reverse.Rules(given, registered_at()))
        return self

    def defjvp(self, *rules: Any, argnums: Sequence[int] | None = None) -> Any:
        """Forward rules, one per argument: `rule(t, ans, *args, **kw)` returns its part of the tangent.

        `"same"` says that the operator is linear in the argument, None means zero.
        """
        given = self._rules_by_position(rules, argnums, also="same")
        if argnums is not None and isinstance(self.forward, _forward.Rules) and not self.forward.are_partials:
            given = {**self.forward.rules, **given}
        self._set(forward=_forward.Rules(given, registered_at()))
        return self

    def defpartials(self, *rules: Any) -> Any:
        """Partial derivatives of an elementwise operator, one per argument: `rule(ans, *args, **kw)`.

        They give reverse and forward mode.
        """
        if not self.is_elementwise:
            raise ValueError(f"{self.qualname}: defpartials needs an elementwise operator: primitive(elementwise=True)")
        given = self._rules_by_position(rules, None)
        place = registered_at()
        self._set(reverse=_reverse.Partials(given, place), forward=_forward.Rules(given, place, are_partials=True))
        return self

    def defvjp_all(self, fwd: Any, bwd: Any) -> Any:
        """`fwd(*args, **kw)` returns `(output, residuals)` and replaces the kernel where a derivative is wanted;
        `bwd(residuals, *g)` returns one gradient per argument."""
        _check_callable(fwd, "fwd")
        _check_callable(bwd, "bwd")
        self._check_functional("defvjp_all")
        self._set(reverse=_reverse.Residuals(fwd, bwd, registered_at()))
        return self

    def _rules_by_position(self, rules: Any, argnums: Any, also: str | None = None) -> dict[int, Any]:
        self._check_functional("def*")
        for rule in rules:
            if rule is not None and not callable(rule) and (also is None or rule != also):
                raise TypeError(f"{self.qualname}: a rule must be callable or None, got {rule!r}")
        positions = range(len(rules)) if argnums is None else tuple(argnums)
        return dict(zip(positions, rules, strict=True))

    # The pair.

    def impl_save_for_backward(self, fn: Any) -> Any:
        """The first half of the pair: `fn(inputs, output)` returns the tree of values that backward will need."""
        _check_callable(fn, "save_for_backward")
        self._check_pair_allowed()
        if self.save_half is not None:
            raise self._twice("save_for_backward", self.save_half[1])
        self._set(save_half=(fn, registered_at()))
        return fn

    def impl_backward(self, fn: Any = None, *, output_differentiability: Any = None) -> Any:
        """The second half of the pair: `fn(ctx, saved, *gradients)` returns a dictionary of gradients by argument.

        `output_differentiability` is a list of bools, one per return; an output with False has no gradient.
        """
        self._check_pair_allowed()
        if output_differentiability is not None:
            given = output_differentiability
            if type(given) is not list or any(type(each) is not bool for each in given) or len(given) != len(
                self.schema.returns
            ):
                raise RuntimeError(
                    f"{self.qualname}: output_differentiability must be a list of {len(self.schema.returns)} bools, "
                    f"one per return, got {given!r}"
                )
        if fn is None:
            return lambda function: self.impl_backward(function, output_differentiability=output_differentiability)
        _check_callable(fn, "backward")
        if self.backward_half is not None:
            raise self._twice("backward", self.backward_half[1])
        self._set(backward_half=(fn, registered_at(), output_differentiability))
        return fn

    def _twice(self, half: str, place: str) -> RuntimeError:
        return RuntimeError(f"{self.qualname} already has a {half} impl registered at {place}")

    def _check_pair_allowed(self) -> None:
        schema, name = self.schema, self.qualname
        if self.reverse is not None and not isinstance(self.reverse, _reverse.Pair):
            raise RuntimeError(f"{name} already has an Autograd kernel, registered at {self.reverse.location}")
        if schema.written:
            raise RuntimeError(f"{name} writes {schema.written}: a non-functional operator has no derivative")
        if schema.is_dynamic:
            return
        if not schema.returns:
            raise RuntimeError(f"{name} has no returns, so there is nothing to differentiate")
        if schema.returns_views:
            raise RuntimeError(f"{name} returns views, which the pair does not support")
        for kind in schema.returns:
            if kind.base not in _PAIR_RETURNS or kind.is_optional or (kind.is_list and not kind.is_tensor):
                raise RuntimeError(
                    f"{name}: the pair does not support an operator with return not in Tensor, Tensor[], int, SymInt, "
                    f"bool, float, got {kind}"
                )

    def _check_pair(self) -> None:
        """Put the two halves together; raise if there is only one."""
        if self.save_half is not None and self.backward_half is not None:
            function, place, differentiability = self.backward_half
            self.reverse = _reverse.Pair(self.name, self.save_half, (function, place), differentiability)
        elif self.save_half is not None or self.backward_half is not None:
            found, missing = ("save_for_backward", "backward") if self.save_half else ("backward", "save_for_backward")
            place = (self.save_half or self.backward_half)[1]
            raise RuntimeError(
                f"{self.qualname}: unable to find a '{missing}' impl; a '{found}' impl was registered at {place}, and "
                "the two belong together"
            )

    # Systems ----------------------------------------------------------------------------------------------------------

    def register_fake(self, fn: Any = None) -> Any:
        """Say what results look like: `fn` takes the operator's arguments, without data, and returns tensors of the
        shapes and dtypes that the kernel will return. Serves as a decorator."""
        if fn is None:
            return self.register_fake
        _check_callable(fn, "fake")
        if self.schema.written and (not self.schema.returns or self.tags & {"inplace", "out"}):
            warn(f"{self.qualname} has a fake by itself; the one registered now is used")
        self._set(fake=(fn, registered_at()))
        return fn

    @property
    def has_fake(self) -> bool:
        """Are the shapes of results known without running the kernel?"""
        return self.fake is not None or (not self.schema.returns and not self.schema.is_dynamic) or bool(
            self.tags & {"inplace", "out", "pointwise"}
        )

    def fake_arrays(self, call: Call, examples: Sequence[Any]) -> Sequence[Any] | None:
        """Stand-ins for the outputs of a call on arrays like `examples`; None if nothing tells what they look like."""
        if self.has_fake or (self.seen_outputs is not None and self.seen_outputs.outputs(call, examples) is not None):
            return outputs_of_fake(self, call, examples)
        return None

    def specs(self, *args: Any, **kwargs: Any) -> Any:
        """What a call with these arguments would return: `pb.ShapeDtype` for tensors. The kernel does not run.

        The fake says it. Of an operator without one an earlier call with arguments of the same shapes, dtypes and
        constants tells it, unless calls were seen to return different shapes for those; with a core signature one with
        the same dtypes is enough.
        """
        return self._specs(args, kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Any = None) -> Any:
        """Another kernel, for these devices; None stands for all that have none of their own. Serves as a decorator."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        _check_callable(fn, "kernel")
        names = [device_types] if isinstance(device_types, str) or device_types is None else list(device_types)
        for name in names:
            if name is not None and name not in (*DEVICES, "native") and not names_a_kind(name):
                raise RuntimeError(f"{self.qualname}: unknown device {name!r}: expected one of {DEVICES}")
        has_tensor = any(argument.type.is_tensor for argument in self.schema.arguments) or self.schema.is_dynamic
        has_device = any(argument.type.base == "Device" for argument in self.schema.arguments)
        if not has_tensor and not has_device and names != [None]:
            raise ValueError(
                f"{self.qualname} has no Tensor arguments, so a kernel for a device needs an argument "
                "`device: pb.library.device` that says which one is meant"
            )
        for name in names:
            if name is None:
                self._set(default_kernel=(fn, registered_at()))
            else:
                self._set(kernels={**self.kernels, name: (fn, registered_at())})
        return fn

    def register_vmap(self, rule: Any = None) -> Any:
        """How the operator is batched: `rule(info, in_dims, *args, **kw)` returns `(output, out_dims)`.

        Or one of `"sequential"`, `"expand_dims"`, `"broadcast_all"`, or a core signature such as `"(n,n),(n)->(n)"`
        of a kernel that broadcasts over the axes in front of those. Serves as a decorator.
        """
        if rule is None:
            return self.register_vmap
        found = rule
        if isinstance(rule, str) and "->" in rule:
            found = CoreSignature(rule)
            found.check_schema(self.qualname, self.schema)
        elif isinstance(rule, str):
            if rule not in _VMAP_RULES:
                raise ValueError(
                    f"{self.qualname}: unknown batching rule {rule!r}, expected one of {_VMAP_RULES} or a core "
                    "signature such as '(n,n),(n)->(n)'"
                )
        else:
            _check_callable(rule, "vmap rule")
        self._set(batch=(found, registered_at()))
        return rule

    def register_effect(self, effect: str | None) -> None:
        """Say that a call has an effect that the schema does not show: `"ordered"`, `"collective"`, or None for none.

        Either is never dropped, merged or moved past another one. An ordered effect happens exactly once. A collective
        one is that of a message between processes: all of them do the same, so it may happen again in a checkpoint or
        a derivative, and a batch of them is one call, by the operator's own rule for batches.
        """
        if effect not in ("ordered", "collective", None):
            raise ValueError(f'{self.qualname}: an effect is "ordered", "collective" or None, got {effect!r}')
        self._set(effect=(effect, registered_at()))

    # What all share.

    def _set(self, **slots: Any) -> None:
        is_formula = "reverse" in slots or "forward" in slots
        if (is_formula and self.save_half is not None) or (is_formula and self.backward_half is not None):
            place = (self.save_half or self.backward_half)[1]
            raise RuntimeError(f"{self.qualname} already has an Autograd kernel, registered at {place}")
        for name, value in slots.items():
            setattr(self, name, value)
        if slots.keys() & {"fake", "effect", "kernels", "default_kernel"}:
            self.seen_outputs = self._new_record()
        self._op = self._fast = None  # made again at the next call

    def _new_record(self) -> SeenOutputs | None:
        """A place for the runs of an operator whose results are described by nothing else, if runs can do that."""
        has_effect = self.schema.written or "nondeterministic" in self.tags or (self.effect and self.effect[0])
        return None if self.has_fake or has_effect else SeenOutputs()

    def _check_functional(self, method: str) -> None:
        schema = self.schema
        if schema.is_dynamic or schema.is_functional:
            return
        tensors = [argument for argument in schema.arguments if argument.type.is_tensor]
        is_simple_view = (
            not schema.written and len(schema.returns) == 1 and len(tensors) == 1
            and not tensors[0].type.is_list and not schema.returns[0].is_list
        )  # fmt: skip
        if not is_simple_view:
            raise RuntimeError(
                f"{self.qualname}: {method} is not for a non-functional operator, one that writes its arguments, "
                f"returns nothing, or returns several views\n  schema  {self.qualname}{schema}"
            )

    def _specs(self, args: Any, kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError  # abstract: the definition knows how to bind a call


def _check_callable(function: Any, what: str) -> None:
    if not callable(function):
        raise TypeError(f"{what} must be callable, got {type(function).__name__}")


def _check_arity(function: Any, count: int, what: str) -> None:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        raise TypeError(f"{what} is called with {count} positional arguments, which it does not take") from None
    except ValueError:
        return  # a callable written in C may not tell its parameters
