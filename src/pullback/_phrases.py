"""What torch says of the same mistake. People search for these sentences, so our messages hold them, behind `torch`.

Errors with a code have one by their code; others by what they say, in a table of patterns. Its sentences are made from
the numbers that ours name. Loaded with the first error.
"""

from __future__ import annotations

import re
from collections.abc import Callable

BY_CODE = {
    "CALLBACK_OUTSIDE": "Final callbacks can only be installed during backward pass",
    "DATA_DTYPE": "data set to a tensor that requires gradients must be floating point or complex dtype",
    "DEEPCOPY_NONLEAF": "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
    "DETACH_VIEW": "Can't detach views in-place. Use detach() instead.",
    "DIRTY_LEAF": "a leaf Variable that requires grad is being used in an in-place operation",
    "DIRTY_NOT_RETURNED": "Some elements marked as dirty during the forward method were not returned as output.",
    "DIRTY_NOT_INPUT": "mark_dirty() received a tensor that was not an input.",
    "DIRTY_VIEW_MULTI": "your Function modifies inplace an input that is a view of another Tensor",
    "DTYPE": "only Tensors of floating point and complex dtype can require gradients",
    "EDGE_MATERIALIZE": "materialize_grads cannot be used when the given input is a GradientEdge",
    "FLAG_IN_TRANSFORM": "You are attempting to call Tensor.requires_grad_() inside of a function being transformed",
    "FN_NO_VMAP": "You tried to vmap over an autograd.Function, but it does not have vmap support. Please override and "
    "implement the vmap staticmethod or set generate_vmap_rule=True.",
    "FN_VMAP_AMBIGUOUS": "it has both generate_vmap_rule=True and an overridden vmap staticmethod",
    "FORWARD_NO_LEVEL": "no level exists, make sure to enter_dual_level() first",
    "FORWARD_SHAPE": "Trying to set a forward gradient that has a different size than that of the original Tensor",
    "GRADOUT_COMPLEX": "both grad_output and output are required to have the same dtype",
    "GRADOUT_SHAPE": "Mismatch in shape: grad_output",
    "GRAD_DTYPE_NONLEAF": "grad_dtype can only be accessed on leaf tensors; grad_dtype can only be set on leaf tensors",
    "GRAD_SHAPE": "returned an invalid gradient: expected shape compatible with that of the input",
    "GRAD_SELF": "can't assign Variable as its own grad",
    "HOOKS_FREED": "Calling register_hooks on a saved tensor after it has been freed",
    "HOOKS_NONE": "Calling register_hooks on a saved tensor with value None is forbidden",
    "HOOKS_TWICE": "Calling register_hooks on a saved tensor whose hooks have already been set",
    "HOOK_COUNT": "has returned an incorrect number of values",
    "HOOK_DTYPE": "has changed the type of value",
    "HOOK_NO_GRAD": "cannot register a hook on a tensor that doesn't require gradient",
    "HOOK_SHAPE": "has changed the size of value",
    "IMPLICIT_COMPLEX": "grad can be implicitly created only for real scalar outputs",
    "IMPLICIT_NONSCALAR": "grad can be implicitly created only for scalar outputs",
    "INFERENCE_FLAG": "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
    "INFERENCE_INPLACE": "Inplace update to inference tensor outside InferenceMode is not allowed",
    "INFERENCE_SAVE": "Inference tensors cannot be saved for backward",
    "INFERENCE_VERSION": "Inference tensors do not track version counter",
    "INPUTS_EMPTY": "argument to `backward()` cannot be empty",
    "INPUT_NO_GRAD": "One of the differentiated Tensors does not require grad",
    "LEAF_INPLACE": "a leaf Variable that requires grad is being used in an in-place operation",
    "NONLEAF_FLAG": "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
    "NO_EDGE": "It is not possible to get the gradient edge for a Tensor that does not require gradients",
    "NUMPY_ON_GRAD": "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    "SCIPY_ON_GRAD": "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    "NUM_GRADS": "returned an incorrect number of gradients",
    "ONCE_DIFFERENTIABLE": "trying to differentiate twice a function that was marked with @once_differentiable",
    "OUT_GRAD": "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad.",
    "OVERLAP_WRITE": "more than one element of the written-to tensor refers to a single memory location",
    "PACK_MUTATED": "A saved tensor pack hook is modifying its input in place.",
    "POST_ACC_NONLEAF": "post accumulate grad hooks cannot be registered on non-leaf tensors",
    "POST_ACC_RETURN": "Tensor post accumulate grad hooks should return None.",
    "RESIZE_GRAD": "cannot resize variables that require grad",
    "RETAIN_NO_GRAD": "can't retain_grad on Tensor that has requires_grad=False",
    "ROOT_NO_GRAD": "does not require grad and does not have a grad_fn",
    "SAVE_RETURNED_INPUT": "A input that has been returned as-is as output is being saved for backward",
    "SECOND_BACKWARD": "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Specify retain_graph=True if you need to backward through the graph a second time",
    "UNUSED_INPUT": "The differentiated Tensor at index 0 appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior.",
    "VERSION": "one of the variables needed for gradient computation has been modified by an inplace operation",
    "VIEW_CUSTOM": "is a view and is being modified inplace. This view was created inside a custom Function",
    "VIEW_INFERENCE": "A view was created in inference mode and is being modified inplace in normal mode",
    "VIEW_MULTI": "is a view and is being modified inplace. This view is the output of a function that returns "
    "multiple views.",
    "VIEW_NO_GRAD": "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
    "VIEW_OF_LEAF_INPLACE": "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    "VMAP_ESCAPED": "your tensor may have escaped from inside a function being vmapped and this is a user error.",
    "VMAP_INPLACE": "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` "
    "in extra_args that has more elements than `self`",
}
"""By code."""


def torch_phrase(code: str, what: str) -> str:
    """What torch says where we say `what`; nothing if it has no such mistake, or `what` has torch's words already."""
    for pattern, said in BY_TEXT:
        match = re.search(pattern, what, re.DOTALL)
        if match is not None:
            try:
                phrase = match.expand(said) if isinstance(said, str) else said(*match.groups(""))
            except (IndexError, ValueError):  # shapes that nobody thought of must not hide the error itself
                phrase = ""
            break
    else:
        phrase = BY_CODE.get(code, "")
        view = re.search(r"output (\d+) of (\w+), \S+ is a view", what) if phrase.startswith("is a view") else None
        phrase = f"Output {view[1]} of {view[2]} {phrase}" if view else phrase
    return "" if phrase in what else phrase


def _lengths(text: str) -> list[int]:
    """The numbers of a shape, however its brackets are."""
    return [int(number) for number in re.findall(r"-?\d+", text)]


def _listed(text: str) -> str:
    return str(_lengths(text))


def _broadcast(left: str, right: str) -> str:
    a, b = _lengths(left), _lengths(right)
    ndim = max(len(a), len(b))
    for place, (m, n) in enumerate(zip([1] * (ndim - len(a)) + a, [1] * (ndim - len(b)) + b, strict=True)):
        if m != n and 1 not in (m, n):
            return (
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {place}"
            )
    return ""


def _expanded(small: str, large: str) -> str:
    existing, target = _lengths(small), _lengths(large)
    for place in range(1, min(len(existing), len(target)) + 1):
        if existing[-place] not in (1, target[-place]):
            return (
                f"The expanded size of the tensor ({target[-place]}) must match the existing size ({existing[-place]}) "
                f"at non-singleton dimension {len(target) - place}.  Target sizes: {target}.  Tensor sizes: {existing}"
            )
    return (
        f"The number of sizes provided ({len(target)}) must be greater or equal to the number of dimensions in the "
        f"tensor ({len(existing)})"
    )


def _product(left: str, right: str) -> str:
    a, b = _lengths(left), _lengths(right)
    if len(a) == len(b) == 1:
        return (
            f"inconsistent tensor size, expected tensor {a} and src {b} to have the same number of elements, but got "
            f"{a[0]} and {b[0]} elements respectively"
        )
    if len(b) == 1 and len(a) == 2:
        return f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
    if len(a) <= 2 and len(b) == 2:
        return f"mat1 and mat2 shapes cannot be multiplied ({a[-2] if a[1:] else 1}x{a[-1]} and {b[0]}x{b[1]})"
    if len(a) == len(b) == 3:
        return f"Expected size for first two dimensions of batch2 tensor to be: {[a[0], a[2]]} but got: {b[:2]}."
    return ""


_TYPES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


_IN_C = {"float16": "c10::Half", "float32": "float", "float64": "double"}


def _cast(given: str, wanted: str) -> str:
    return (
        f"result type {_TYPES.get(given, given)} can't be cast to the desired output type {_TYPES.get(wanted, wanted)}"
    )


def _axis_range(axis: str, ndim: str) -> str:
    count = max(int(ndim), 1)
    return f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {axis})"


def _stacked(index: str, shape: str, first: str) -> str:
    return f"stack expects each tensor to be equal size, but got {first} at entry 0 and {shape} at entry {index}"


def _dimensions(index: str, shape: str, first: str) -> str:
    return f"Tensors must have same number of dimensions: got {len(_lengths(first))} and {len(_lengths(shape))}"


def _not_scalar(shape: str) -> str:
    return (
        f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
        f"{len(_lengths(shape))} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
    )


def _elements(shape: str) -> str:
    count = 1
    for length in _lengths(shape):
        count *= length
    return f"a Tensor with {count} elements cannot be converted to Scalar"


_SHAPE = r"(\([\d, ]*\)|\[[\d, ]*\])"

# A pattern of our text, and torch's: a template of the groups, or a function of them.
BY_TEXT: tuple[tuple[str, str | Callable[..., str]], ...] = (
    (rf"could not be broadcast together with shapes {_SHAPE} {_SHAPE}", _broadcast),
    (r"^solve: the inner lengths .*?\[[\d, ]*?(\d+), (\d+)\] and \w+\[[\d, ]*?(\d+), (\d+)\]",
     r"linalg.solve: Incompatible shapes of A and B for the equation AX = B (\1x\2 and \3x\4)"),
    (rf"inner lengths \d+ and \d+ of \w+{_SHAPE} and \w+{_SHAPE} differ", _product),
    (rf"could not broadcast input array from shape {_SHAPE} into shape {_SHAPE}", _expanded),
    (rf"broadcast_to: {_SHAPE} does not broadcast to {_SHAPE}", _expanded),
    (rf"output operand with shape {_SHAPE} doesn't match the broadcast shape {_SHAPE}",
     lambda out, shape: f"output with shape {_listed(out)} doesn't match the broadcast shape {_listed(shape)}"),
    (rf"a value of shape {_SHAPE} cannot be written to elements of shape {_SHAPE}",
     lambda value, target: f"shape mismatch: value tensor of shape {_listed(value)} cannot be broadcast to indexing "
     f"result of shape {_listed(target)}"),
    (r"from dtype\('(\w+)'\) to dtype\('(\w+)'\) with casting rule", _cast),
    (rf"stack: part (\d+) has shape {_SHAPE} and part 0 has {_SHAPE}: they differ in axis", _stacked),
    (rf"part (\d+) has shape {_SHAPE} and part 0 has {_SHAPE}: they differ in the number of axes", _dimensions),
    (r"concat: part \d+ has shape .* they differ in axis", "Sizes of tensors must match except in dimension"),
    (r"stack: there is nothing to join", "stack expects a non-empty TensorList"),
    (r"concat: there is nothing to join", "expected a non-empty list of Tensors"),
    (r"cannot fit (\d+) elements into shape \((-?[\d, -]*?),?\)", r"shape '[\2]' is invalid for input of size \1"),
    (r"only one length may be -1", "only one dimension can be inferred"),
    (r"axis (-?\d+) is out of bounds for array of dimension (\d+)", _axis_range),
    (r"repeated axis", "appears multiple times in the list of dims"),
    (r"permute_dims: (\d+) axes were given for an array of (\d+) axes",
     r"number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. "
     r"input.dim() = \2 is not equal to len(dims) = \1"),
    (r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
     r"index \1 is out of bounds for dimension \2 with size \3"),
    (r"too many indices for array: array is 0-dimensional",
     "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
     "tensor to a number"),
    (r"too many indices for array: array is (\d+)-dimensional", r"too many indices for tensor of dimension \1"),
    (r"an index holds ints, .* not an array of", "tensors used as indices must be long, int, byte or bool tensors"),
    (r"an index holds ints, .* not (\w+)",
     r"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got \1)"),
    (rf"a truth array of shape {_SHAPE} cannot index axes of lengths {_SHAPE}",
     lambda mask, axes: f"The shape of the mask {_listed(mask)} at index 0 does not match the shape of the indexed "
     f"tensor {_listed(axes)} at index 0"),
    (r"the arrays of an index must broadcast together, and have shapes (.*)",
     lambda shapes: "shape mismatch: indexing tensors could not be broadcast together with shapes "
     + ", ".join(_listed(shape) for shape in re.findall(_SHAPE, shapes))),
    (r"inv: Singular matrix",
     "the inversion could not be completed because the input matrix is singular."),
    (r"Singular matrix", "The solver failed because the input matrix is singular."),
    (r"Matrix is not positive definite",
     "The factorization could not be completed because the input is not positive-definite"),
    (r"the matrices must be square, and the shape is \[.*?(\d+), (\d+)\]",
     r"A must be batches of square matrices, but they are \1 by \2 matrices"),
    (r"(tril|triu): a matrix has two axes", r"\1: input tensor must have at least 2 dimensions"),
    (r"(\w+): a matrix has two axes", r"\1: The input tensor A must have at least 2 dimensions."),
    (r"the truth value of a tensor of shape .* is ambiguous",
     "Boolean value of Tensor with more than one value is ambiguous"),
    (rf"item\(\) needs a tensor with one element, and this one has shape {_SHAPE}", _elements),
    (r"\w+\(\) needs a tensor with one element", "only one element tensors can be converted to Python scalars"),
    (r"len\(\) of a tensor without axes", "len() of a 0-d tensor"),
    (r"a tensor without axes cannot be iterated over", "iteration over a 0-d tensor"),
    (r"the rows have different lengths", "expected sequence of length"),
    (r"a tensor holds truth values, .* and (?:this|element \[.*?\]) is an? (\w+)", r"Could not infer dtype of \1"),
    (r"lengths cannot be negative", "Dimension size must be non-negative."),
    (r"negative dimensions are not allowed", "Trying to create tensor with negative dimension"),
    (r"Number of samples, -?\d+, must be non-negative", "number of steps must be non-negative"),
    (r"^(\w+) of .*(?:zero-size array to reduction|of an empty sequence)",
     r"\1(): Expected reduction dim to be specified for input.numel() == 0."),
    (r"matmul: an operand has too few axes: \w+(\[.*?\]) and \w+(\[.*?\])",
     lambda a, b: f"both arguments to matmul need to be at least 1D, but they are {len(_lengths(a))}D and "
     f"{len(_lengths(b))}D"),
    (r"^bitwise_invert is not defined for",
     "~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
    (r"^bitwise_(.)\w+_shift is not defined for (\w+)",
     lambda side, kind: f"\"{side}shift_cpu\" not implemented for '{_TYPES.get(kind, kind)}'"),
    (r"^(bitwise_\w+) is not defined for (\w+)",
     lambda name, kind: f"\"{name}_cpu\" not implemented for '{_TYPES.get(kind, kind)}'"),
    (r"^(\w+) is not defined for (\w+)", r"\1(): argument 'input' (position 1) must be Tensor, not \2"),
    (r"(gather|scatter\w*): an index of shape", "Index tensor must have the same number of dimensions as input tensor"),
    (r"(\w+): positions are integers, got", r"\1(): Expected dtype int32/int64 for index"),
    (r"chunk: the number of chunks must be positive, got (-?\d+)",
     r"chunk expects `chunks` to be greater than 0, got: \1"),
    (r"einsum: label '(\w)' has length (\d+) in one operand and (\d+) in another",
     r"subscript \1 has size \3 for operand 1 which does not broadcast with previously seen size \2"),
    (r"einsum: .* has (\d+) terms, but (\d+) operands were given",
     lambda terms, given: f"einsum(): {'fewer' if int(given) < int(terms) else 'more'} operands were provided than "
     "specified in the equation"),
    (r"einsum: the output label '(\w)' .* occurs in no operand",
     r"einsum(): output subscript \1 does not appear in the equation for any input operand"),
    (r"einsum: the term '(\w*)' does not fit an operand with (\d+) axes",
     lambda term, ndim: f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number "
     f"of dimensions ({ndim}) for operand 0 and no ellipsis was given"),
    (r"topk: an axis of length", "selected index k out of range"),
    (r"diag: expected a vector or a matrix, got (\d+) axes", r"diag(): Supports 1D or 2D tensors. Got \1D"),
    (r"fill_: the value must be one number, got \w+(\[.*\])",
     lambda shape: f"fill_ only supports 0-dimension value tensor but got tensor with {len(_lengths(shape))} "
     "dimensions."),
    (r"cross_entropy: a target lies outside", "is out of bounds."),
    (rf"cross_entropy: targets of shape {_SHAPE} do not fit scores of shape {_SHAPE}",
     lambda targets, scores: f"Expected input batch_size ({_lengths(scores)[0]}) to match target batch_size "
     f"({(_lengths(targets) or [1])[0]})."),
    (rf"linear: an input of shape {_SHAPE} and a weight of shape {_SHAPE} do not fit",
     lambda x, w: _product(x, str(_lengths(w)[::-1]))),
    (rf"layer_norm: the last axes of an array of shape {_SHAPE} are not {_SHAPE}",
     lambda x, axes: f"Given normalized_shape={_listed(axes)}, expected input with shape [*, {_listed(axes)[1:]}, but "
     f"got input of size{_listed(x)}"),
    (r"conv\dd: (\d+) channels in (\d+) groups do not fit a weight of shape (\(.*?\))",
     lambda channels, groups, w: f"Given groups={groups}, weight of size {_listed(w)}, expected input"),
    (r"one_hot: classes must lie between", "Class values must be smaller than num_classes."),
    (r"dropout: p is a probability, got (.*)", r"dropout probability has to be between 0 and 1, but got \1"),
    (r"multinomial: weights must be finite", "probability tensor contains either `inf`, `nan` or element < 0"),
    (r"repeat: \((\d+),\) counts were given for an axis of length (\d+)",
     r"repeats must have the same size as input along dim, but got repeats.size(0) = \1 and input.size(0) = \2"),
    (r"cannot do a non-empty take from an empty ax[ei]s", "is out of bounds for dimension with size 0"),
    (r"'\w+' object cannot be interpreted as an integer",
     "slice indices must be integers or None or have an __index__ method"),
    (r"only int indices permitted", "expected 'indices' to be integer dtype"),
    (r"inputs\[(\d+)\] was not used to compute the outputs",
     r"The differentiated Tensor at index \1 appears to not have been used in the graph. Set allow_unused=True if this "
     r"is the desired behavior."),
    (r"output (\d+), \S+, does not require grad and has no grad_fn",
     r"element \1 of tensors does not require grad and does not have a grad_fn"),
    (rf"grad_output (\d+) has shape {_SHAPE}, but the output has shape {_SHAPE}",
     r"Mismatch in shape: grad_output[\1] has a shape of torch.Size(\2) and output[\1] has a shape of torch.Size(\3)."),
    (rf"the grad has shape {_SHAPE}, but the tensor has shape {_SHAPE}",
     lambda given, own: f"attempting to assign a gradient of size '{_listed(given)}' to a tensor of size "
     f"'{_listed(own)}'. Please ensure that the gradient and the tensor are the same size"),
    (r"the grad has dtype (\w+), but this tensor expects (\w+)",
     lambda given, own: f"attempting to assign a gradient with dtype '{_IN_C.get(given, given)}' to a tensor with "
     f"grad_dtype '{_TYPES.get(own, own)}'."),
    (r"grad_dtype cannot be set to (\w+) while a grad of dtype (\w+) is present",
     lambda new, old: f"Cannot set grad_dtype to '{_TYPES.get(new, new)}' because there is already a gradient with "
     f"dtype '{_TYPES.get(old, old)}'."),
    (r"hook '(.*)' replaced a gradient", r"hook '\1' has changed the size of value"),
    (r"^(\w+): out= cannot be used when an input",
     r"\1(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
     r"requires grad."),
    (r"data-dependent control flow on a tensor",
     "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
     "yet"),
    (r"item\(\) on a Tensor \S+ inside vmap",
     "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
     ".item() on a Tensor, please try to rewrite what you're doing with other operations."),
    (r"(\w+) has a dynamic shape inside vmap",
     r"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::\1."),
    (r"randomness must be 'error', 'different' or 'same', got '(.*)'",
     r"Only allowed values for randomness are 'error', 'different', or 'same'. Got \1"),
    (r"called random operation while in randomness error mode",
     "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside "
     "of vmap as a workaround"),
    (r"^(\w+): an out= function does not support forward mode or vmap",
     r"Batching rule not implemented for aten::\1.out; the fallback path doesn't work on out= or view ops"),
    (r"saved (\d+) values in the forward and (\d+) when it was run again",
     lambda first, second: "trying to save more tensors during recomputation than during the original forward pass."
     if int(second) > int(first)
     else "A different number of tensors was saved during the original forward and recomputation."),
    (r"saved values of another shape or dtype", "Recomputed values for the following tensors have different metadata "
     "than during the forward pass."),
    (r"use_reentrant=True is incompatible with", "torch.utils.checkpoint is incompatible with .grad() or passing an "
     "`inputs` parameter to .backward()"),
    # Transforms
    (rf"grad: Expected f\(\*args\) to return a scalar, .* got \w+{_SHAPE}", _not_scalar),
    (r"grad: Expected f\(\*args\) to return a Tensor, got (\w+)",
     r"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got <class '\1'>"),
    (r"grad: Expected f\(\*args\) to return a real scalar, got dtype (\w+)",
     r"grad can be implicitly created only for real scalar outputs but got torch.\1"),
    (r"grad: output of function f should be a tuple",
     "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"),
    (r"^(vjp|jacrev): output of function f should be a tuple",
     "vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True"),
    (r"^(jvp|jacfwd): output of function f should be a tuple",
     "jvp(f, primals, tangents): output of function f should be a tuple: (output, aux) if has_aux is True"),
    (r"^(vjp|jacrev): Expected f to be a function that has non-empty output",
     "vjp(f, *primals): Expected f to be a function that has non-empty output (got output = None)"),
    (r"^(jvp|jacfwd): Expected f to be a function that has non-empty output",
     "jvp(f, primals, tangents): Expected f to be a function that has non-empty output (got output = None)"),
    (r"^(?:vjp|jacrev): expected f\(\*primals\) to return only tensors, got (\w+)",
     r"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type <class '\1'>"),
    (r"^(?:jvp|jacfwd): expected f\(\*primals\) to return only tensors, got (\w+)",
     r"jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type <class '\1'>"),
    (r"argument \d+ is u?int\d*\S*, and must be", "only Tensors of floating point dtype can require gradients"),
    (r"got argnums=(-?\d+), but only (\d+) positional", r"Got argnum=\1, but only \2 positional inputs"),
    (r"vmap: Got in_dim=0 for an input but the input is of type (\w+)",
     r"Got in_dim=0 for an input but the input is of type <class '\1'>. We cannot vmap over non-Tensor arguments, "
     r"please use None as the respective in_dim"),
    (r"an input of the Function \w+ is dual, but it has no forward rule",
     "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."),
    (r"a Function must define a static method `forward`",
     "You must implement the forward function for custom autograd.Function."),
    (r"must define a static method `backward` to be differentiated",
     "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
     "mode AD."),
    (r"ctx.save_for_backward takes Tensors or None, got (\w+)",
     r"save_for_backward can only save variables, but argument 0 is of type \1"),
    (r"backward of \w+ returned an? (\w+), expected a Tensor or None", r"expected Variable or None (got \1)"),
    (r"vmap: got no inputs", "got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
     "function with no inputs. The latter is unsupported."),
    (r"Got in_dim=(-?\d+) for some input, but that input is a Tensor of dimensionality (\d+); expected (.*?) <= in_dim",
     r"Got in_dim=\1 for some input, but that input is a Tensor of dimensionality \2 so expected in_dim to satisfy "
     r"\3 <= in_dim < \2."),
    (r"vmap: Dimension out of range: out_dims (-?\d+) for an output of (\d+) axes",
     lambda dim, ndim: _axis_range(dim, str(int(ndim) + 1))),
    (r"must only return Tensors, got type <class '(\w+)'>",
     r"must only return Tensors, got type <class '\1'>. Did you mean to set out_dims= to None for output?"),
    (r"cannot return a BatchedTensor when out_dim is None", "can not return a BatchedTensor when out_dim is None"),
    (r"jvp: Expected primals to be a tuple", "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it "
     "should be valid to call f(*primals)."),
    (r"jvp: Expected primals and tangents to have the same python structure",
     "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
     "primals is a tuple of 3 tensors, tangents also must be."),
    (r"jvp: Expected primals to have at least one Tensor",
     "jvp(f, primals, tangents): Expected primals to contain at least one Tensor."),
    (rf"Mismatch in shape: cotangent (\d+) has shape {_SHAPE}, but the output has shape {_SHAPE}",
     r"Mismatch in shape: grad_output[\1] has a shape of torch.Size(\2) and output[\1] has a shape of torch.Size(\3)."),
    (r"Expected pytree structure of cotangents",
     "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function."),
    (rf"of v has invalid size: should be {_SHAPE} but got {_SHAPE}",
     r"v has invalid size: should be torch.Size(\1) but got torch.Size(\2)."),
    (r"gradcheck expects at least one input Tensor that requires grad",
     "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."),
    (r"\.grad must be a Tensor or None, got (\w+)",
     r"assigned grad expected to be a Tensor or None but got grad of type \1"),
    (r"\.data must be a Tensor, got (\w+)", r"Variable data has to be a tensor, but got \1"),
    (r"hook '.*' returned (\w+), expected a Tensor or None", r"expected Variable, but hook returned '\1'"),
)  # fmt: skip
