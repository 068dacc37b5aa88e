"""Places whose contents are others at every call: what is there becomes an argument.

A number or a tensor that a function finds around it is guarded when the function is first captured: most never change.
One that does (a learning rate that decays, `self.momentum`, the step of an optimiser) is read before every call from
then on, and given to the function as if it were an argument behind the others. So it is what an argument is: a number
has a stand-in and any value, a tensor is an input of the graph, and which of them is also given otherwise is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pullback.aot._call.fast_call import MISS
from pullback.aot._numbers.program import is_number
from pullback.aot._surroundings.places import RAISED, Place, differs, moved_parts
from pullback.core.state import current
from pullback.errors import HigherOrderError
from pullback.tensors.tensor import Tensor

_MOST = 64


def varied(places: Iterable[Place]) -> list[Place]:
    """The places that hold another number or tensor now, those in containers included."""
    return [each for place in places for each, new in moved_parts(place) if _can_vary(each.value, new)]


def _can_vary(old: Any, new: Any) -> bool:
    return (is_number(old) and is_number(new)) or (type(old) is Tensor and type(new) is Tensor)


def with_more(function: Callable[..., Any], known: Varying | None, places: list[Place]) -> Varying | None:
    """A function with more places as arguments than are known so far; None if there are none, or too many."""
    before = [] if known is None else known.places
    identities = {place.identity for place in before}
    new = {place.identity: place for place in places if place.identity not in identities}
    return Varying(function, [*before, *new.values()]) if new and len(before) + len(new) <= _MOST else None


class Varying:
    """A function of its arguments and, last of all, of a tuple with what is in these places."""

    def __init__(self, function: Callable[..., Any], places: list[Place]) -> None:
        self.function = function
        self.places = places
        scope: dict[str, Any] = {}
        parts = []
        for number, place in enumerate(places):
            scope[f"h{number}"], scope[f"k{number}"] = place.holder, place.key
            parts.append(place.expression(f"h{number}", f"k{number}"))
        exec(compile(f"def read(): return ({', '.join(parts)},)", "<pull of places>", "exec"), scope)
        self.read: Callable[[], tuple[Any, ...]] = scope["read"]

    def found(self) -> tuple[Any, ...] | None:
        """What is there now; None if one of the places is gone, or holds something of another kind."""
        try:
            found = self.read()
        except RAISED:
            return None
        return found if all(type(x) is Tensor or is_number(x) for x in found) else None

    def _is_found(self, then: tuple[Any, ...] | None) -> bool:
        """Is this, which was found before, still in the places?"""
        now = self.found()
        if now is None or then is None:
            return False
        return not any(a is not b and differs(a, b) for a, b in zip(now, then, strict=True))

    def while_found(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a capture for what is in the places now: None when something else is there."""
        then = self.found()
        return lambda *args: run(*args) if self._is_found(then) else None

    def quick(self, call: Callable[..., Any], count: int) -> Callable[[tuple[Any, ...]], Any]:
        """A fast path of the function with these arguments as one of the function without them, which comes with
        `count` positional ones."""
        read = self.read

        def with_places(args: tuple[Any, ...]) -> Any:
            try:
                found = read()
            except RAISED:
                return MISS
            return call((*args[:count], found, *args[count:]))

        return with_places

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function once more, for derivatives of its gradient, if it still finds what it found."""
        *own, then = args
        if not self._is_found(then):
            raise HigherOrderError(
                "a derivative of the backward pass was asked for of a compiled function that finds other values now",
                why="it is computed by running the function again, and what it reads from outside has changed since",
                fix="pass what changes as an argument",
            )
        return self.function(*own, **kwargs)

    def seen_by(self, see: Callable[..., Any]) -> Callable[..., Any]:
        """The function as a trace sees it, in which the places hold what is given."""
        seer: Any = current().trace.seer

        def run(*args: Any, **kwargs: Any) -> Any:
            *own, found = args
            seer.given = {place.identity: x for place, x in zip(self.places, found, strict=True)}
            return see(self.function)(*own, **kwargs)

        return run
