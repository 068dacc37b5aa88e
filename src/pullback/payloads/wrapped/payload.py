"""`Payload`: what a tensor computes with, made of parts, as users define it.

    class Pair(pb.Payload, parts=("a", "b")):
        default = "each"

    x = pb.wrap(Pair(a, b))

`parts` hold arrays or other payloads, `meta` is what else a payload is: values with equality and a hash. Everything
that has to be done with all parts (views, writes, batches, first gradients, copies, graphs) follows from the two.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from pullback.core.state import current
from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.payloads.batched.indexing import assign_widening
from pullback.payloads.evaluate import is_traced
from pullback.payloads.kinds import has_kind, is_users_own, no_memory
from pullback.payloads.wrapped.members import MEMBERS, aliases_payload
from pullback.payloads.wrapped.rules import Rule, check_keys, coverage, evaluate_by_rules, rules_for, run
from pullback.payloads.wrappers import is_array

_DEFAULTS = ("each", "refuse", "unwrap")


class Payload:
    """What a tensor computes with, made of parts. Derive from it, and make tensors with `pb.wrap`.

    | in a class               | what                                                                              |
    |--------------------------|-----------------------------------------------------------------------------------|
    | `parts=`, `meta=`        | names of the arrays or payloads it is made of, and of what else it is             |
    | `default`                | of operators without a rule: run on `"each"` part, `"refuse"`, or `"unwrap"`      |
    | `shape`, `dtype`         | those of the first part, unless overridden                                        |
    | `mutable_meta=`          | meta that a write to the whole array may replace                                  |
    | `batched_parts=`         | parts that `vmap` maps; otherwise those with as many axes as the payload          |
    | `dual_meta(value, root)` | static: meta of gradients of a value in a pass from a root, None if that is plain |
    | `check_gradient(value, gradient, root)` | static: the gradient, converted, or an error                       |
    | `from_plain(array, meta)`| static: a plain gradient as a payload                                             |
    | `to_plain()`             | the payload as a plain array, if it can be one                                    |
    | `to_numpy()`             | what `x.numpy()` returns                                                          |
    | `perturb()`              | names of the parts that `gradcheck` moves; otherwise those of real numbers        |

    >>> class Pair(pb.Payload, parts=("a", "b")):
    ...     default = "each"
    >>> x = pb.wrap(Pair([1.0, 2.0], [3.0, 4.0]))
    >>> x * 2
    tensor(Pair(a=array([2., 4.]), b=array([6., 8.])))
    """

    part_names: ClassVar[tuple[str, ...]] = ()
    meta_names: ClassVar[tuple[str, ...]] = ()
    mutable_meta: ClassVar[tuple[str, ...]] = ()
    batched_parts: ClassVar[tuple[str, ...] | None] = None
    default: ClassVar[str] = "refuse"
    Meta: ClassVar[Any]  # the tuple of the meta, with names
    from_plain: ClassVar[Any] = None
    taken_apart: ClassVar[Any]  # a function: the parts of one, in order
    _rules: ClassVar[dict[str, Rule]] = {}
    _found: ClassVar[dict[Op, list[tuple[str, Rule]]]] = {}

    def __init_subclass__(
        cls, parts: tuple[str, ...] | None = None, meta: tuple[str, ...] | None = None,
        mutable_meta: tuple[str, ...] | None = None, batched_parts: tuple[str, ...] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**options)
        if parts is not None:
            cls.part_names = tuple(parts)
        if meta is not None:
            cls.meta_names = tuple(meta)
        cls.mutable_meta = cls.mutable_meta if mutable_meta is None else tuple(mutable_meta)
        cls.batched_parts = cls.batched_parts if batched_parts is None else tuple(batched_parts)
        if not cls.part_names:
            raise TypeError(f'a payload is made of parts; write class {cls.__name__}(pb.Payload, parts=("a", "b"))')
        unknown = {*cls.mutable_meta} - {*cls.meta_names} | {*(cls.batched_parts or ())} - {*cls.part_names}
        if unknown:
            raise TypeError(f"{cls.__name__}: {', '.join(sorted(unknown))} are neither parts nor meta of it")
        taken = [name for name in (*cls.part_names, *cls.meta_names) if hasattr(Payload, name)]
        if taken:
            raise TypeError(f"{cls.__name__}: {', '.join(taken)} are members of every payload; choose other names")
        if cls.default not in _DEFAULTS:
            raise TypeError(f"{cls.__name__}: default is one of {', '.join(_DEFAULTS)}, got {cls.default!r}")
        if cls.default == "unwrap" and not callable(getattr(cls, "to_plain", None)):
            raise TypeError(f'{cls.__name__}: default="unwrap" wants a method to_plain()')
        cls.Meta = namedtuple("Meta", cls.meta_names)  # type: ignore[misc]
        cls.Meta.__module__, cls.Meta.__qualname__ = cls.__module__, f"{cls.__qualname__}.Meta"
        cls._rules = {}
        cls._found = {}
        apart = attrgetter(*cls.part_names)
        cls.taken_apart = staticmethod(apart if len(cls.part_names) > 1 else lambda payload: (apart(payload),))

    def __init__(self, *values: Any, **named: Any) -> None:
        names = (*self.part_names, *self.meta_names)
        given = dict(zip(names, values, strict=False)) | named
        if len(values) > len(names) or len(given) != len(values) + len(named) or {*given} != {*names}:
            got = ", ".join(given) or "nothing"
            raise TypeError(f"{type(self).__name__}: it is made of {', '.join(names)}, got {got}")
        for name, value in given.items():
            setattr(self, name, _as_part(value) if name in self.part_names else value)

    # Rules.

    @classmethod
    def rule(cls, *keys: str, on: str = "payloads") -> Callable[[Rule], Rule]:
        """Say how operators are evaluated: `keys` are names of operators, or of groups.

        The rule gets `call`, the operator with its parameters, then the operands as they are, and the parameters. It
        returns a payload, an array, a tuple with one for each output, or NotImplemented: then the next rule is asked.

        Derivatives are those of the operator. Where the rule means something else by it, as the mean of what is not
        masked, it is given with `on="tensors"`: it gets tensors, is written with functions of Pullback, and is
        differentiated as it is written. `pb.parts` takes a tensor apart.
        """
        check_keys(cls, keys, on)

        def attach(rule: Rule) -> Rule:
            if on == "tensors":
                rule.on_tensors = True  # type: ignore[attr-defined]
            cls._rules.update(dict.fromkeys(keys, rule))
            for kind in (cls, *subclasses(cls)):
                kind._found.clear()
            return rule

        return attach

    @classmethod
    def rules_of(cls, op: Op) -> list[tuple[str, Rule]]:
        """The rules for an operator, the narrowest first, with the names that they were given for."""
        found = cls._found.get(op)
        if found is None:
            found = cls._found[op] = rules_for(cls, op)
        return found

    @classmethod
    def coverage(cls) -> dict[str, str]:
        """Every operator that has been declared so far, with the rule that evaluates it."""
        return coverage(cls)

    @staticmethod
    def evaluate_op(op: Op, operands: Any, params: dict[str, Any]) -> Any:
        """The result of an operator, by the rules of the payloads among the operands."""
        return evaluate_by_rules(Payload, op, operands, params)

    run = staticmethod(run)

    # What it is made of.

    @property
    def shape(self) -> Any:
        """The shape of the first part."""
        return getattr(self, self.part_names[0]).shape

    @property
    def dtype(self) -> Any:
        """The dtype of the first part."""
        return getattr(self, self.part_names[0]).dtype

    @property
    def meta(self) -> Any:
        """What it is besides its parts, as a tuple with names."""
        return self.Meta(*[getattr(self, name) for name in self.meta_names])

    def part_values(self) -> list[Any]:
        """The parts, in order."""
        return list(self.taken_apart(self))

    def with_parts(self, *parts: Any, **meta: Any) -> Self:
        """The same on other parts, in order, or with other meta."""
        if meta or not parts:
            values = parts or tuple(self.part_values())
            return self._made(dict(zip(self.part_names, values, strict=True)), self.meta._replace(**meta))
        made = object.__new__(type(self))
        for name, part in zip(self.part_names, parts, strict=True):
            setattr(made, name, part if type(part) is np.ndarray else _as_part(part))
        if self.meta_names:
            for name in self.meta_names:
                setattr(made, name, getattr(self, name))
        return made

    @classmethod
    def _made(cls, parts: dict[str, Any], meta: Any) -> Self:
        made = object.__new__(cls)
        for name, part in parts.items():
            setattr(made, name, _as_part(part))
        for name, value in zip(cls.meta_names, meta, strict=True):
            setattr(made, name, value)
        return made

    def __tensor_flatten__(self) -> tuple[tuple[str, ...], Any]:
        return self.part_names, self.meta

    @classmethod
    def __tensor_unflatten__(cls, inner: dict[str, Any], meta: Any, size: Any, stride: Any) -> Any:
        return cls._made(inner, meta)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restored, (type(self), tuple(self.part_values()), tuple(self.meta))

    def __repr__(self) -> str:
        return self.__format_parts__()

    def __format_parts__(self) -> str:
        """The payload as tensors show it."""
        parts = [f"{name}={getattr(self, name)!r}" for name in (*self.part_names, *self.meta_names)]
        return f"{type(self).__name__}({', '.join(parts)})"

    # First gradients.

    def _numbers(self, shape: tuple[int, ...], make: Callable[[Any], Any], nested: Callable[[Any], Any]) -> Self:
        """The same payload with this shape and other numbers."""
        own, inner = tuple(self.shape), {}
        for name, part in zip(self.part_names, self.part_values(), strict=True):
            if has_kind(part):
                inner[name] = nested(part)
            elif not is_array(part):
                inner[name] = part
            elif shape != own and tuple(part.shape) != own:
                raise TypeError(
                    f"a {type(self).__name__} of shape {list(shape)} cannot be made of one of shape {list(own)}, whose "
                    f"part {name} has another shape; give the class methods zeros(shape, dtype) and ones(shape, dtype)"
                )
            elif part.dtype.kind in "fc":
                inner[name] = make(part)
            else:
                inner[name] = part if shape == own else np.broadcast_to(part, shape).copy()
        return self._made(inner, self.meta)

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Zeros of this kind."""
        return self._filled(0, tuple(shape), dtype)

    def ones(self, shape: Any, dtype: Any) -> Any:
        """Ones of this kind."""
        return self._filled(1, tuple(shape), dtype)

    def _filled(self, number: int, shape: tuple[int, ...], dtype: Any) -> Self:
        def made(part: Any) -> Any:
            lengths = shape if tuple(part.shape) == tuple(self.shape) else part.shape
            return _at_home(np.full(lengths, number, dtype if part.dtype == self.dtype else part.dtype))

        return self._numbers(shape, made, lambda part: (part.ones if number else part.zeros)(shape, dtype))

    def of_array(self, array: Any) -> Any:
        """A payload of this kind all of whose parts of numbers are this array."""

        def made(part: Any) -> Any:
            if tuple(part.shape) != tuple(self.shape):
                raise TypeError(
                    f"an array cannot be made a {type(self).__name__}, whose parts have different shapes; give the "
                    "class a method of_array(array)"
                )
            return _at_home(array.astype(part.dtype))

        return self._numbers(tuple(array.shape), made, lambda part: part.of_array(array))

    def hollow(self) -> Self:
        """The same without memory."""
        parts = []
        for name in self.part_names:
            part = getattr(self, name)
            if type(part) is not np.ndarray and has_kind(part):
                part = part.hollow()
            elif is_array(part) and part.dtype.kind in "fc":
                part = no_memory(part.shape, part.dtype)
            parts.append(part)
        return self.with_parts(*parts)

    @staticmethod
    def dual_meta(value: Any, root: Any) -> Any:
        """The meta of gradients of a value with meta `value`, in a pass that begins at one with meta `root`."""
        return value

    def as_gradient(self, root: Any) -> Any:
        """What gradients of a value on this payload look like. It may be of another class."""
        expected = self.dual_meta(self.meta, root.meta if type(root) is type(self) else None)
        return self if expected is self.meta else self._made(self._parts(), self.Meta(*expected))

    def _parts(self) -> dict[str, Any]:
        return dict(zip(self.part_names, self.part_values(), strict=True))

    @staticmethod
    def check_gradient(value: Any, gradient: Any, root: Any) -> Any:
        """A gradient for a value with meta `value`, in a pass from one with meta `root`: itself, converted, or an
        error. Unless overridden, its meta must be that of `dual_meta`, if the root is known."""
        expected = None if root is None or len(value) != len(gradient.meta) else gradient.dual_meta(value, root)
        if expected is not None and tuple(expected) != tuple(gradient.meta):
            raise gradient_refusal(type(gradient), f"has {gradient.meta}, where {gradient.Meta(*expected)} is due")
        return gradient

    def take_gradient(self, gradient: Any, root: Any) -> Any:
        """A gradient of a value on this payload, as it is passed on."""
        like = self.as_gradient(root)
        if not is_users_own(gradient):
            if self.from_plain is not None:
                gradient = self.from_plain(gradient, like.meta)
            elif like.default == "each":
                gradient = like.with_parts(*[gradient if _is_number(part) else part for part in like.part_values()])
            else:
                raise gradient_refusal(type(self), "is a plain array")
        if not isinstance(gradient, type(like)) and not isinstance(like, type(gradient)):
            raise gradient_refusal(type(like), f"is a {type(gradient).__name__}")
        return self.check_gradient(self.meta, gradient, root.meta if type(root) is type(self) else None)

    # Writing.

    aliases_payload = aliases_payload

    def assign_payload(self, value: Any) -> None:
        """Write a value into the parts: all of them, or none if it does not fit."""
        _assign(self, value, may_change_meta=False)

    def assign_whole(self, value: Any) -> None:
        """The same for a write to an array that nobody has a view of: meta that may change does."""
        _assign(self, value, may_change_meta=True)

    def perturb(self) -> Iterator[str]:
        """The names of the parts that `gradcheck` moves."""
        return (name for name in self.part_names if _is_number(getattr(self, name)))


for _name, _member in MEMBERS.items():
    if _name not in vars(Payload):
        setattr(Payload, _name, _member)


def subclasses(cls: Any) -> Iterator[Any]:
    """All classes that are derived from a class."""
    for kind in cls.__subclasses__():
        yield kind
        yield from subclasses(kind)


def _as_part(value: Any) -> Any:
    return value if hasattr(value, "dtype") and not isinstance(value, np.generic) else np.asarray(value)


def _is_number(part: Any) -> bool:
    return hasattr(part, "dtype") and part.dtype.kind in "fc"


def _at_home(array: Any) -> Any:
    trace = current().trace
    return array if trace is None else trace.home(array)


def _restored(kind: Any, parts: tuple[Any, ...], meta: tuple[Any, ...]) -> Any:
    return kind._made(dict(zip(kind.part_names, parts, strict=True)), meta)


def _assign(target: Any, value: Any, may_change_meta: bool) -> None:
    if not isinstance(target, Payload):
        raise _write_refusal(type(value).__name__, "the memory that is written is no such payload")
    given: dict[str, Any] | None = None
    meta = target.meta
    if isinstance(value, Payload) and type(value) in {type(part) for part in target.part_values()}:
        given = {name: value if isinstance(getattr(target, name), type(value)) else None for name in target.part_names}
    elif is_users_own(value):
        given = _checked(target, value, may_change_meta)
        meta = value.meta
    done: list[tuple[Any, Any]] = []
    try:
        for name in target.part_names:
            part = getattr(target, name)
            source = value if given is None else given[name]
            if source is None or (given is None and not _is_number(part)):
                continue
            if not is_traced(part):
                done.append((part, part.copy()))
            assign_widening(part, source)
    except BaseException:
        for part, before in done[:-1]:
            assign_widening(part, before)
        raise
    for name, each in zip(target.meta_names, meta, strict=True):
        if getattr(target, name) is not each:
            setattr(target, name, each)


def _checked(target: Payload, value: Any, may_change_meta: bool) -> dict[str, Any]:
    """The parts of a value that is written to `target`, after checks."""
    kind = type(target)
    if type(value) is not kind:
        raise _write_refusal(kind.__name__, f"the value is a {type(value).__name__}")
    changed = [name for name in kind.meta_names if getattr(target, name) != getattr(value, name)]
    if changed and not (may_change_meta and {*changed} <= {*kind.mutable_meta}):
        both = ", ".join(f"{name}={getattr(target, name)!r} by {getattr(value, name)!r}" for name in changed)
        raise _write_refusal(kind.__name__, f"the write would replace {both}")
    whole = tuple(value.shape) == tuple(target.shape)
    for name in kind.part_names:
        own, new = getattr(target, name), getattr(value, name)
        if whole and is_array(own) and tuple(own.shape) != tuple(new.shape):
            raise _write_refusal(
                kind.__name__, f"part {name} has shape {list(own.shape)}, and the value's {list(new.shape)}"
            )
    return value._parts()


def _write_refusal(kind: str, what: str) -> AutogradError:
    return AutogradError(
        "WRAPPER_META",
        f"a {kind} is written in place, and {what}",
        why="a write changes numbers only: class, meta and shapes of parts stay, or others that share the memory would "
        "read them wrongly",
        fix="write x = x * y in place of x *= y, or let writes to whole arrays change it (mutable_meta=)",
    )


def gradient_refusal(kind: Any, what: str) -> AutogradError:
    """The error for a gradient that a value on a payload of this class does not take."""
    return AutogradError(
        "GRAD_WRAPPER",
        f"a gradient for a value on a {kind.__name__} {what}",
        why="a gradient has the class of its value, and the meta that dual_meta says",
        fix=f"return a {kind.__name__}, or say in from_plain or check_gradient how such a gradient becomes one",
    )
