"""Core signatures such as `(n,n),(n)->(n)`: what a kernel does with the last axes, while it broadcasts over the others.

An operator that has one needs no other batching rule: the axes of a vmap are further axes in front.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.library._call import TENSOR, Call
from pullback.library._schema import Schema

Core = tuple[str, ...]
Shape = tuple[int, ...]
_GROUP = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(rf"({_GROUP}(?:,{_GROUP})*)->({_GROUP}(?:,{_GROUP})*)\Z")


class CoreSignature:
    """The core axes of every tensor argument and of every result, by name; a number is a length."""

    __slots__ = ("inputs", "outputs", "text")

    def __init__(self, text: str) -> None:
        self.text = text.replace(" ", "")
        found = _SIGNATURE.match(self.text)
        if found is None:
            raise ValueError(f"{text!r} is no core signature: expected one like '(n,n),(n)->(n)'")
        self.inputs, self.outputs = (_cores(side) for side in found.groups())

    def check_schema(self, qualname: str, schema: Schema) -> None:
        """Raise unless the signature has one group per tensor argument, and one per result."""
        if schema.written or schema.returns_views:
            raise ValueError(f"{qualname}: an operator with a core signature neither writes nor returns views")
        if schema.is_dynamic:
            return
        kinds = [argument.type for argument in schema.positional if argument.type.is_tensor]
        if any(kind.is_list or not kind.is_tensor for kind in (*kinds, *schema.returns)):
            raise ValueError(f"{qualname}: a core signature is for single Tensors, and the schema is {schema}")
        if len(kinds) != len(self.inputs) or len(schema.returns) != len(self.outputs):
            raise ValueError(
                f"{qualname}: the core signature {self.text} has {len(self.inputs)} arguments and {len(self.outputs)} "
                f"results, the schema {schema} has {len(kinds)} and {len(schema.returns)}"
            )

    def cores_of(self, call: Call, count: int) -> Sequence[Core]:
        """The core axes of every one of the `count` operands of a call."""
        schema = call.definition.schema
        if not schema.is_dynamic:
            kinds = [kind for (kind, _), argument in zip(call.layout, schema.positional, strict=True)
                     if argument.type.is_tensor]  # fmt: skip
            return [core for kind, core in zip(kinds, self.inputs, strict=True) if kind == TENSOR]
        if len(self.inputs) != count:
            raise RuntimeError(
                f"{call.definition.qualname} was called with {count} arrays, but its core signature {self.text} has "
                f"{len(self.inputs)} arguments"
            )
        return self.inputs

    def result_shapes(self, call: Call, shapes: Sequence[Shape]) -> list[tuple[int | None, ...]]:
        """The shapes of results for operands of these shapes; None for a length that the signature leaves open."""
        sizes: dict[str, int] = {}
        loops: list[Shape] = []
        for number, (shape, core) in enumerate(zip(shapes, self.cores_of(call, len(shapes)), strict=True)):
            if len(shape) < len(core):
                raise self._unfit(call, f"operand {number} of shape {shape} has fewer axes than ({','.join(core)})")
            loops.append(shape[: len(shape) - len(core)])
            for name, length in zip(core, shape[len(shape) - len(core) :], strict=True):
                expected = int(name) if name.isdigit() else sizes.setdefault(name, length)
                if length != expected:
                    what = f"operand {number} of shape {shape} has {length} where {name} is {expected}"
                    raise self._unfit(call, what)
        loop = np.broadcast_shapes(*loops)
        return [(*loop, *(int(name) if name.isdigit() else sizes.get(name) for name in core)) for core in self.outputs]

    def _unfit(self, call: Call, what: str) -> ValueError:
        return ValueError(f"{call.definition.qualname}: {what}, by its core signature {self.text}")

    def check_results(self, call: Call, shapes: Sequence[Shape], results: Sequence[Any]) -> None:
        """Raise unless the kernel broadcast over the axes in front as the signature says."""
        expected = self.result_shapes(call, shapes)
        found = [np.shape(result) for result in results]
        if len(found) == len(expected) and all(
            len(one) == len(two) and all(b is None or a == b for a, b in zip(one, two, strict=True))
            for one, two in zip(found, expected, strict=True)
        ):
            return
        definition = call.definition
        raise RuntimeError(
            f"the kernel of {definition.qualname} does not follow its core signature {self.text}: for operands of "
            f"shapes {list(shapes)} it returned {found}, expected {expected}\n"
            f"  signature  registered at {definition.batch[1]}\n  kernel     registered at "
            f"{definition.kernel_for(call)[1]}"
        )

    def __repr__(self) -> str:
        return self.text


def _cores(side: str) -> tuple[Core, ...]:
    return tuple(tuple(name for name in group.split(",") if name) for group in side[1:-1].split("),("))
