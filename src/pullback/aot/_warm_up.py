"""`CompiledFunction.warm_up`: everything that calls would wait for is made before the first of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.aot._guards import call_key
from pullback.aot._surroundings.arguments import given
from pullback.core.doors import door
from pullback.core.progress import Progress, shown
from pullback.core.reports import compiling, reported

_EFFORTS = ("quick", "good")


class Again(Exception):
    """A call begins again: something that it finds is an argument from now on."""


class WarmUp:
    """The part of `CompiledFunction` that compiles without a call."""

    _name: str
    _is_off: bool
    _found: Callable[..., Any]
    _compile: Callable[..., Any]
    _flattened: Callable[..., tuple[list[Any], Any]]

    @door
    def warm_up(self, *args: Any, effort: str = "good", progress: Progress = None, **kwargs: Any) -> None:
        """Capture and compile for arguments like these, forward and backward, without calling the function.

        The first calls with a new kind of arguments run code that is made quickly, and good code takes its place when
        they are many. With `effort="good"` it is made now, so that no call of a loop waits for it or runs more slowly
        than others; "quick" leaves it for later. `progress` says how far that is: True shows a bar, a function is
        called with `(done, total, label)`.

        >>> f = pb.compile(lambda x: (x * x).sum())
        >>> f.warm_up(pb.ones(3))
        >>> f.cache_info().misses, f(pb.ones(3)), f.cache_info().misses
        (1, tensor(3.), 1)
        """
        if effort not in _EFFORTS:
            raise ValueError(f"warm_up: effort must be one of {', '.join(map(repr, _EFFORTS))}, got {effort!r}")
        if self._is_off:
            return
        entry = self._ready(args, kwargs)
        if getattr(entry, "partition", None) is not None:
            for defined in {entry.first_alone, (True,) * len(entry.first_alone)}:
                entry.backward_for(defined)
        if effort == "quick":
            return
        made = [each for _, each in getattr(entry, "compiled", ())]
        codes = [code for each in made for code in getattr(each, "codes", ()) if code.is_quick]
        with shown(progress, len(codes), f"compiling {self._name}") as bar, compiling(self._name):
            for number, code in enumerate(codes):
                with reported(f"LLVM {number + 1} of {len(codes)}"):
                    code.finish()
                bar.advance()

    def _ready(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call with these arguments would find or make."""
        leaves, structure = self._flattened(args, kwargs)
        key = call_key(leaves, structure)
        try:
            with given(args, kwargs):
                return self._found(key, leaves) or self._compile(key, leaves, structure)
        except Again:
            return self._ready(args, kwargs)
