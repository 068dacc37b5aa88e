"""Rows of different lengths from other libraries: Awkward arrays, and groups of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.errors import AutogradError
from pullback.operators.ragged.making import from_values, needed, nested
from pullback.operators.ragged.parts import refuse
from pullback.tensors.tensor import Tensor


def from_awkward(a: Any) -> Tensor:
    """An Awkward array of one level of lists over numbers, or over regular inner axes; it shares memory if it can."""
    layout = a.layout.to_packed() if not hasattr(a.layout, "offsets") else a.layout
    to_list = getattr(layout, "to_ListOffsetArray64", None)
    if to_list is None:
        raise _refuse_awkward(layout)
    layout = to_list(True)
    offsets = np.asarray(layout.offsets.data)
    content = layout.content[: int(offsets[-1])]
    if content.is_option or (content.is_list and not content.is_regular) or content.is_record or content.is_union:
        raise _refuse_awkward(content)
    values = content.to_backend_array()
    if isinstance(values, np.ma.MaskedArray):
        raise _refuse_awkward(content)
    return from_values(values, offsets)


def _refuse_awkward(layout: Any) -> AutogradError:
    return refuse(
        "from_awkward", f"one level of lists over numbers is wanted, and there is {type(layout).__name__}",
        "fill missing values (ak.fill_none) and flatten further levels (ak.flatten)", (type(layout).__name__,),
    )  # fmt: skip


def from_groupby(groups: Any) -> Tensor:
    """The groups of pandas' `frame.groupby(key)[columns]` as rows, in order of appearance; keys are `row_labels`."""
    places = groups.indices
    parts = dict(iter(groups))
    plain = {key[0] if isinstance(key, tuple) and len(key) == 1 and key not in places else key: part
             for key, part in parts.items()}  # fmt: skip
    keys = sorted(plain, key=lambda key: int(np.min(places[key])))
    arrays = [np.asarray(plain[key].to_numpy()) for key in keys]
    out = nested(arrays)
    own = needed(out, "from_groupby")
    own.row_labels = keys
    return out
