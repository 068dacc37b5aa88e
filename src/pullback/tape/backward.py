"""`backward` and `grad`: what the arguments mean, and the checks before and after a pass."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core.doors import door, leave
from pullback.core.frames import is_own, warn
from pullback.core.spec import Spec, describe, is_differentiable_dtype
from pullback.core.state import change_grad, current, open_levels, put_back, switch
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray
from pullback.payloads.kinds import filled, has_kind
from pullback.tape.accumulate import as_made_here
from pullback.tape.engine import goes_to_leaves, gradients_at_once, pass_at_once, run_pass
from pullback.tape.history import GradientEdge, edge_of, refresh_view, requires_grad
from pullback.tape.input_metadata import SparseGrad, of_kind, validate
from pullback.tape.node import Node, kind_at, root_kind
from pullback.tape.tensor_members import retain_grad
from pullback.tape.transform.body import map_over
from pullback.tensors.tensor import Tensor, as_constant, gradient_like, made_here, wrap
from pullback.tensors.views import ViewInfo, view_of

Root = Tensor | GradientEdge


def backward(
    tensors: Root | Sequence[Root],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` with respect to the leaves to the leaves' `.grad`.

    `grad_tensors` are the gradients of the tensors themselves, 1 for a scalar; `inputs` limits the leaves;
    `create_graph` records the pass, so that gradients can be differentiated again.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> pb.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    before = current()
    try:
        is_plain = grad_tensors is None and grad_variables is None and inputs is None and not create_graph
        if is_plain and goes_to_leaves(tensors) and pass_at_once(tensors, bool(retain_graph)):  # type: ignore[arg-type]
            return
        if current().transforms:
            raise AutogradError(
                "BACKWARD_IN_TRANSFORM",
                "backward() called inside a function transform",
                why="a transform returns its derivatives; accumulating into `.grad` would be a hidden side effect",
                fix="use pb.autograd.grad, or nest pb.func.grad",
            )
        if grad_variables is not None:
            warn("grad_variables is deprecated; use grad_tensors", FutureWarning)
            if grad_tensors is not None:
                raise RuntimeError("backward: give grad_tensors or grad_variables, not both")
            grad_tensors = grad_variables
        roots = _as_list(tensors)
        wanted = None if inputs is None else _as_inputs(inputs)[1]
        for index, value in enumerate(wanted or ()):
            if isinstance(value, Tensor) and not requires_grad(value):
                raise _input_error(index, value)
        if not roots:
            return
        keep = create_graph if retain_graph is None else bool(retain_graph)
        edges, gradients = _roots_and_gradients(roots, grad_tensors, "grad_tensors", _as_tensors(create_graph))
        # From here on the call is accepted: a refused one must not leave tensors that retain their gradient.
        accumulate_into = None if wanted is None else {_accumulating_node(value) for value in wanted}
        run_pass(edges, gradients, keep, bool(create_graph), accumulate_into)
    except BaseException as error:
        put_back(error, before)
        leave(error)
        raise


def _accumulating_node(value: Any) -> Node:
    """The node at which `backward(inputs=...)` stores a gradient; an interior tensor retains its own from now on."""
    if isinstance(value, GradientEdge):
        return value.node
    retain_grad(value)
    return edge_of(value)[0]  # type: ignore[return-value]


def _input_error(index: int, value: Any) -> AutogradError:
    return AutogradError(
        "INPUT_NO_GRAD",
        f"inputs[{index}], {describe(value.shape, value.dtype)}, does not require grad",
        why="there is no gradient with respect to a constant",
        fix="call requires_grad_() on it before the forward pass",
    )


def grad(
    outputs: Root | Sequence[Root],
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    Returns a tuple, or for a mapping of inputs a dict with the same keys. An input that the outputs do not depend on
    is an error, None with `allow_unused=True`, or zeros with `materialize_grads=True`.

    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> pb.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    before = current()
    try:
        if not only_inputs:
            warn("only_inputs is deprecated and ignored", FutureWarning)
        if materialize_grads and allow_unused is False:
            raise ValueError(
                "grad: Expected allow_unused to be True or not passed when materialize_grads=True, got False"
            )
        allow_unused = materialize_grads if allow_unused is None else allow_unused
        roots = _as_list(outputs)
        keys, values = _as_inputs(inputs)
        keep = create_graph if retain_graph is None else bool(retain_graph)
        create = bool(create_graph)
        if grad_outputs is None and not create and not is_grads_batched and goes_to_leaves(outputs):
            captured = gradients_at_once(roots[0], values, keep)
            if captured is not None:
                results = _results(captured, values, False, materialize_grads, allow_unused, (), ())
                return tuple(results) if keys is None else dict(zip(keys, results, strict=True))
        targets: list[tuple[Node, int]] = []
        for index, value in enumerate(values):
            if isinstance(value, GradientEdge):
                targets.append((value.node, value.output_nr))
                continue
            if not requires_grad(value):
                raise _input_error(index, value)
            targets.append(edge_of(value))  # type: ignore[arg-type]
        if is_grads_batched:
            results = _batched(roots, grad_outputs, keep, create, targets, values, materialize_grads, allow_unused)
        else:
            edges, gradients = _roots_and_gradients(roots, grad_outputs, "grad_outputs", _as_tensors(create))
            captured = run_pass(edges, gradients, keep, create, None, targets)
            results = _results(captured, values, create, materialize_grads, allow_unused, gradients, edges)
        return tuple(results) if keys is None else dict(zip(keys, results, strict=True))
    except BaseException as error:
        put_back(error, before)
        leave(error)
        raise


def _results(
    captured: list[Any], values: list[Any], create: bool, materialize: bool, allow_unused: bool, lent: Iterable[Any],
    roots: Iterable[tuple[Node, int]],
) -> list[Any]:  # fmt: skip
    distinct = iter(distinct_results([gradient for gradient in captured if gradient is not None], create, lent))
    return [
        _missing(index, value, create, materialize, allow_unused, roots) if gradient is None else next(distinct)
        for index, (gradient, value) in enumerate(zip(captured, values, strict=True))
    ]


def distinct_results(captured: list[Any], create: bool, lent: Iterable[Any]) -> list[Any]:
    """Gradients as callers get them: distinct Tensors on their own memory, none of it `lent` by the caller."""
    results: list[Any] = []
    owners: dict[int, Any] = {}
    others: dict[int, Any] = {}
    modes = current()
    is_normal = modes is switch.normal or modes is switch.no_grad
    if is_normal and not create and len(captured) == 1 and _is_alone(captured[0], lent):
        return [wrap(captured[0])]
    for each in lent:
        _notice(each._data if type(each) is Tensor else each, owners, others)
    for gradient in captured:
        if not create and id(gradient) not in owners:
            if type(gradient) is np.ndarray:
                flags = gradient.flags
                is_usual = flags.owndata and flags.writeable and not others
            else:
                is_usual = getattr(gradient, "owns_memory", False)
            if is_usual:
                owners[id(gradient)] = gradient
                results.append(wrap(gradient) if is_normal else as_made_here(made_here(gradient)))
                continue
        payload = gradient._data if isinstance(gradient, Tensor) else gradient
        if isinstance(gradient, SparseGrad):
            results.append(gradient.clone())
        elif create or (isinstance(gradient, Tensor) and gradient._extra is not None):
            if _borrows(gradient) or _overlaps(payload, owners, others):
                gradient = _recorded_copy(gradient)
                payload = gradient._data
            results.append(gradient)
        else:
            if isinstance(payload, np.generic):
                payload = np.asarray(payload)
            if _is_lent(payload) or _overlaps(payload, owners, others):
                payload = _copied(payload)
            if type(payload) is not np.ndarray:
                payload = getattr(payload, "without_history", payload)
            results.append(as_made_here(made_here(payload)))
        _notice(payload, owners, others)
    return results


def _is_alone(gradient: Any, lent: Iterable[Any]) -> bool:
    """Does an array own memory that can be written, of which nothing is lent?"""
    if type(gradient) is not np.ndarray or not (flags := gradient.flags).owndata or not flags.writeable:
        return False
    for each in lent:
        payload = each._data if type(each) is Tensor else each
        if payload is gradient or type(payload) is not np.ndarray or payload.base is not None:
            return False
    return True


def _notice(payload: Any, owners: dict[int, Any], others: dict[int, Any]) -> None:
    """Remember where a payload lies: by id, the arrays that own their memory and everything else."""
    array = payload if type(payload) is np.ndarray else _memory(payload)
    (owners if isinstance(array, np.ndarray) and array.flags.owndata else others)[id(array)] = array


def _overlaps(payload: Any, owners: dict[int, Any], others: dict[int, Any]) -> bool:
    """Does a payload lie in memory that was noticed? Two owners are never compared: a thousand gradients are distinct
    in a thousand steps."""
    array = payload if type(payload) is np.ndarray else _memory(payload)
    if id(array) in owners or id(array) in others:
        return True
    if not isinstance(array, np.ndarray) or (array.flags.owndata and not others):
        return False
    candidates = others.values() if array.flags.owndata else (*owners.values(), *others.values())
    return any(isinstance(known, np.ndarray) and np.may_share_memory(array, known) for known in candidates)


def _borrows(gradient: Tensor) -> bool:
    """Is the gradient a view of something that only the engine knows, or without memory of its own to write to?"""
    payload = gradient._data
    return view_of(gradient) is not None or (isinstance(payload, np.ndarray) and not payload.flags.writeable)


def _memory(payload: Any) -> Any:
    """The array in which a payload lies: of a batch that of all examples, of a traced array one without contents."""
    if type(payload) is np.ndarray:
        return payload
    array = payload.data if type(payload) is BatchedArray else payload
    return getattr(array, "region", array)


def _is_lent(payload: Any) -> bool:
    """Does an array, or a batch of them, lie in memory that it does not own?"""
    array = _memory(payload)
    if has_kind(array):
        return True  # who holds its parts, nobody knows
    return isinstance(array, np.ndarray) and (not array.flags.writeable or array.base is not None)


def _copied(payload: Any) -> Any:
    if type(payload) is BatchedArray:
        return BatchedArray(_copied(payload.data), payload.levels)
    if isinstance(payload, np.ndarray):
        return np.array(payload, order="K")
    is_copied = hasattr(payload, "region") or has_kind(payload)
    return registry["copy"].call(payload, order="K") if is_copied else payload


def _recorded_copy(gradient: Tensor) -> Tensor:
    """A copy that is part of the recorded pass, whatever the caller's grad mode."""
    previous = change_grad(True)
    try:
        return gradient.clone()
    finally:
        change_grad(previous)


def _missing(
    index: int, value: Any, create: bool, materialize: bool, allow_unused: bool, roots: Iterable[tuple[Node, int]]
) -> Any:
    if materialize:
        if isinstance(value, GradientEdge):
            raise AutogradError(
                "EDGE_MATERIALIZE",
                f"inputs[{index}] is a GradientEdge that was not used, and its zeros cannot be made",
                why="an edge does not hold the tensor whose shape the zeros would have",
                fix="pass the tensor, or use allow_unused=True",
            )
        zeros = as_made_here(gradient_like(value, 0, root_kind(roots)))
        return zeros.requires_grad_() if create else zeros
    if allow_unused:
        return None
    raise AutogradError(
        "UNUSED_INPUT",
        f"inputs[{index}] was not used to compute the outputs, or a formula returned None for it",
        why="it has no gradient, and reporting zeros could hide a broken connection",
        fix="use allow_unused=True to get None, or materialize_grads=True to get zeros",
    )


def _batched(
    roots: list[Any], grad_outputs: Any, keep: bool, create: bool, targets: Any, values: list[Any],
    materialize: bool, allow_unused: bool,
) -> list[Any]:  # fmt: skip
    """One pass for all rows of the batched gradients."""
    for root in roots:
        if isinstance(root, GradientEdge):
            raise AutogradError(
                "EDGE_BATCHED",
                "is_grads_batched does not work with a GradientEdge as output",
                why="the batch axis is checked against the output's shape",
                fix="pass the tensor itself",
            )
    given: list[Any] = [None] * len(roots) if grad_outputs is None else _as_list(grad_outputs)
    _check_count(given, roots, "grad_outputs")
    for index, (root, gradient) in enumerate(zip(roots, given, strict=True)):
        if gradient is None:
            raise AutogradError(
                "GRADOUT_NONE",
                f"grad_outputs[{index}] is None: with is_grads_batched every grad_output must be given",
                why="the batch size is read from it",
                fix="pass a tensor whose first axis is the batch",
            )
        if tuple(gradient.shape[1:]) != root.shape or gradient.ndim == 0:
            raise AutogradError(
                "GRADOUT_SHAPE",
                f"grad_output {index} has shape {list(gradient.shape)}, but the output has shape {list(root.shape)}",
                why="If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension",
                fix=f"pass shape [batch, {', '.join(map(str, root.shape))}]",
            )

    def run(*rows: Tensor) -> list[Any]:
        edges, gradients = _roots_and_gradients(roots, list(rows), "grad_outputs", _as_tensors(create))
        captured = run_pass(edges, gradients, keep, create, None, targets)
        results = _results(captured, values, create, materialize, allow_unused, gradients, edges)
        return [wrap(result.to_dense()) if isinstance(result, SparseGrad) else result for result in results]

    results = map_over(run, [as_constant(gradient) for gradient in given])
    return [None if result is None else result.clone() for result in results]


def _as_list(values: Any) -> list[Any]:
    if isinstance(values, (Tensor, GradientEdge, np.ndarray, SparseGrad)):
        return [values]
    return list(values)


def _as_inputs(inputs: Any) -> tuple[list[Any] | None, list[Any]]:
    keys: list[Any] | None = None
    if isinstance(inputs, (Tensor, GradientEdge)):
        values = [inputs]
    elif isinstance(inputs, Mapping):
        keys, values = list(inputs.keys()), list(inputs.values())
    else:
        values = list(inputs)
    if not values:
        raise AutogradError(
            "INPUTS_EMPTY",
            "inputs is empty",
            why="there is nothing to differentiate with respect to",
            fix="leave inputs out to mean all leaves, or name at least one",
        )
    for value in values:
        if not isinstance(value, (Tensor, GradientEdge)):
            raise TypeError(f"inputs must be Tensors or GradientEdges, got {type(value).__name__}")
        if isinstance(value, GradientEdge):
            value.check()
    trace = current().trace
    return keys, values if trace is None else trace.differentiated(values)


def _check_count(given: list[Any], roots: list[Any], name: str) -> None:
    if len(given) != len(roots):
        raise AutogradError(
            "GRADOUT_COUNT",
            f"got {len(given)} {name} for {len(roots)} outputs: one grad_output belongs to each",
            why="a missing or surplus gradient would be ignored silently",
            fix="use None for an output whose gradient is 1",
        )


def _as_tensors(create_graph: bool) -> bool:
    """Does a pass carry its gradients as Tensors? See `GraphTask`."""
    return bool(create_graph) or bool(open_levels)


def _roots_and_gradients(
    roots: list[Any], given: Any, name: str, create: bool
) -> tuple[list[tuple[Node, int]], list[Any]]:
    gradients = [None] * len(roots) if given is None else _as_list(given)
    _check_count(gradients, roots, name)
    edges: list[tuple[Node, int]] = []
    values: list[Any] = []
    for index, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        if type(root) is Tensor and not create and _is_result(root):
            # The usual calls need none of the checks below: a real scalar, or a result and a gradient like it.
            spec = root._spec
            if gradient is None and spec.is_real and spec.size == 1:
                edges.append((root._node, 0))
                values.append(_one_like(spec))
                continue
            if type(gradient) is Tensor and gradient._spec is spec and gradient._extra is None:
                edges.append((root._node, 0))
                values.append(gradient._data)
                continue
        edge, spec = _root_edge(index, root, gradient)
        value = _root_gradient(index, root, edge, spec, gradient)
        if edge[0] is None:
            raise _root_error(index, root)
        value = validate(
            value, spec.shape, spec.dtype, edge[0].grad_dtype_of(edge[1]), index, ""
        )
        like = kind_at(*edge)
        if gradient is not None and like is not None:
            value = of_kind(value, like, like, index, "")
        if not create and isinstance(value, Tensor):
            value = value._data
        edges.append(edge)  # type: ignore[arg-type]
        values.append(value)
    return edges, values


def _is_result(root: Tensor) -> bool:
    """Is this the only result of a node, and no more than a view?"""
    extra: Any = root._extra
    if extra is not None:
        if type(extra) is not ViewInfo:
            return False
        refresh_view(root)
    return isinstance(root._node, Node)


def _root_error(index: int, root: Any) -> AutogradError:
    why = "nothing that it was computed from requires grad, or it was computed under no_grad"
    fix = f"call requires_grad_() on the inputs before computing it{_candidates(root)}"
    if not is_differentiable_dtype(root.dtype):
        why = f"its elements are {root.dtype}, and a function whose values are not real or complex has no derivative"
        fix = "compute with floats up to here: astype(int), comparisons, // and positions such as argmax end a gradient"
    return AutogradError(
        "ROOT_NO_GRAD",
        f"output {index}, {describe(root.shape, root.dtype)}, does not require grad and has no grad_fn",
        why=why,
        fix=fix,
    )


def _candidates(root: Any) -> str:
    """Names in the user's function of tensors that do not require grad and could, if need be as floats."""
    frame: Any = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    tensors = [] if frame is None else [
        (name, value) for name, value in list(frame.f_locals.items())
        if type(value) is Tensor and value._node is None and value is not root
    ]  # fmt: skip
    if found := [name for name, value in tensors if value._spec.is_differentiable]:
        return f"; these here do not require grad: {', '.join(found[:5])}"
    return f"; {tensors[0][0]} is {tensors[0][1].dtype}, make it of floats" if tensors else ""


def _root_edge(index: int, root: Any, gradient: Any) -> tuple[tuple[Node | None, int], Spec]:
    if isinstance(root, GradientEdge):
        root.check()
        spec = root.node.specs[root.output_nr]
        if spec is None:
            raise _root_error(index, wrap(np.zeros(())))
        return (root.node, root.output_nr), spec
    if not isinstance(root, Tensor):
        raise TypeError(f"outputs must be Tensors or GradientEdges, got {type(root).__name__}")
    return (edge_of(root) if requires_grad(root) else (None, 0)), root._spec


def _root_gradient(index: int, root: Any, edge: tuple[Node | None, int], spec: Spec, gradient: Any) -> Any:
    if gradient is None:
        if edge[0] is None:
            raise _root_error(index, root)
        if spec.size != 1:
            raise AutogradError(
                "IMPLICIT_NONSCALAR",
                f"the gradient of output {index} was left out, but it is {spec!r} and not a scalar",
                why="only the derivative of a single number is a gradient without further choice",
                fix="reduce it, for example with .sum(), or pass the gradient of the output",
            )
        if spec.is_complex:
            raise AutogradError(
                "IMPLICIT_COMPLEX",
                f"the gradient of output {index} was left out, but it is complex: only a real scalar has one",
                why="there is no canonical direction in the complex plane",
                fix="differentiate its real part or absolute value, or pass the gradient of the output",
            )
        return first_gradient(root, edge[0], spec)
    if not isinstance(gradient, (Tensor, np.ndarray, SparseGrad)):
        raise TypeError(f"gradients must be Tensors, ndarrays or None, got {type(gradient).__name__}")
    value = gradient if isinstance(gradient, SparseGrad) else as_constant(gradient)
    if tuple(value.shape) != spec.shape:
        raise AutogradError(
            "GRADOUT_SHAPE",
            f"grad_output {index} has shape {list(value.shape)}, but the output has shape {list(spec.shape)}",
            why="the gradient of an output has exactly its shape",
            fix="reshape or broadcast it yourself",
        )
    if (value.dtype.kind == "c") != spec.is_complex:
        raise AutogradError(
            "GRADOUT_COMPLEX",
            f"grad_output {index} has dtype {value.dtype}, but the output has dtype {spec.dtype}",
            why="a complex output has a complex gradient, and a real output a real one",
            fix="convert the grad_output",
        )
    return value


def first_gradient(root: Any, node: Any, spec: Spec) -> Tensor:
    """The gradient 1 that a pass from a single number begins with, of the kind of that number."""
    if isinstance(root, GradientEdge):
        like = node.output_kind(root.output_nr)
    else:
        like = root._data if has_kind(root._data) else None
    return wrap(_one_like(spec) if like is None else filled(like, 1, like))


_ones: dict[Spec, Any] = {}


def _one_like(spec: Spec) -> Any:
    """A new array of one element, which is 1: `np.ones` takes ten times as long as a copy."""
    found = _ones.get(spec)
    if found is None:
        found = _ones[spec] = np.ones(spec.shape, spec.dtype)
    return found.copy()


def tensor_backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor with respect to the leaves to the leaves' `.grad`; see `autograd.backward`."""
    before = current()
    try:
        backward(self, None if gradient is None else [gradient], retain_graph, create_graph, inputs=inputs)
    except BaseException as error:
        put_back(error, before)
        leave(error)
        raise


tensor_backward.__qualname__ = "Tensor.backward"  # as errors of Python's call it
setattr(Tensor, "backward", door(tensor_backward))  # noqa: B010  (a plain assignment is an unknown attribute to mypy)
