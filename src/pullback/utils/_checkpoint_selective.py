"""Selective checkpointing: a policy says which operators keep their results, and only the others run again.

The forward interception asks the policy once per primitive and caches the results it wants kept. The interception of
the second run answers from that cache, recording the same nodes as if the kernel had run. Entries are found by
operator and by the order of its calls, and are dropped as they are used.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pullback.core.spec import describe
from pullback.core.state import current
from pullback.declare.op import Op
from pullback.eager.record import differentiate, new_tensor
from pullback.errors import CheckpointError
from pullback.payloads.batched.array import BatchedArray
from pullback.tape.history import requires_grad
from pullback.tape.transform.interception import Interception, Proceed
from pullback.tensors.overwrites import Lost, epoch_of, kept_value
from pullback.tensors.tensor import Tensor, alias
from pullback.tensors.views import view_of


class CheckpointPolicy(enum.Enum):
    """What a selective policy may say of one operator call.

    `MUST_SAVE` and `PREFER_SAVE` keep the result until backward; `MUST_RECOMPUTE` and `PREFER_RECOMPUTE` compute it
    again. What is only preferred may be decided otherwise by a compiler; without one the two mean the same.
    """

    MUST_SAVE = "must save"
    PREFER_SAVE = "prefer save"
    MUST_RECOMPUTE = "must recompute"
    PREFER_RECOMPUTE = "prefer recompute"


class SelectiveCheckpointContext:
    """The first argument of a policy. `is_recompute` is always False: policies are asked in the forward only."""

    def __init__(self, is_recompute: bool = False) -> None:
        self.is_recompute = is_recompute


Policy = Callable[..., CheckpointPolicy | bool]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The two contexts of a checkpoint that keeps the results of some operators: for `checkpoint(context_fn=...)`.

    A policy is called as `policy(ctx, op, *operands, **params)`, once for every primitive of the forward, those of
    `pb.library` included; it returns a `CheckpointPolicy`, or True to save and False to recompute. A list names the
    operators to save, as public functions (`pb.matmul`), as custom operators, or as policies get them. Views and
    in-place writes are run again whatever the policy says: a view costs nothing, and a write has to happen to the
    memory of the second run.

    If a kept result was written since, the second run raises; `allow_cache_entry_mutation=True` uses it as it is. The
    region can be run again once: a second backward pass over it raises.

    >>> import functools
    >>> from pullback.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = pb.ones((2, 2), requires_grad=True)
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [pb.matmul])
    >>> y = checkpoint(lambda x: pb.tanh(x @ x), x, context_fn=contexts)  # keeps the product, and runs tanh again
    """
    policy = policy_fn_or_list if callable(policy_fn_or_list) else _policy_from(policy_fn_or_list)
    cache: dict[Op, deque[_Entry | None]] = {}
    return _Caching(policy, cache), _Replaying(cache, allow_cache_entry_mutation)


def _policy_from(operators: Sequence[Any]) -> Policy:
    saved = {operator if isinstance(operator, Op) else getattr(operator, "op", None) for operator in operators}
    if not all(isinstance(op, Op) for op in saved):
        wrong = [operator for operator in operators if not isinstance(getattr(operator, "op", operator), Op)]
        raise TypeError(f"a selective checkpoint saves results of primitive operators; {wrong[0]!r} is none")
    return lambda ctx, op, *operands, **params: op in saved


class _Entry:
    """The result of one call, with the epochs its parts had when they were cached, and the vmaps it was made in."""

    __slots__ = ("_epochs", "_is_tuple", "_kept", "_parts", "_vmaps", "counts")

    def __init__(self, out: Any, call: Any) -> None:
        self._is_tuple = isinstance(out, tuple)
        # Operators of users may return numbers as well, and lists: the call knows how long they are.
        self._parts = [alias(part) if isinstance(part, Tensor) else part for part in _parts(out)]
        self._kept = [getattr(part, "_data", part) for part in self._parts]
        self._epochs = [epoch_of(part) if isinstance(part, Tensor) else None for part in self._parts]
        self._vmaps = current().vmaps
        self.counts = getattr(call, "counts", None)

    def payload(self, op: Op, allow_mutation: bool) -> Any:
        """What the kernel returned; an error if it was written since."""
        kept = [getattr(part, "_data", part) for part in self._parts]
        if not allow_mutation:
            kept = [kept_value(data, epoch) for data, epoch in zip(self._kept, self._epochs)]
        for part, value in zip(self._parts, kept):
            if type(value) is Lost:
                raise CheckpointError(
                    f"the result {describe(part.shape, part.dtype)} of `{op.name}`, kept by a selective checkpoint, "
                    "was written in place since\n"
                    "  why   the second run would continue with another value than the forward did\n"
                    "  fix   write to a copy, recompute this operator, or give allow_cache_entry_mutation=True"
                )
        renamed = dict(zip(self._vmaps, current().vmaps))  # a vmap inside has another batch dimension in every run
        payloads = [
            BatchedArray(data.data, tuple([renamed[level] for level in data.levels]))
            if type(data) is BatchedArray else data
            for data in kept
        ]  # fmt: skip
        return tuple(payloads) if self._is_tuple else payloads[0]


def _parts(out: Any) -> tuple[Tensor, ...]:
    return out if isinstance(out, tuple) else (out,)


class _Caching(Interception):
    """The context of the forward: asks the policy and fills the cache."""

    def __init__(self, policy: Policy, cache: dict[Op, deque[_Entry | None]]) -> None:
        super().__init__()
        self._policy = policy
        self._cache = cache

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        saves = _is_save(self._policy(SelectiveCheckpointContext(), op, *operands, **params))
        out = proceed(op, operands, params)
        entry = _Entry(out, params.get("call")) if saves and _owns_its_memory(out, operands) else None
        self._cache.setdefault(op, deque()).append(entry)
        return out


class _Tagging(Interception):
    """The context of a forward that is traced: what the policy says of an operator becomes the tag of its nodes."""

    def __init__(self, policy: Policy, trace: Any) -> None:
        super().__init__()
        self._policy = policy
        self._trace = trace

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        decision = self._policy(SelectiveCheckpointContext(), op, *operands, **params)
        saves = _is_save(decision)
        before = self._trace.recompute
        self._trace.recompute = decision.name if isinstance(decision, CheckpointPolicy) else (
            "MUST_SAVE" if saves else "PREFER_RECOMPUTE"
        )  # fmt: skip
        try:
            return proceed(op, operands, params)
        finally:
            self._trace.recompute = before


def tagging(context: AbstractContextManager[Any], trace: Any) -> AbstractContextManager[Any]:
    """What stands for the forward context of a checkpoint while a trace is running."""
    return _Tagging(context._policy, trace) if isinstance(context, _Caching) else context


def _is_save(decision: CheckpointPolicy | bool) -> bool:
    if isinstance(decision, bool):
        return decision
    if not isinstance(decision, CheckpointPolicy):
        raise TypeError(f"a selective policy must return a CheckpointPolicy or a bool, got {type(decision).__name__}")
    return decision in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _owns_its_memory(out: Any, operands: tuple[Any, ...]) -> bool:
    """False for views, and for writes in place, which return the operand they wrote to."""
    tensors = [part for part in _parts(out) if isinstance(part, Tensor)]
    return not any((operands and part is operands[0]) or view_of(part) is not None for part in tensors)


class _Replaying(Interception):
    """The context of the second run: answers from the cache."""

    def __init__(self, cache: dict[Op, deque[_Entry | None]], allow_mutation: bool) -> None:
        super().__init__()
        self._cache = cache
        self._allow_mutation = allow_mutation
        self._was_used = False

    def __enter__(self) -> None:
        if self._was_used:
            raise CheckpointError(
                "a second backward pass reached a region under selective checkpointing\n"
                "  why   the kept results are dropped as the first pass uses them\n"
                "  fix   run the forward again, or checkpoint without a selective policy"
            )
        self._was_used = True
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._cache.clear()

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        entries = self._cache.get(op)
        if not entries:
            called = "was not called in the forward" if entries is None else "was called less often in the forward"
            raise CheckpointError(
                f"the second run of a selectively checkpointed function calls `{op.name}`, which {called}\n"
                "  why   results are found by operator and by the order of its calls\n"
                "  fix   let the function do the same on every call"
            )
        entry = entries.popleft()
        if entry is None:
            return proceed(op, operands, params)
        if op.family == "custom":
            params["call"].counts = entry.counts
        return _recorded(op, operands, params, entry.payload(op, self._allow_mutation))


def _recorded(op: Op, operands: tuple[Any, ...], params: dict[str, Any], payload: Any) -> Any:
    """The call with this result, recorded as if its kernel had run."""
    modes = current()
    payloads = payload if isinstance(payload, tuple) else (payload,)
    outputs = [new_tensor(each, modes) if hasattr(each, "dtype") else each for each in payloads]
    if modes.grad and not modes.inference and op.is_differentiable:
        needs = tuple(isinstance(x, Tensor) and x._spec.is_differentiable and requires_grad(x) for x in operands)
        if True in needs:
            differentiate(op, operands, params, outputs, needs, modes)
    return tuple(outputs) if isinstance(payload, tuple) else outputs[0]
