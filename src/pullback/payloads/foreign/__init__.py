"""The payload of tensors on arrays of other libraries, complete: `ForeignArray` with its operators.

| module       | what                                                                                   |
|--------------|----------------------------------------------------------------------------------------|
| kinds        | what is known of a library, and the table of libraries                                   |
| array        | the array, its views, and writes to them                                                |
| members      | NumPy's methods and operators on it                                                     |
| numpy_names  | NumPy's functions on one device; `ufuncs`, `reductions`, `matrices`, `einsum` are parts   |
| kernels      | declared kernels with these functions in place of NumPy's                                |
| evaluate     | evaluating an operator                                                                  |
| transfer     | moving arrays between libraries, devices and the host                                    |
| modes        | `no_sync`, `on_host`                                                                    |
| generators   | random numbers of other libraries' generators                                           |
| libraries/   | what torch, JAX, dask and others do otherwise than the array API standard says          |
"""

from __future__ import annotations

from pullback.payloads.evaluate import innermost
from pullback.payloads.foreign.array import ForeignArray, taken_over, uploaded, wrapped
from pullback.payloads.foreign.evaluate import evaluate_foreign
from pullback.payloads.foreign.kinds import Kind, is_kind, kind_named, kind_of, register_kind
from pullback.payloads.foreign.members import bind
from pullback.payloads.foreign.transfer import moved

__all__ = [
    "ForeignArray", "Kind", "is_kind", "kind_named", "kind_of", "moved", "register_kind", "taken_over", "uploaded",
    "wrapped",
]  # fmt: skip

ForeignArray.evaluate_op = staticmethod(evaluate_foreign)
innermost.add(ForeignArray)
bind()
