"""`NativeFunction`: the text of a module and its interface, made a function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.compiler.llvm import jit, layouts
from pullback.compiler.llvm.entry import entry_function
from pullback.compiler.llvm.machine_code import MachineCode, Text
from pullback.compiler.llvm.native_call import Interface, portable_function


class NativeFunction:
    """A function of arrays that returns a tuple: `call`, by the C entry where there is one."""

    def __init__(self, text: Text, interface: Interface, effort: int | None = None, portable: bool = False) -> None:
        self.text, self.interface = text, interface
        self.code = MachineCode(text, effort, interface.work)
        self.call: Callable[..., tuple[Any, ...]] = portable_function(interface, self.code)
        self.has_entry = not portable and layouts.are_as_expected() and _has_plain_dtypes(interface)
        if self.has_entry:
            self.call = entry_function(interface, self.code, self.call)

    def guarded(self, miss: Any) -> Callable[..., Any] | None:
        """A function that returns `miss`, and does nothing, if an array is not writeable or not as the graph says.
        None if only Python could tell."""
        if not self.has_entry:
            return None

        def slow(*arrays: Any) -> Any:
            self.code.improve_if_due()
            return miss

        return entry_function(self.interface, self.code, slow, layouts.WRITEABLE)

    @property
    def llvm_ir(self) -> str:
        """The text that LLVM gets."""
        return jit.assembled(*self.text)


def _has_plain_dtypes(interface: Interface) -> bool:
    """Are all dtypes those objects that NumPy gives to every new array? The entry compares addresses."""
    return all(type_.dtype is np.dtype(type_.dtype.char) for type_ in (*interface.inputs, *interface.results))
