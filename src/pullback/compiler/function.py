"""`NativeFunction`: the text of a module and its interface, made a function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.compiler.machine import jit, structs
from pullback.compiler.machine.entry import Interface, MachineCode, Text, Wrapper, entry_function, portable_function

Wrapping = tuple[type, str, dict[int, dict[str, Any]]]
"""A class, its slot for the array, and by number of an output what is in other slots: see `Wrapper`."""


class NativeFunction:
    """A function of arrays that returns a tuple: `call`, by the C entry where there is one."""

    def __init__(self, text: Text, interface: Interface, effort: int | None = None, portable: bool = False) -> None:
        self.text, self.interface = text, interface
        self.code = MachineCode(text, effort, interface.work)
        self.call: Callable[..., tuple[Any, ...]] = portable_function(interface, self.code)
        self.has_entry = not portable and structs.are_as_expected() and _has_plain_dtypes(interface)
        if self.has_entry:
            self.call = entry_function(interface, self.code, self.call)

    def guarded(
        self, miss: Any, places: list[tuple[str, int]], wrapping: Wrapping | None
    ) -> tuple[Callable[..., Any], list[tuple[str, int]]] | None:
        """See `NativeGraph.guarded`; None if only Python could tell. `places` are those of the outputs."""
        if not self.has_entry:
            return None

        def slow(*arrays: Any) -> Any:
            self.code.improve_if_due()
            return miss

        wrapper = None
        if wrapping is not None:
            kind, data, fields = wrapping
            own: list[dict[str, Any]] = [{} for _ in self.interface.results]
            places = list(places)
            for output, (source, number) in enumerate(places):
                if source == "result" and output in fields and not own[number]:
                    own[number] = fields[output]
                    places[output] = ("wrapped" if len(own) > 1 else "alone", number)
            wrapper = Wrapper(kind, data, tuple(own))
        return entry_function(self.interface, self.code, slow, structs.WRITEABLE, wrapper), places

    def or_else(self, slow: Callable[..., Any], finite: bool) -> Callable[..., Any] | None:
        """As `call`, with `slow` for arrays that are not as the graph says, and with `finite` for results that are not
        finite; None if only Python could tell."""
        return entry_function(self.interface, self.code, slow, finite=finite) if self.has_entry else None

    @property
    def llvm_ir(self) -> str:
        """The text that LLVM gets."""
        return jit.assembled(*self.text)


def _has_plain_dtypes(interface: Interface) -> bool:
    """Are all dtypes those objects that NumPy gives to every new array? The entry compares their numbers alone."""
    return all(type_.dtype is np.dtype(type_.dtype.char) for type_ in (*interface.inputs, *interface.results))
