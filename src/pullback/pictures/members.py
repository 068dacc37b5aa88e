"""What tensors have of pictures: `x.graph()`, and how a notebook shows a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.graph.text import style
from pullback.payloads.batched.array import plain_array
from pullback.pictures.picture import Picture
from pullback.pictures.tape import names_around, tape_picture
from pullback.tensors.tensor import Tensor

_MOST = 20  # rows and columns that are shown


def graph(tensor: Tensor, *, depth: int | None = None, max_nodes: int = 400, theme: str = "auto") -> Picture:
    """The tape behind the tensor as a picture; see `pb.show`.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> x.sin().sum().graph()
    tape: 2 operations, 1 leaf, 16 B kept for backward, 0 B of them new
    sum  float64[]
    sin  float64[2]  keeps x 16 B
    └─ leaf x  float64[2]  no .grad
    """
    return tape_picture([tensor], names_around(), depth, max_nodes, theme)


def mimebundle(tensor: Tensor, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """How a notebook shows the tensor: its text, and a table if there are at most two axes."""
    forms = {"text/plain": repr(tensor)}
    payload = plain_array(tensor._data)
    if payload is None or payload.ndim > 2 or payload.size == 0:
        return forms
    told = [describe(tensor.shape, tensor.dtype)]
    node = tensor._node
    if tensor.requires_grad:
        told.append(f"grad_fn={node.name()}" if hasattr(node, "name") else "requires_grad")
    rows = [_cells(row) for row in np.atleast_2d(payload)[:_MOST]]
    more = ["…" * (length > _MOST) for length in np.atleast_2d(payload).shape]
    if more[0]:
        rows.append([more[0]] * len(rows[0]))
    body = "".join("<tr>" + "".join(f'<td class="pb-number">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    head = style.escape(", ".join(told))
    forms["text/html"] = style.output(f"<p>{head}</p><table><tbody>{body}</tbody></table>")
    return forms


def _cells(row: Any) -> list[str]:
    shown = [style.escape(np.array2string(number, precision=4)) for number in row[:_MOST]]
    return shown if len(row) <= _MOST else [*shown, "…"]


MEMBERS = {"graph": graph, "_repr_mimebundle_": mimebundle}
