"""What users say about writes over values that a graph still needs: the policy, and a report of what was kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.state import last_entered, note_entered
from pullback.tape.modes import _decorate
from pullback.tensors.overwrites import (
    Overwrite,
    Policy,
    checked_policy,
    get_policy,
    put_policy_in_force,
    reports,
)


class _Setting:
    """A policy that can be entered repeatedly and nested, or put on a function."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._entered: list[Policy] = []

    def __enter__(self) -> None:
        note_entered(self._entered, get_policy())
        put_policy_in_force(self._policy)

    def __exit__(self, *exc: object) -> None:
        put_policy_in_force(last_entered(self._entered, self))

    def __call__(self, function: Callable[..., Any]) -> Any:
        return _decorate(function, lambda: self._policy, _exchange)


def _exchange(policy: Policy) -> Policy:
    before = get_policy()
    put_policy_in_force(policy)
    return before


class overwrite_policy(_Setting):
    """What a write does inside the block to values that a graph still needs.

    With "preserve", the default, they survive: gradients are those of the program as it ran. With "raise" they are
    destroyed, as in torch, and a backward pass that needs one raises. Values of leaves that require grad are destroyed
    unless `leaves` is "preserve" too: their gradient would be one of values that they no longer have.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 1
    >>> z = (y * y).sum()
    >>> y *= 3
    >>> z.backward()  # under overwrite_policy("raise") this raised a VERSION error
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, policy: str, leaves: str = "raise") -> None:
        super().__init__(checked_policy(policy, leaves))


class allow_mutation_on_saved_tensors(_Setting):
    """Inside the block all values saved for backward survive writes, those of leaves too.

    The same as `overwrite_policy("preserve", leaves="preserve")`.

    >>> a = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.autograd.graph.allow_mutation_on_saved_tensors():
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b *= 5
    >>> out.backward()
    >>> a.grad
    tensor([2., 4.])
    """

    def __init__(self) -> None:
        super().__init__(Policy("preserve", "preserve"))


def set_overwrite_policy(policy: str, leaves: str = "raise") -> tuple[str, str]:
    """Set the policy of the running thread or task, as in `overwrite_policy`, and return the previous one.

    >>> before = pb.autograd.set_overwrite_policy("raise")
    >>> pb.autograd.get_overwrite_policy()
    Policy(policy='raise', leaves='raise')
    >>> pb.autograd.set_overwrite_policy(*before).policy
    'raise'
    """
    return _exchange(checked_policy(policy, leaves))


def get_overwrite_policy() -> tuple[str, str]:
    """The policy in force: what happens to values that a graph needs, and to those of leaves.

    >>> pb.autograd.get_overwrite_policy()
    Policy(policy='preserve', leaves='raise')
    """
    return get_policy()


class report_overwrites:
    """Inside the block, a list of the values that survived a write: line, operator, bytes, and "left" or "copied".

    >>> y = pb.tensor([1.0, 2.0], requires_grad=True) * 1
    >>> with pb.autograd.graph.report_overwrites() as report:
    ...     z = y * y
    ...     y *= 3
    >>> [(each.operator, each.nbytes, each.kind) for each in report]
    [('multiply', 16, 'left')]
    """

    def __init__(self) -> None:
        self._entered: list[Any] = []

    def __enter__(self) -> list[Overwrite]:
        found: list[Overwrite] = []
        note_entered(self._entered, reports.get())
        reports.set((*reports.get(), found))
        return found

    def __exit__(self, *exc: object) -> None:
        reports.set(last_entered(self._entered, self))
