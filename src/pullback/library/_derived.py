"""One rule is enough: a linear map run on recorded zeros is transposed by pulling through it.

Reverse from forward: `t -> jvp(t)` is linear, its transpose is the vjp. Forward from reverse: `u -> vjp(u)` is linear,
its transpose is the jvp. Both are ordinary recordings, so what comes out can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd._recording import Recording
from pullback.core.spec import Spec
from pullback.core.state import current
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor


def zeros_of(spec: Spec) -> Tensor:
    """Zeros of this shape and dtype."""
    return made_here(np.zeros(spec.shape, spec.dtype))


def transposed(
    who: str,
    function: Callable[[list[Any]], Sequence[Any]],
    inputs: Sequence[Spec],
    cotangents: Sequence[Any],
    leaves_pullback: Callable[[], Exception],
) -> list[Any]:
    """The transpose of a linear function applied to `cotangents`, one for each of its outputs.

    An output that is not zero and has no history did not come from the inputs through Pullback.
    """
    recording = Recording(who)
    outputs = recording.run(lambda *values: function(list(values)), tuple(zeros_of(spec) for spec in inputs), {})
    used = [
        (out, cotangent)
        for out, cotangent in zip(outputs, cotangents, strict=True)
        if isinstance(out, Tensor) and cotangent is not None and out._spec.is_differentiable
    ]
    for out, _ in used:
        if out._node is None:
            raise leaves_pullback()
    recording.keep_outputs([out for out, _ in used])
    return recording.pull([cotangent for _, cotangent in used], True, current().grad)
