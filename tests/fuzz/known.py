"""Differences that are meant, each with the place where it is written down. Everything else is a finding."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A difference: of which tester, in which programs, with which disagreement (patterns), and why it is meant."""

    tester: str
    program: str
    disagreement: str
    why: str


FLOW = r"pb\.(cond|scan|while_loop|fori_loop)"
KNOWN = [
    Known("derivatives", r"stop_gradient", "against differences", "has no derivative, on purpose"),
    Known("protocol", r"logaddexp", "(dtype|values): .*float16", "truth values are of the default dtype"),
    Known("derivatives", r"ste_", "against differences", "passes gradients straight through, on purpose"),
    Known("derivatives", r"reshape", "vmap of grad.*VIEW_OF_LEAF", "one example may be a view: refused"),
    Known("protocol", r"np\.nan(mean|std|var).*where=", "shape", "NumPy does not ask what `where` is"),
    Known("protocol", r"np\.nan(quantile|percentile)", r"shape: .*array\(\[\]", "of nothing NumPy forgets how many"),
    Known("protocol", r"np\.linalg\.pinv", "values", "the standard's tolerance: docs/coming-from-numpy.md"),
    Known("protocol", r"vecdot|vecmat|matvec|tensordot", r"nan.*->.*inf", "how infinite complex numbers multiply"),
    Known("protocol", "", "MemoryError", "a result too large for the tester's process"),
    Known("aliasing", r"autograd\.grad", "strides", "how a gradient lies in memory: docs/design/ahead-of-time.md"),
    Known("protocol", r"\w\[.*\] \S= ", "Cannot cast ufunc", "an element is a view: docs/coming-from-numpy.md"),
    Known("protocol", r"np\.unique", "shape", "NumPy counts complex numbers of the other byte order wrongly"),
    Known("derivatives", r"np\.sign|\.sign", "0.0 -> nan", "backward does not multiply with 0"),
    Known("protocol", r"divmod|floor_divide", "values", "the array API standard: docs/coming-from-numpy.md"),
    Known("protocol", r"np\.as(contiguous|fortran)array", "NUMPY_ON_GRAD", "refused, with the reason"),
    Known("derivatives", r"pb\.nn\.", "VMAP_RANDOMNESS", "random numbers are drawn"),
    Known(
        "aliasing",
        r"detach_\(\).*requires_grad_\(\).*order 2",
        "of the backward: gradient",
        "eager code keeps the tensor itself, which requires grad again when the backward pass is differentiated",
    ),
    Known(
        "aliasing",
        r"\[\], float",
        "which tensors have gradients|requires_grad",
        "arguments without elements share no memory, so a compiled function does not know one as a view of the other",
    ),
    Known(
        "compiled", "", "error: .* -> backward: HigherOrderError", "refused: docs/ahead-of-time.md, higher derivatives"
    ),
    Known(
        "compiled",
        "",
        "error: call: IndexError.* -> no error",
        "what nobody reads is not computed: docs/design/ahead-of-time.md",
    ),
    Known(
        "compiled", r"pb\.(cond|while_loop)", "requires_grad", "which branch runs is known later: docs/control-flow.md"
    ),
    Known(
        "compiled derivatives", FLOW, "make them alike", "both branches return the same dtypes: docs/control-flow.md"
    ),
    Known("derivatives", r"\.backward\(", "BACKWARD_IN_TRANSFORM", "refused: docs/transforms.md"),
    Known("derivatives", "requires_grad_", "FLAG_IN_TRANSFORM", "refused, with the reason"),
    Known("derivatives", "", "vmap of grad.*OUT_TRANSFORM", "refused: docs/transforms.md, what may be written"),
    Known("derivatives", "special", "has no derivative by its argument", "refused, with the reason"),
    Known("derivatives", "", "CAPTURE_MUTATED", "refused: docs/differences.md, F13"),
    Known(
        "derivatives", r"\.detach\(\)", "checkpoint against.*VERSION", "an argument was written behind the tape's back"
    ),
    Known("protocol", r"np\.clip", "complex numbers have no order", "refused, with the reason"),
    Known(
        "protocol", r"np\.(linalg\.eigvals|roots)", "dtype", "eigenvalues are always complex: docs/coming-from-numpy.md"
    ),
    Known("protocol", r"np\.roots\(\[", "float16 is unsupported", "numbers in a list give way to the tensors in it"),
    Known("protocol", r"np\.linalg\.lstsq", r"dtype: .*np\.int32", "a rank is an int64: docs/coming-from-numpy.md"),
    Known("protocol", r"np\.einsum.*dtype=", "dtype", "NumPy ignores dtype= where it gives a view"),
    Known("protocol", r"np\.unique_values", "values", "in ascending order: docs/coming-from-numpy.md"),
    Known("protocol", r"np\.polymul", "shape", "zeros in front are kept: docs/coming-from-numpy.md"),
    Known("protocol", r"np\.interp.*period", "values", "keys that are equal modulo the period have no order"),
    Known("protocol", r"quantile|percentile", r"values: .*nan.*inf", "infinite elements: docs/coming-from-numpy.md"),
    Known("protocol", r"np\.searchsorted.*sorter", "values", "what is not sorted has no place to insert at"),
    Known("protocol", r"np\.(corrcoef|cov)", r"dtype: .*shape=\(0, 0\)", "NumPy's covariance of nothing is real"),
    Known("protocol", r"np\.copyto", "read-only", "NumPy does not notice if nothing changes"),
    Known("protocol", "", "OVERLAP_WRITE", "writes to broadcast memory are refused: docs/differences.md, §7.8"),
    Known("protocol", "", "is not a function that Pullback can differentiate", "refused, with the reason"),
    Known(
        "protocol", r"np\.as(contiguous|fortran)array", "array in place", "NumPy does not dispatch these: they convert"
    ),
    Known(
        "derivatives",
        "",
        "vmap of grad.*VMAP_(DYNAMIC_SHAPE|DATA|INPLACE|PICKED)",
        "docs/transforms.md: shapes must not depend on values",
    ),
]


def is_known(program: Any, found: Any) -> bool:
    """Is this documented? `found` is a disagreement about the program."""
    text = "\n".join((*program.setup, *program.body)) if hasattr(program, "setup") else program.source()
    told = f"{found.where}: {found.what}: {found.wanted} -> {found.found}"
    return any(
        program.tester in each.tester.split()
        and re.search(each.program, text, re.DOTALL)
        and re.search(each.disagreement, told, re.DOTALL)
        for each in KNOWN
    )
