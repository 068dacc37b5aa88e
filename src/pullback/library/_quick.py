"""A short way for the call that is made most: plain tensors in normal modes, one array as result, one formula.

It does what `_run` does with the loops and lists written out, and whatever is unusual about the call goes there; tests
compare the two. bench/custom_ops.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._function_node import Call as NodeCall
from pullback.autograd._function_node import Forward, store
from pullback.autograd._function_outputs import process_outputs
from pullback.autograd._saved import SavedVariable
from pullback.core.spec import spec_for
from pullback.core.state import change_grad, current, next_stamp, switch
from pullback.library._call import Call
from pullback.library._kernel import checked
from pullback.tensors.tensor import Leaf, Tensor

ndarray = np.ndarray
_DTYPES = frozenset("?bBhHiIlLqQefdgFDG")


def quick_function(definition: Any, formulas: Any, layout: Any) -> Callable[[tuple[Any, ...]], Any] | None:
    """The operator as a function of its tensors, which returns None for calls that must go the long way; None if
    every call must."""
    if (
        not definition.binder.num_tensors > 0
        or not definition.returns_one_array
        or not all(as_array and not writes for as_array, writes in definition.adapters)
        or formulas.pair is not None
        or formulas.residuals is not None
        or (not formulas.has_any and definition.autograd_fallback != "backward")
    ):
        return None
    kernel = definition.kernels.get("cpu", definition.default_kernel)
    if kernel is None:
        return None
    function = kernel[0]
    setup = None if formulas.setup is None else formulas.setup[0]
    reads_values, node_class = formulas.reads_values, formulas.node_class
    count = definition.binder.num_tensors
    all_true = (True,) * count

    def call(args: tuple[Any, ...]) -> Any:
        if current() is not switch.normal:
            return None
        views = []
        needed = False
        for x in args:
            if x._extra is not None or type(x._data) is not ndarray:
                return None
            data = x._data
            if data.flags.writeable:
                data = data.view()
                data.flags.writeable = False
            views.append(data)
            if x._node is not None:
                needed = True
        change_grad(False)
        try:
            out = function(*views)
            record = Call(definition, layout, {})
            if type(out) is not ndarray or out.base is not None or out.dtype.char not in _DTYPES:
                (out,) = checked(record, out, [x._data for x in args], views, {})
            else:
                for x in args:
                    if x._data is out or x._data.base is out:
                        checked(record, out, [x._data for x in args], views, {})
            result = Tensor()
            result._data = out
            result._spec = spec = spec_for(out.shape, out.dtype)
            result._node = result._counter = result._extra = result._meta = None
            if not needed:
                return result
            edges: list[Any] = []
            needs: list[bool] = []
            for x in args:
                behind = x._node
                is_needed = behind is not None and x._spec.is_differentiable
                needs.append(is_needed)
                if type(behind) is Leaf:
                    reference = behind.accumulator
                    if reference is None or (behind := reference()) is None:
                        behind = accumulator_of(x)
                edges.append(behind if is_needed else None)
            forward = Forward(args, True, True)
            made = NodeCall(forward, all_true, tuple(needs))
            node = node_class()
            store(node, "_call", made)
            store(node, "next", tuple(edges))
            store(node, "next_nr", None)
            store(node, "seq", next_stamp())
            store(node, "rare", None)
            attributes = node.__dict__
            attributes["_operator"] = record
            attributes["_formulas"] = formulas
            attributes["_levels"] = ()
            attributes["_specs"] = tuple([x._spec for x in args])
            if setup is not None:
                setup(node, args, result)
        finally:
            change_grad(True)
        named = forward.to_save
        attributes["_fills"] = made.materialize
        attributes["_num_saved"] = len(named)
        attributes["_intermediates"] = tuple([_is_intermediate(x, args, result, attributes) for x in named])
        to_save = (*named, *args, result) if reads_values else named
        if forward.non_differentiable or not spec.is_differentiable:
            process_outputs(node, forward, (result,))
        else:
            made.value_specs = made.output_specs = (spec,)
            store(node, "num_outputs", 1)
            store(node, "spec", spec)
            result._node = node
        if to_save and result._node is node:
            made.saved = tuple([SavedVariable(x, is_output=x is result) for x in to_save])
        made.forward = None
        return result

    return call


def _is_intermediate(x: Any, args: tuple[Any, ...], result: Tensor, attributes: dict[str, Any]) -> bool:
    """Is this saved tensor neither argument nor result, so that a derivative through it would be lost?"""
    if x is None or x is result:
        return False
    for given in args:
        if x is given:
            return False
    constants = attributes.get("_constants", ())
    return bool(x._spec.is_differentiable) and not any(x is each for each in constants)
