"""Derivatives of functions of one or several tensors, with the names and signatures of `torch.autograd.functional`.

    value, product = functional.vjp(lambda x: x**2, x, v)

Inputs are a Tensor or a tuple of Tensors, and results have the same form. Results are constants unless `create_graph`;
then they are connected to what the inputs and captured tensors depend on outside, and to nothing else. With `strict` a
derivative that is zero because nothing depends on the input is an error. `pb.func` has the same derivatives for nested
containers, and as transforms of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.doors import door
from pullback.declare.op import registry
from pullback.payloads.kinds import has_kind, of_array
from pullback.tape.forward.duals import jvp_of_tuple
from pullback.tape.modes import enable_grad
from pullback.tape.transform.body import map_over
from pullback.tape.transform.recording import Recording
from pullback.tensors.tensor import Tensor, gradient_like, made_here, zero_tangent

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]
_STRATEGIES = ("forward-mode", "reverse-mode")


@door
def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`(func(*inputs), v^T J)`: the value, and the product of a vector with the Jacobian.

    `v` has the form of the output; it may be left out if the output has one element.

    >>> pb.autograd.functional.vjp(lambda x: x**2, pb.tensor([1.0, 3.0]), pb.ones(2))
    (tensor([1., 9.]), tensor([2., 6.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)

    def compute(*xs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        recording, outputs = _recorded("vjp", call.function, xs)
        cotangents = _vector("vjp", v, outputs, "the user-provided function returns")
        return outputs, recording.pull(cotangents, create_graph, create_graph)

    outputs, gradients = call.run(compute)
    return call.like_output(outputs), call.like_input(gradients)


@door
def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`(func(*inputs), J v)`: the value, and the product of the Jacobian with a vector, by forward mode.

    `v` has the form of the inputs; it may be left out if there is one input with one element.

    >>> pb.autograd.functional.jvp(lambda x: x**2, pb.tensor([1.0, 3.0]), pb.ones(2))
    (tensor([1., 9.]), tensor([2., 6.]))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    directions = _vector("jvp", v, call.inputs, "the input to the user-provided function is")
    outputs, tangents = call.run(lambda *xs: _pushed(call.function, xs, directions))
    return call.like_output(outputs), call.like_output(tangents)


@door
def jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: of a single input and output a Tensor with the shape of the output followed by the input's.

    With several outputs or inputs it is a tuple per output of tuples per input. `strategy` is "reverse-mode", one pass
    per element of the output, or "forward-mode", one per element of the input; `vectorize` runs all passes at once.

    >>> pb.autograd.functional.jacobian(lambda x: x**2, pb.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    call = _Call("jacobian", func, inputs, create_graph, strict)
    _, rows = call.run(_jacobian_by(strategy, "jacobian", call.function, vectorize, create_graph), pairs=True)
    return call.like_output([call.like_input(row) for row in rows])


@door
def hessian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The matrix of second derivatives of a function with a single element as value.

    For several inputs it is a tuple per input of tuples per input.

    >>> pb.autograd.functional.hessian(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    call = _Call("hessian", func, inputs, create_graph, strict)
    slopes = _Slopes(call)
    compute = _jacobian_by(outer_jacobian_strategy, "hessian", slopes, vectorize, create_graph)
    _, rows = call.run(compute, pairs=True, of_slopes=True)
    return call.like_input([call.like_input(row) for row in rows])


@door
def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`(func(*inputs), v^T H)`: the value, and the product of a vector with the Hessian, by two reverse passes.

    >>> pb.autograd.functional.vhp(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]), pb.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    call = _Call("vhp", func, inputs, create_graph, strict)
    slopes = _Slopes(call)

    def compute(*xs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        recording, gradients = _recorded("vhp", slopes, xs)
        cotangents = _vector("vhp", v, call.inputs, "the input to the user-provided function is")
        return gradients, recording.pull(cotangents, create_graph, create_graph)

    _, products = call.run(compute, of_slopes=True)
    return slopes.value(), call.like_input(products)


@door
def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`(func(*inputs), H v)`: the value, and the product of the Hessian with a vector, by forward over reverse mode.

    >>> pb.autograd.functional.hvp(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]), pb.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    call = _Call("hvp", func, inputs, create_graph, strict)
    directions = _vector("hvp", v, call.inputs, "the input to the user-provided function is")
    slopes = _Slopes(call)
    _, products = call.run(lambda *xs: _pushed(slopes, xs, directions), of_slopes=True)
    return slopes.value(), call.like_input(products)


class _Call:
    """One call of a function of this module: what it was given, and the form that its results have."""

    def __init__(self, who: str, func: Callable[..., Any], inputs: Tensors, create_graph: bool, strict: bool) -> None:
        self.who = who
        self.func = func
        self.inputs = _as_tuple(inputs, who, "inputs")
        self.takes_tuple = isinstance(inputs, tuple)
        self.returns_tuple = False
        self.create_graph = create_graph
        self.strict = strict

    def function(self, *xs: Tensor) -> tuple[Tensor, ...]:
        """The user's function; it remembers whether it returns a tuple."""
        output = self.func(*xs)
        self.returns_tuple = isinstance(output, tuple)
        return _as_tuple(output, self.who, "outputs of the user-provided function")

    def run(
        self, compute: Callable[..., tuple[list[Tensor], Any]], pairs: bool = False, of_slopes: bool = False
    ) -> tuple[Any, Any]:
        """`compute(*inputs)`, values and derivatives, as the caller gets them. With strict dependence is checked, of
        every value on every input if `pairs`, else of every value on some input and of some value on every input. The
        values are those of the user's function, or if `of_slopes` its first derivatives."""
        with enable_grad():
            if not self.strict:
                return self._results(compute(*self.inputs))
            recording = Recording(f"functional.{self.who}")
            values, derivatives = recording.run(compute, self.inputs, {})
            why = _constant_slope if of_slopes else _constant_output if pairs else _constant_value
            self._check_values(recording, values, pairs, why)
            if self.create_graph:
                self._check_derivatives(recording, _flat(derivatives))
            return self._results((values, derivatives), recording)

    def _check_values(
        self, recording: Recording, values: list[Tensor], pairs: bool, independence: Callable[..., str]
    ) -> None:
        reached = [_reached(value, recording.leaves) for value in values]
        for number, positions in enumerate(reached):
            missing = [position for position in range(len(self.inputs)) if position not in positions]
            if missing and (pairs or not positions):
                raise RuntimeError(f"{self.who}: {independence(number, missing[0], positions)}")
        for position in range(len(self.inputs)):
            if not any(position in positions for positions in reached):
                raise RuntimeError(
                    f"{self.who}: the user-provided function is independent of input {position}, which strict=True "
                    "does not allow"
                )

    def _check_derivatives(self, recording: Recording, derivatives: list[Tensor]) -> None:
        for number, derivative in enumerate(derivatives):
            if not _reached(derivative, recording.leaves):
                raise RuntimeError(
                    f"{self.who}: The jacobian of the user-provided function is independent of input "
                    f"{number % len(self.inputs)}. This is not allowed in strict mode when create_graph=True: part "
                    f"{number} of the result is the same for all inputs"
                )

    def _results(self, results: Any, recording: Recording | None = None) -> Any:
        """Without the history that the caller does not want."""
        if isinstance(results, (list, tuple)):
            return [self._results(part, recording) for part in results]
        if not self.create_graph:
            return results.detach()
        return results if recording is None else recording.finish(results)

    def like_input(self, parts: Sequence[Any]) -> Any:
        """One part per input in the form of the inputs."""
        return tuple(parts) if self.takes_tuple else parts[0]

    def like_output(self, parts: Sequence[Any]) -> Any:
        """One part per output in the form of the output."""
        return tuple(parts) if self.returns_tuple else parts[0]


class _Slopes:
    """The gradients of a function with a single element as value, as a function of the same inputs."""

    def __init__(self, call: _Call) -> None:
        self.call = call
        self._value: Tensor | None = None

    def __call__(self, *xs: Tensor) -> tuple[Tensor, ...]:
        who = self.call.who
        recording, outputs = _recorded(who, self.call.function, xs)
        if len(outputs) != 1:
            raise RuntimeError(f"The function given to {who} should return a single Tensor, got {len(outputs)}")
        if outputs[0].size != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {who} should contain a single element, got shape "
                f"{list(outputs[0].shape)}"
            )
        if self.call.strict:
            self.call._check_values(recording, outputs, True, _constant_value)
        self._value = recording.finish(outputs[0])
        return tuple(recording.pull([gradient_like(outputs[0], 1, outputs[0]._data)], True, True))

    def value(self) -> Any:
        """The value of the function at its last call."""
        assert self._value is not None
        return self.call.like_output([self._value if self.call.create_graph else self._value.detach()])


def _constant_output(number: int, position: int, positions: Any, which: str = "") -> str:
    alone = "" if positions else f"Output {number} of the user-provided function does not require gradients. "
    return (
        f"{alone}{which or f'Output {number}'} of the user-provided function is independent of input {position}, which "
        "strict=True does not allow"
    )


def _constant_value(number: int, position: int, positions: Any) -> str:
    return _constant_output(number, position, positions, "The output")


def _constant_slope(number: int, position: int, positions: Any) -> str:
    return (
        f"the jacobian of the user-provided function with respect to input {number} is independent of the input "
        f"{position}, so the second derivative is 0, which strict=True does not allow; the function depends on the "
        "input, but in a linear way"
    )


def _as_tuple(values: Any, who: str, what: str) -> tuple[Tensor, ...]:
    given = values if isinstance(values, tuple) else (values,)
    for value in given:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"The {what} given to {who} must be either a Tensor or a tuple of Tensors, but there is a "
                f"{type(value).__name__}"
            )
    return given


def _vector(who: str, v: Tensors | None, like: Sequence[Tensor], whose: str) -> list[Tensor]:
    """The vector of a product, checked against the tensors that it belongs to."""
    if v is None:
        if len(like) != 1 or like[0].size != 1:
            raise RuntimeError(f"{who}: The vector v can only be None if {whose} a single Tensor with a single element")
        return [gradient_like(like[0], 1, like[0]._data)]
    parts = _as_tuple(v, who, "v")
    if len(parts) != len(like):
        wanted = "a single Tensor." if len(like) == 1 else f"{len(like)} Tensors."
        raise RuntimeError(
            f"{who}: The given v should contain {wanted} v has {len(parts)} entries, but {whose} {len(like)}"
        )
    for number, (part, own) in enumerate(zip(parts, like, strict=True)):
        if part.shape != own.shape:
            raise RuntimeError(
                f"{who}: entry {number} of v has invalid size: should be {list(own.shape)} but got {list(part.shape)}"
            )
    return list(parts)


def _recorded(
    who: str, function: Callable[..., tuple[Tensor, ...]], xs: tuple[Tensor, ...]
) -> tuple[Recording, list[Tensor]]:
    """A function that ran on fresh leaves, ready for reverse passes, and its outputs."""
    recording = Recording(f"functional.{who}")
    outputs = list(recording.run(function, xs, {}))
    recording.keep_outputs(outputs)
    return recording, [recording.finish(out) for out in outputs]


def _pushed(
    function: Callable[..., tuple[Tensor, ...]], xs: Sequence[Tensor], directions: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs of a function and their tangents."""
    outputs: list[Tensor] = []

    def remembered(*duals: Tensor) -> tuple[Tensor, ...]:
        outputs[:] = function(*duals)
        return tuple(outputs)

    tangents = jvp_of_tuple(remembered, xs, directions)
    return outputs, [
        zero_tangent(out) if tangent is None else tangent
        for out, tangent in zip(outputs, tangents, strict=True)
    ]


def _jacobian_by(
    strategy: str, who: str, function: Callable[..., tuple[Tensor, ...]], vectorize: bool, create_graph: bool
) -> Callable[..., tuple[list[Tensor], list[list[Tensor]]]]:
    """The function that computes the outputs, and per output a Jacobian per input."""
    if strategy not in _STRATEGIES:
        raise ValueError(f"{who}: the strategy is one of {', '.join(_STRATEGIES)}, got {strategy!r}")

    def backwards(*xs: Tensor) -> tuple[list[Tensor], list[list[Tensor]]]:
        recording, outputs = _recorded(who, function, xs)
        jacobians = []
        for number, out in enumerate(outputs):

            def row(cotangent: Tensor, number: int = number) -> list[Tensor]:
                seeds: list[Tensor | None] = [None] * len(outputs)
                seeds[number] = cotangent
                return recording.pull(seeds, True, create_graph)

            rows = _of_basis(row, out, vectorize) or [made_here(np.zeros((0, *x.shape), x.dtype)) for x in xs]
            jacobians.append([whole.reshape((*out.shape, *x.shape)) for whole, x in zip(rows, xs, strict=True)])
        return outputs, jacobians

    def forwards(*xs: Tensor) -> tuple[list[Tensor], list[list[Tensor]]]:
        outputs: list[Tensor] = list(function(*xs))
        jacobians: list[list[Tensor]] = [[] for _ in outputs]
        for position, x in enumerate(xs):

            def column(direction: Tensor, position: int = position) -> list[Tensor]:
                at: list[Any] = [None] * len(xs)
                at[position] = direction
                return _pushed(function, xs, at)[1]

            columns = _of_basis(column, x, vectorize) or [
                made_here(np.zeros((0, *out.shape), out.dtype)) for out in outputs
            ]
            for parts, whole, out in zip(jacobians, columns, outputs, strict=True):
                last = whole.reshape((x.size, out.size)).T
                parts.append(last.reshape((*out.shape, *x.shape)))
        return outputs, jacobians

    return forwards if strategy == "forward-mode" else backwards


def _of_basis(product: Callable[[Tensor], list[Tensor]], like: Tensor, vectorize: bool) -> list[Tensor]:
    """`product` of every direction of `like`, stacked in front; nothing if there is no direction."""
    size = like.size
    basis = np.eye(size, dtype=like.dtype).reshape((size, *like.shape))
    if not size:
        return []
    if has_kind(like._data):
        basis = of_array(like._data, basis, like._data)
    if vectorize:
        return map_over(product, [made_here(basis)])
    singles = [product(made_here(basis[number])) for number in range(size)]
    return [registry["_stack"](*parts, axis=0) for parts in zip(*singles, strict=True)]


def _reached(value: Tensor, leaves: Sequence[Tensor]) -> set[int]:
    """The positions of the fresh leaves that the history of a value leads to."""
    targets = {id(leaf._node): position for position, leaf in enumerate(leaves)}
    found: set[int] = set()
    seen: set[int] = set()
    stack = [value._node]
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if id(node) in targets:
            found.add(targets[id(node)])
        stack += getattr(node, "next", ())
    return found


def _flat(parts: Any) -> list[Tensor]:
    return [leaf for part in parts for leaf in (_flat(part) if isinstance(part, (list, tuple)) else [part])]
