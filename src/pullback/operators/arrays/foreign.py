"""Tensors on arrays of other libraries: `pb.foreign`, and what is asked of them."""

from __future__ import annotations

from typing import Any

from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.eager.record import new_tensor
from pullback.operators.arrays.joining import stack
from pullback.payloads.devices import mix_error
from pullback.payloads.devices import set_default_device as set_device
from pullback.payloads.foreign import kind_of, taken_over
from pullback.tape.tensor_members import requires_grad_
from pullback.tensors.tensor import Tensor, from_outside, meta_of


@composite(arrays=0)
def foreign(
    array: Any, *, copy: bool = False, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """A tensor on an array of another library, which stays where it is: torch, JAX, dask, or any library that
    follows the array API standard. Results and gradients are arrays of that library, too.

    The array's memory is shared, and written by in-place operations where the library's arrays can be written;
    `copy=True` copies it within the library. A list of such arrays is stacked there.

    >>> import array_api_strict
    >>> pb.foreign(array_api_strict.asarray([1.0, 2.0])) * 2
    tensor([2., 4.], device='strict:cpu')
    """
    if isinstance(array, (list, tuple)):
        parts = [foreign(each) for each in array]
        for each in parts[1:]:
            if each.device is not parts[0].device:
                raise mix_error(str(parts[0].device), str(each.device))
        made = stack(parts)
    else:
        kind = kind_of(array)
        if kind is None:
            raise TypeError(
                f"foreign: a {type(array).__name__} is not an array of a library that Pullback knows; NumPy's arrays "
                "and lists are for pb.tensor and pb.asarray, and libraries are made known by pb.interop.register_kind"
            )
        made = new_tensor(taken_over(array, kind, copy), current())
        if not copy:
            from_outside(made)
    if requires_grad:
        requires_grad_(made, requires_grad)
    if name is not None:
        meta_of(made).name = name
    return made


@composite(arrays=0)
def set_default_device(device: Any) -> None:
    """New tensors that are made of numbers and shapes lie on this device from now on; None is the CPU.

    `with pb.device(d):` does so for a block of code.

    >>> pb.set_default_device("cpu")
    >>> pb.zeros(2).device
    device('cpu')
    """
    set_device(device)
