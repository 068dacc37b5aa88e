"""Every public function and method of Pullback that takes arrays, called with one or two: found by name, so that what
is added is drawn from then on. Calls that do not fit raise, and are drawn again."""

from __future__ import annotations

import inspect

import pullback as pb

from .phrases import Phrase

# What changes the process, asks for files, draws random numbers, or is no function of arrays.
LEFT_OUT = frozenset([
    "alpha_dropout", "apply_along_axis", "apply_over_axes", "apply_where", "array2string", "array_repr",
    "array_str", "as_strided", "as_strided_scatter", "bernoulli", "checkpoint", "compile", "cond", "device",
    "dropout", "dropout1d", "dropout2d", "dropout3d", "empty", "empty_like", "empty_permuted", "empty_strided",
    "enable_grad", "feature_alpha_dropout", "finfo", "fori_loop", "fractional_max_pool2d",
    "fractional_max_pool3d", "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring",
    "get_default_dtype", "get_num_threads", "get_printoptions", "gumbel_softmax", "iinfo", "inference_mode",
    "is_grad_enabled", "is_inference_mode_enabled", "is_native_eager", "lobpcg", "manual_seed",
    "may_share_memory", "multinomial", "new_empty", "no_grad", "pca_lowrank", "printoptions", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "rrelu", "scan",
    "scipy_value_and_grad", "set_default_dtype", "set_grad_enabled", "set_native_eager", "set_num_threads",
    "set_printoptions", "shares_memory", "stride", "strides", "svd_lowrank", "vectorize", "vmap", "while_loop",
])  # fmt: skip
METHODS_LEFT_OUT = LEFT_OUT | frozenset([
    "backward", "bernoulli_", "cauchy_", "data_ptr", "dump", "dumps", "exponential_", "geometric_", "is_shared",
    "item", "log_normal_", "normal_", "numpy", "pin_memory", "random_", "register_hook",
    "register_post_accumulate_grad_hook", "requires_grad_", "resize_", "resize_as_", "retain_grad", "set_",
    "share_memory_", "storage", "to_dlpack", "tobytes", "tofile", "tolist", "uniform_",
])  # fmt: skip
SPACES = ("", "linalg.", "fft.", "special.", "nn.", "signal.")


def calls() -> list[Phrase]:
    """One phrase or two for each function, and one for each method."""
    made = []
    for space in SPACES:
        module = getattr(pb, space.rstrip(".")) if space else pb
        names = getattr(module, "__all__", None) or dir(module)
        for name in sorted(names):
            if name.startswith("_") or name.rstrip("_") in LEFT_OUT or not is_function(getattr(module, name, None)):
                continue
            text = f"pb.{space}{name}"
            made += [Phrase(f"{text}({{f}})", ("axis={ax}",), 1.0), Phrase(f"{text}({{f}}, {{y}})", (), 0.5)]
            made.append(Phrase(f"{text}({{d}}, {{kk}})", (), 0.3))
    for name in sorted(dir(pb.Tensor)):
        if not name.startswith("_") and name not in METHODS_LEFT_OUT and callable(getattr(pb.Tensor, name, None)):
            made.append(Phrase(f"{{f}}.{name}()", (), 0.7))
            made.append(Phrase(f"{{f}}.{name}({{y}})", (), 0.4))
    return made


def is_function(value: object) -> bool:
    return callable(value) and not inspect.isclass(value) and not inspect.ismodule(value)
