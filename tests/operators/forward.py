"""Forward differentiation with nothing but the declared forward rules, for any function of tensors.

Every primitive that the function calls is intercepted, and `push` gives the tangents of its results. A tangent is an
array; that of a view is a view of the base's tangent, so that a write in place reaches both.
"""

from __future__ import annotations

import numpy as np

import pullback as pb
from pullback.core.state import changed
from pullback.declare.derive import push
from pullback.tape.transform.interception import Interception
from pullback.tensors.tensor import Tensor


def listed(value):
    """The members of a tuple or list, or the only value in a list."""
    return list(value) if isinstance(value, (tuple, list)) else [value]


class Pushing(Interception):
    """Knows the tangents of the tensors made inside it. A tensor without one is a constant."""

    def __init__(self):
        super().__init__()
        self._tangents = {}  # by identity, together with the tensor, so that no identity is used twice

    def tangent(self, tensor):
        """The tangent of a tensor, or None."""
        _, tangent = self._tangents.get(id(tensor), (None, None))
        return tangent

    def put(self, tensor, tangent):
        """Give a tensor a tangent."""
        self._tangents[id(tensor)] = (tensor, tangent)

    def intercept(self, op, operands, params, proceed):
        tangents = tuple(self.tangent(x) if isinstance(x, Tensor) else None for x in operands)
        if op.is_view and tangents[0] is None and operands[0].dtype.kind in "fc":
            # The view may be written, and then the base has a tangent too.
            self.put(operands[0], np.zeros(operands[0].shape, operands[0].dtype))
            tangents = (self.tangent(operands[0]), *tangents[1:])
        values = tuple(_value(x).copy() if isinstance(x, Tensor) and not op.is_view else _value(x) for x in operands)
        result = proceed(op, operands, params)
        if not op.is_differentiable or all(t is None for t in tangents):
            return result
        outs = listed(result)
        raw = [_value(out).copy() for out in outs]
        with changed(interceptors=()), np.errstate(all="ignore"):
            pushed = listed(push(op, values, tangents, raw if len(raw) > 1 else raw[0], params))
        for out, tangent in zip(outs, pushed):
            if tangent is not None and out.dtype.kind in "fc":
                self._store(out, _value(tangent), is_view=op.is_view)
        return result

    def _store(self, out, tangent, *, is_view):
        if out.dtype.kind == "f" and tangent.dtype.kind == "c":
            tangent = tangent.real
        known = self.tangent(out)
        if known is not None:
            known[...] = tangent
        else:
            self.put(out, tangent if is_view else np.array(np.broadcast_to(tangent, out.shape), out.dtype))


def _value(x):
    return x.detach().numpy() if isinstance(x, Tensor) else x


def jvp(function, operands, tangents):
    """The results of `function` at these arrays, and their tangents: zeros where nothing depends on the operands."""
    pushing = Pushing()
    inputs = [pb.tensor(np.array(x)) if isinstance(x, np.ndarray) else x for x in operands]
    for x, tangent in zip(inputs, tangents):
        if tangent is not None:
            pushing.put(x, np.array(tangent, x.dtype))
    with pb.no_grad(), np.errstate(all="ignore"), pushing:
        outs = listed(function(*inputs))
    known = [pushing.tangent(out) for out in outs]
    pushed = [np.zeros(out.shape, out.dtype) if t is None else t for out, t in zip(outs, known)]
    return [_value(out) for out in outs], pushed
