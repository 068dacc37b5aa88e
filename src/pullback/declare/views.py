"""View operators that the machinery itself needs.

`part` is one output of a view operator that has several: a piece of a split must be replayed alone when its base was
written, without its siblings. `same` is the whole of a tensor: another tensor on the same memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.declare.derive import pull
from pullback.declare.families import view
from pullback.declare.op import registry
from pullback.declare.samples import Sample


@view(name="_part")
def part(x, *, whole, params, index):
    """Output `index` of the operator `whole`."""
    if whole.name in _SUBSCRIPTS:  # of a thousand parts, each is taken alone at some time
        return x[(*(slice(None),) * params["axis"], _SUBSCRIPTS[whole.name](params, index), ...)]
    return whole.kernel(x, **params)[index]


_SUBSCRIPTS = {
    "_split": lambda params, index: slice(*params["pieces"][index]),
    "_unbind": lambda params, index: index,
}


@part.transpose
def part_transpose(g, x, whole, params, index):
    gradients = [None] * len(whole.specs_of(x, **params))
    gradients[index] = g
    return pull(whole, tuple(gradients), (True,), lambda _: None, lambda _: x, lambda _: None, params)[0]


@part.batch
def part_batch(x, *, whole, params, index):
    return whole.batch_rule(x, **params)[index]


part.refuses("operators with several views of one array take an axis apart", "0-d")


@part.samples
def part_samples(make):
    for op in list(registry.values()):
        if op.is_view and op.num_outputs is None and op.sample_rule is not None:
            for sample in op.sample_rule(make):
                for index in range(min(2, len(op.kernel(*sample.operands, **sample.params)))):
                    label = f"{op.name}-{sample.label}-{index}"
                    yield Sample(sample.operands, {"whole": op, "params": sample.params, "index": index}, label)


@view(name="_same", group="copy")
def same(x):
    """All of `x`, as a view."""
    return x.view() if type(x) is np.ndarray else x[...]


same.shows_each_once = True


@same.transpose
def same_transpose(g):
    return g


@same.batch
def same_batch(x):
    return same(x)


@same.samples
def same_samples(make):
    yield Sample((make((2, 3)),), {}, "matrix")
    yield Sample((make(()),), {}, "scalar")
    yield Sample((make((0, 3)),), {}, "empty")


# `ViewStep`: one view operation with its parameters, which can be taken again of another value.

class ViewStep(NamedTuple):
    """One view operation with its static parameters."""

    op: Any
    params: dict[str, Any]

    def __call__(self, value: Any) -> Any:
        """The view of `value`."""
        return self.op(value, **self.params)
