"""Which rule of a payload evaluates an operator: one for its name, one for a group of it, or the default of the class.

Groups follow from the declarations (`declare/groups.py`), so that no class needs to know the operators that Pullback
uses inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from pullback.declare.groups import GROUPS, groups_of, names_of, public_name
from pullback.declare.op import Op, registry
from pullback.errors import AutogradError
from pullback.payloads.evaluate import OnTensors, evaluate
from pullback.payloads.operators import function_called

Rule = Callable[..., Any]


class Call:
    """An operator with its parameters, to be called on other operands. `op` is its declaration."""

    __slots__ = ("op", "params")

    def __init__(self, op: Op, params: dict[str, Any]) -> None:
        self.op = op
        self.params = params

    @property
    def name(self) -> str:
        """What users call the operator."""
        return public_name(self.op)

    def __call__(self, *operands: Any, **changed: Any) -> Any:
        """The operator on these operands, payloads or tensors. Parameters may be changed."""
        params = {**self.params, **changed} if changed else self.params
        for x in operands:
            if hasattr(type(x), "grad_fn"):  # payloads do not know tensors, which lie above
                return self.op.run(operands, params)
        return self.on_payloads(operands, params)

    def on_payloads(self, operands: Any, params: dict[str, Any]) -> Any:
        """The operator on operands that are no tensors."""
        try:
            return evaluate(self.op, operands, params)
        except OnTensors as rule:  # of a part, and there are no tensors of parts
            raise AutogradError(rule.code, rule.what, why=rule.why, fix=rule.fix) from None

    @staticmethod
    def run(name: str, *operands: Any, **params: Any) -> Any:
        """Another function of Pullback on arrays or payloads: `call.run("where", mask, 0, x.values)`."""
        return run(name, *operands, **params)

    def __repr__(self) -> str:
        return f"<call of {self.name}>"


def run(name: str, *operands: Any, **params: Any) -> Any:
    """A function of Pullback, by name, on arrays or payloads."""
    arrays = [np.asarray(x) if isinstance(x, bool) else x for x in operands]
    return as_payloads(function_called(name)(*arrays, **params))


def check_keys(kind: Any, keys: Sequence[str], on: str) -> None:
    """Raise if a rule is for nothing: keys are groups or names of operators, some of which are declared late."""
    if on not in ("payloads", "tensors"):
        raise ValueError(f'{kind.__name__}.rule: a rule runs on "payloads" or on "tensors", got {on!r}')
    if not keys:
        raise TypeError(f"{kind.__name__}.rule: a rule is for groups or operators; groups are {', '.join(GROUPS)}")
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(f"{kind.__name__}.rule: a group or operator is a string, got {key!r}")


def rules_for(kind: Any, op: Op) -> list[tuple[str, Rule]]:
    """The rules of a class for an operator, the narrowest first, with the names that they were given for."""
    found: list[tuple[str, Rule]] = []
    for key in (*names_of(op), *groups_of(op)):
        for base in kind.__mro__:
            rule = base.__dict__.get("_rules", {}).get(key)
            if rule is not None:
                found.append((key, rule))
                break
    return found


def evaluate_by_rules(payload_class: Any, op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result of an operator by the rules of the payloads among its operands."""
    kinds = [type(x) for x in operands if isinstance(x, payload_class)]
    if len(kinds) > 1:
        kinds = _in_order(kinds)
    call = Call(op, params)
    for kind in kinds:
        for _, rule in kind.rules_of(op):
            if getattr(rule, "on_tensors", False):
                raise OnTensors(call.name, kind.__name__, lambda *tensors, rule=rule: rule(call, *tensors, **params))
            out = rule(call, *operands, **params)
            if out is not NotImplemented:
                return as_payloads(out)
    outer = kinds[0]
    if len(kinds) > 1:
        outer = _enclosing(kinds, operands)
    default = outer.default
    if default == "each":
        return _each(outer, call, operands)
    if default == "unwrap":
        return call(*[x.to_plain() if isinstance(x, outer) else x for x in operands])
    raise refusal(outer, op)


def _in_order(kinds: list[Any]) -> list[Any]:
    """Each class once, from left to right, but a subclass before its bases."""
    if kinds.count(kinds[0]) == len(kinds):
        return kinds[:1]
    distinct = list(dict.fromkeys(kinds))
    return sorted(distinct, key=lambda kind: -sum(other is not kind and issubclass(kind, other) for other in distinct))


def _enclosing(kinds: list[Any], operands: Any) -> Any:
    """The class of payloads whose parts are of all the other classes; an error if there is none."""
    for kind in kinds:
        inner = {type(part) for x in operands if type(x) is kind for part in x.part_values()}
        if all(other is kind or issubclass(kind, other) or other in inner for other in kinds):
            return kind
    first, second = kinds[:2]
    raise AutogradError(
        "KIND_MIX",
        f"an operator is given a {first.__name__} and a {second.__name__}",
        why="neither class has a rule that takes the other",
        fix=f"write a rule of {first.__name__} that does, or convert one of them",
    )


def _each(kind: Any, call: Call, operands: Any) -> Any:
    """The operator on every part."""
    like: Any = None
    rows: list[Iterable[Any]] = []
    for x in operands:
        if isinstance(x, kind):
            rows.append(kind.taken_apart(x))
            like = x if like is None else like
        else:
            rows.append(repeat(x))
    columns = [call.on_payloads(column, call.params) for column in zip(*rows, strict=False)]
    if isinstance(columns[0], tuple):
        return tuple([like.with_parts(*parts) for parts in zip(*columns, strict=True)])
    return like.with_parts(*columns)


def as_payloads(out: Any) -> Any:
    """What a rule returned, numbers as arrays."""
    if isinstance(out, (tuple, list)):
        return tuple([as_payloads(part) for part in out])
    return out if hasattr(out, "dtype") and not isinstance(out, np.generic) else np.asarray(out)


def refusal(kind: Any, op: Op) -> AutogradError:
    """The error for an operator that a class has no rule for."""
    name, groups = public_name(op), groups_of(op)
    given = ", ".join([*op.operands])
    return AutogradError(
        "WRAPPER_OP",
        f"{name} of a {kind.__name__}: the class has no rule for it",
        why=f'there is none for its name, nor for its groups {", ".join(groups)}, and default is "{kind.default}"',
        fix=f'@{kind.__name__}.rule("{name}")\ndef {name.replace(".", "_")}(call, {given}, **params): ...\n'
        f'or, for more operators at once, @{kind.__name__}.rule("{groups[0]}")'.replace("\n", "\n        "),
    )


def coverage(kind: Any) -> dict[str, str]:
    """Every declared operator with the rule that evaluates it: the key of the rule, or the default."""
    return {
        public_name(op): rules[0][0] if (rules := rules_for(kind, op)) else f"default: {kind.default}"
        for op in registry.values()
        if not op.takes_payloads
    }
