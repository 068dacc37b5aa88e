"""Reading the expressions that descriptors are written as."""

from __future__ import annotations

import ast
import re
from typing import Any

from pullback.graph.descriptors import (
    AOTInput,
    BufferAOTInput,
    CapturedAOTInput,
    Descriptor,
    DummyAOTInput,
    DummyAOTOutput,
    GradAOTOutput,
    InputMutationAOTOutput,
    IntermediateBaseAOTOutput,
    MetadataMutationAOTOutput,
    ParamAOTInput,
    PlainAOTInput,
    PlainAOTOutput,
    SavedForBackwardsAOTOutput,
    SavedForBackwardsNoVcCheckAOTOutput,
    SubclassGetAttrAOTInput,
    SubclassGetAttrAOTOutput,
    SyntheticBaseAOTInput,
    TangentAOTInput,
    ViewBaseAOTInput,
)

_BY_INDEX: dict[str, Any] = {
    "args": PlainAOTInput, "captured": CapturedAOTInput, "input": DummyAOTInput, "output": PlainAOTOutput,
    "metadata_mutated": MetadataMutationAOTOutput, "saved": SavedForBackwardsAOTOutput,
    "saved_no_vc": SavedForBackwardsNoVcCheckAOTOutput, "result": DummyAOTOutput,
}  # fmt: skip
_BY_NAME: dict[str, Any] = {"param": ParamAOTInput, "buffer": BufferAOTInput}
_OF_ANOTHER: dict[str, Any] = {
    "base_of": ViewBaseAOTInput, "synthetic_base_of": SyntheticBaseAOTInput, "tangent": TangentAOTInput,
    "mutated": InputMutationAOTOutput, "ibase": IntermediateBaseAOTOutput, "grad": GradAOTOutput,
}  # fmt: skip

_INDEXED = re.compile(r"(\w+)\[(\d+)\]")
_NAMED = re.compile(r"(param|buffer)\(('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)")
_OPENED = re.compile(r"(\w+)\(")
_ATTRIBUTE = re.compile(r"\.(\w+)")


def parse_descriptor(text: str) -> Descriptor:
    """The descriptor with this expression."""
    found, end = parse_prefix(text, 0)
    if end != len(text):
        raise ValueError(f"descriptor {text!r}: nothing may follow after column {end}")
    return found


def parse_prefix(text: str, start: int) -> tuple[Descriptor, int]:
    """The descriptor whose expression begins at `start`, and where it ends."""
    found: Descriptor
    if (match := _INDEXED.match(text, start)) and match[1] in _BY_INDEX:
        found, end = _BY_INDEX[match[1]](int(match[2])), match.end()
    elif match := _NAMED.match(text, start):
        found, end = _BY_NAME[match[1]](ast.literal_eval(match[2])), match.end()
    elif (match := _OPENED.match(text, start)) and match[1] in _OF_ANOTHER:
        inner, end = parse_prefix(text, match.end())
        if text[end : end + 1] != ")":
            raise ValueError(f"descriptor {text[start:]!r}: `)` is missing after {inner.expr()}")
        found, end = _OF_ANOTHER[match[1]](inner), end + 1
    else:
        raise ValueError(f"{text[start : start + 40]!r} is not the beginning of a descriptor")
    while match := _ATTRIBUTE.match(text, end):
        kind: Any = SubclassGetAttrAOTInput if isinstance(found, AOTInput) else SubclassGetAttrAOTOutput
        found, end = kind(found, match[1]), match.end()
    return found, end
