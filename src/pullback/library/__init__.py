"""Operators of your own: foreign code that Pullback differentiates, maps, checks and traces without looking into it.

`custom_op`, `define` and `primitive` make operators; `register_autograd`, `register_jvp`, the pair
`impl_save_for_backward` and `impl_backward`, and the methods `defvjp`, `defjvp`, `defpartials` and `defvjp_all` give
them derivatives, of which one is enough. `opcheck` checks them, and `pb.ops` finds them by name.
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.library._check import opcheck
from pullback.library._define import (
    custom_op,
    define,
    impl_backward,
    impl_save_for_backward,
    primitive,
    register_autograd,
    register_effect,
    register_fake,
    register_jvp,
    register_kernel,
    register_vmap,
)
from pullback.library._effects import io_callback, pure_callback
from pullback.library._errors import (
    AliasError,
    BindError,
    DynamicOutputShapeError,
    FakeMismatchError,
    KernelResultError,
    OpCheckError,
    SchemaError,
)
from pullback.library._fake import ShapeDtype, get_ctx
from pullback.library._operator import CustomOpDef
from pullback.library._operator import teach_graphs as _teach_graphs
from pullback.library._schema import Number, device
from pullback.library._schema.infer import infer_schema

__all__ = [
    "AliasError",
    "BindError",
    "CustomOpDef",
    "DynamicOutputShapeError",
    "FakeMismatchError",
    "KernelResultError",
    "Number",
    "OpCheckError",
    "SchemaError",
    "ShapeDtype",
    "custom_op",
    "define",
    "device",
    "get_ctx",
    "impl_backward",
    "impl_save_for_backward",
    "infer_schema",
    "io_callback",
    "opcheck",
    "primitive",
    "pure_callback",
    "register_autograd",
    "register_effect",
    "register_fake",
    "register_jvp",
    "register_kernel",
    "register_vmap",
]
_explain_unknown(globals())

_teach_graphs()
