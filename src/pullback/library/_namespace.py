"""`pb.ops`: custom operators by namespace and name."""

from __future__ import annotations

from typing import Any

from pullback.library._errors import BindError
from pullback.library._operator import CustomOpDef, operators


class Packet:
    """All overloads of one operator. Calling it picks the first whose schema takes the arguments."""

    def __init__(self, namespace: str, name: str) -> None:
        self.__name__ = name
        self._qualname = f"{namespace}::{name}"

    def _found(self) -> dict[str, CustomOpDef]:
        prefix = f"{self._qualname}."
        return {
            name[len(prefix) :] or "default": op
            for name, op in operators.items()
            if name == self._qualname or name.startswith(prefix)
        }

    def overloads(self) -> list[str]:
        """The names of the overloads, in the order of definition."""
        return list(self._found())

    def __getattr__(self, name: str) -> CustomOpDef:
        if not name.startswith("__"):
            found = self._found().get(name)
            if found is not None:
                return found
        raise AttributeError(f"{self._qualname} has no overload {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._found()
        if len(found) == 1:
            (only,) = found.values()
            return only(*args, **kwargs)
        reasons: dict[str, str] = {}
        for coerce in (False, True):
            for name, op in found.items():
                try:
                    values, keywords = op.bind(args, kwargs, coerce)
                except BindError as error:
                    reasons[name] = str(error)
                else:
                    return op.call_bound(values, keywords)
        listed = "\n".join(f"  {name}: {reason}" for name, reason in reasons.items())
        raise BindError(f"{self._qualname}: the arguments failed to match any schema of the overloads\n{listed}")

    def __repr__(self) -> str:
        return f"<OpPacket({self._qualname})>"


class Namespace:
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Packet:
        if any(op.namespace == self._name and op.name == name for op in operators.values()):
            return Packet(self._name, name)
        raise AttributeError(f"there is no operator {self._name}::{name}")

    def __dir__(self) -> list[str]:
        return sorted({op.name for op in operators.values() if op.namespace == self._name})

    def __repr__(self) -> str:
        return f"<namespace {self._name}>"


class Namespaces:
    """Custom operators by name: `pb.ops.mine.cube` is `mine::cube`."""

    def __getattr__(self, name: str) -> Namespace:
        if any(op.namespace == name for op in operators.values()):
            return Namespace(name)
        raise AttributeError(f"there is no namespace {name!r} of custom operators")

    def __dir__(self) -> list[str]:
        return sorted({op.namespace for op in operators.values()})

    def __repr__(self) -> str:
        return "<custom operators>"


ops = Namespaces()
