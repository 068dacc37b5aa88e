"""`jacobian` and `gradcheck` across ranks, and `same_program`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd import grad
from pullback.distributed._communicator import Communicator
from pullback.distributed._mesh import Mesh, group_of
from pullback.errors import GradcheckError
from pullback.func import jvp, vjp
from pullback.tensors.tensor import Tensor, as_constant, wrap


def jacobian(
    f: Callable[[Any], Any], mode: str = "forward", *, comm: Any = None, mesh: Mesh | None = None, axis: Any = None
) -> Callable[[Any], Tensor]:
    """The blocks of the Jacobian of a function of all ranks' blocks, as a function of this rank's block.

    `mode="forward"` gives on rank r the derivatives of its output by the input of every rank q, `J[q] = J_rq`;
    `"reverse"` gives those of every rank's output by its own input, `J[q] = J_qr`. All ranks call it.

    >>> pb.distributed.jacobian(pb.distributed.all_reduce)(pb.tensor([1.0, 2.0]))
    tensor([[[1., 0.],
             [0., 1.]]])
    """
    if mode not in ("forward", "reverse"):
        raise ValueError(f'jacobian: mode is "forward" or "reverse", got {mode!r}')
    group = group_of(comm, mesh, axis)

    def blocks(x: Any) -> Tensor:
        tensor = as_constant(x)
        if mode == "forward":
            columns = _basis(group, tensor.shape, tensor.dtype)
            moved = [jvp(f, (tensor,), (each,))[1] for each in columns]
            sizes = group.gather_objects(int(tensor.size))
            return _grouped(moved, sizes, tuple(tensor.shape), behind=True)
        value, pull = vjp(f, tensor)
        pulled = [pull(each)[0] for each in _basis(group, value.shape, value.dtype)]
        return _grouped(pulled, group.gather_objects(int(value.size)), tuple(value.shape), behind=False)

    return blocks


def _basis(comm: Communicator, shape: Any, dtype: Any) -> list[Tensor]:
    """The unit vectors of all ranks one after the other: at each, one rank has a unit vector and all others zeros."""
    found = []
    for owner, size in enumerate(comm.gather_objects(int(np.prod(shape)))):
        for k in range(size):
            vector = np.zeros(shape, dtype)
            if owner == comm.rank:
                vector.reshape(-1)[k] = 1
            found.append(wrap(vector))
    return found


def _grouped(rows: list[Tensor], sizes: Sequence[int], shape: tuple[int, ...], behind: bool) -> Tensor:
    if len(set(sizes)) != 1:
        raise ValueError(f"jacobian: the blocks of the ranks have different sizes {list(sizes)}, and cannot be stacked")
    every = pb.stack(rows)
    every = every.reshape((len(sizes), *shape, *every.shape[1:]))
    if not behind:
        return every
    last = tuple(range(1 + len(shape), every.ndim))
    result: Tensor = every.permute(0, *last, *range(1, 1 + len(shape)))
    return result


def gradcheck(
    f: Callable[..., Any],
    inputs: Any,
    *,
    comm: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    check_forward_ad: bool = True,
    raise_exception: bool = True,
) -> bool:
    """Are the derivatives of a function of all ranks' blocks right? The answer is the same on every rank.

    Every element of every rank is moved in turn, and the change of the outputs of all ranks is compared with backward
    passes whose gradients are given on all ranks; forward mode is compared with the same changes. `f` returns one real
    tensor, `inputs` are those that require grad among its arguments.

    >>> pb.distributed.gradcheck(pb.distributed.all_reduce, (pb.ones(2, requires_grad=True),))
    True
    """
    group = group_of(comm, None, None)
    tensors = [as_constant(x) for x in (inputs if isinstance(inputs, (tuple, list)) else (inputs,))]
    leaves = [x.detach().requires_grad_(x.requires_grad) for x in tensors]
    wanted = [k for k, x in enumerate(leaves) if x.requires_grad]
    value = f(*leaves)
    seed = np.random.default_rng(group.rank).normal(size=value.shape)
    pulled = grad(value, [leaves[k] for k in wanted], wrap(seed), allow_unused=True)
    fixed = [each.detach() for each in leaves]
    problems: list[str] = []

    def outputs(at: int, x: Any) -> Any:
        given = [x if k == at else each.detach() for k, each in enumerate(leaves)]
        return f(*given).detach().numpy()

    counts = group.gather_objects([int(leaves[k].size) for k in wanted])
    for owner, sizes in enumerate(counts):
        for position, size in enumerate(sizes):
            for element in range(size):
                at = wanted[position] if position < len(wanted) else wanted[0]
                step = np.zeros(leaves[at].shape)
                if owner == group.rank:
                    step.reshape(-1)[element] = 1.0
                start = leaves[at].detach().numpy()
                change = (outputs(at, wrap(start + eps * step)) - outputs(at, wrap(start - eps * step))) / (2 * eps)
                numeric = sum(group.gather_objects(float(np.sum(seed * change))))
                if check_forward_ad:
                    _, tangent = jvp(lambda x, at=at: f(*fixed[:at], x, *fixed[at + 1 :]), (fixed[at],), (wrap(step),))
                    if not np.allclose(tangent.numpy(), change, rtol, atol):
                        problems.append(f"forward mode, input {at} element {element} of rank {owner}: "
                                        f"{tangent.numpy().tolist()}, by differences {change.tolist()}")  # fmt: skip
                if owner == group.rank:
                    found = pulled[position]
                    exact = 0.0 if found is None else float(found.detach().numpy().reshape(-1)[element])
                    if not np.isclose(exact, numeric, rtol, atol):
                        problems.append(f"backward, input {at} element {element} of rank {owner}: {exact:.10g}, by "
                                        f"differences {numeric:.10g}")  # fmt: skip
    everywhere = [text for part in group.gather_objects(problems) for text in part]
    if everywhere and raise_exception:
        shown = "\n  ".join(everywhere[:10])
        raise GradcheckError(f"{len(everywhere)} derivatives of the ranks differ from finite differences\n  {shown}")
    return not everywhere


def same_program(compiled: Any, *args: Any, comm: Any = None) -> bool:
    """Do all ranks make the same sequence of collectives if they call this compiled function with these arguments?

    The function is traced and does not run. All ranks call this, and get the same answer.

    >>> pb.distributed.same_program(pb.compile(lambda x: pb.distributed.all_reduce(x)), pb.ones(3))
    True
    """
    group = group_of(comm, None, None)
    made = [(each["half"], each["operator"], each["call"]) for each in compiled.explain(*args).data["collectives"]]
    digest = hashlib.sha256(str(made).encode()).hexdigest()
    return len(set(group.gather_objects(digest))) == 1
