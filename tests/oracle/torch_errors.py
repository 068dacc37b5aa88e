"""Torch's error messages as the codes of the specification's catalogue."""

from __future__ import annotations

import re

_PATTERNS = [
    (r"only Tensors of floating point", "DTYPE"),
    (r"you can only change requires_grad flags of leaf", "NONLEAF_FLAG"),
    (r"as its own grad", "GRAD_SELF"),
    (r"attempting to assign a gradient of size", "GRAD_SHAPE"),
    (r"attempting to assign a gradient with dtype|assigned grad has data of a different type", "GRAD_DTYPE"),
    (r"Can't detach views in-place", "DETACH_VIEW"),
    (r"does not require grad and does not have a grad_fn", "ROOT_NO_GRAD"),
    (r"grad can be implicitly created only for scalar", "IMPLICIT_NONSCALAR"),
    (r"grad can be (implicitly )?created only for real", "IMPLICIT_COMPLEX"),
    (r"Mismatch in shape: grad_output", "GRADOUT_SHAPE"),
    (r"got \d+ tensors and \d+ gradients", "GRADOUT_COUNT"),
    (r"argument to `(grad|backward)\(\)` cannot be empty", "INPUTS_EMPTY"),
    (r"One of the differentiated Tensors does not require grad", "INPUT_NO_GRAD"),
    (r"appears to not have been used in the graph", "UNUSED_INPUT"),
    (r"Trying to backward through the graph a second time", "SECOND_BACKWARD"),
    (r"leaf variable has been moved into the graph interior", "LEAF_MOVED"),
    (r"a view of a leaf Variable that requires grad is being used in an in-place", "VIEW_OF_LEAF_INPLACE"),
    (r"a leaf Variable that requires grad is being used in an in-place", "LEAF_INPLACE"),
    (r"function that returns multiple views", "VIEW_MULTI"),
    (r"created in no_grad mode", "VIEW_NO_GRAD"),
    (r"view (which )?was created in inference mode", "VIEW_INFERENCE"),
    (r"more than one element of the written-to tensor", "OVERLAP_WRITE"),
    (r"modified by an inplace operation", "VERSION"),
    (r"has been detached in-place", "SAVED_DETACHED"),
    (r"cannot register a hook on a tensor that doesn't require", "HOOK_NO_GRAD"),
    (r"can't retain_grad on Tensor that has requires_grad=False", "RETAIN_NO_GRAD"),
    (r"has changed the size of value", "HOOK_SHAPE"),
    (r"has changed the type of value", "HOOK_DTYPE"),
    (r"post accumulate grad hooks cannot be registered on non-leaf", "POST_ACC_NONLEAF"),
    (r"Inference tensors do not track version", "INFERENCE_VERSION"),
    (r"Inplace update to inference tensor outside", "INFERENCE_INPLACE"),
    (r"Inference tensors cannot be saved", "INFERENCE_SAVE"),
    (r"Setting requires_grad=True on inference tensor outside", "INFERENCE_FLAG"),
]
_COMPILED = [(re.compile(pattern), code) for pattern, code in _PATTERNS]
_ARRAY = re.compile(
    r"must match the size|shape|size|dimension|out of range|can't be cast|expanded|broadcast|dtype|index|mat1|same type"
)


def code_of(error: BaseException) -> str:
    """The code of a torch error; "ARRAY" for shapes, indices and types; "UNKNOWN" with the message otherwise."""
    text = str(error)
    for pattern, code in _COMPILED:
        if pattern.search(text):
            return code
    if isinstance(error, AttributeError) and "NoneType" in text:
        return "NONE"
    if isinstance(error, (ValueError, TypeError, IndexError, KeyError)) or _ARRAY.search(text):
        return "ARRAY"
    return f"UNKNOWN {type(error).__name__}: {text[:200]}"
