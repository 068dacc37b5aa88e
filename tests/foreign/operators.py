"""What every declared operator does on the arrays of a library, compared with NumPy's: right, refused, or wrong."""

import itertools
import warnings
from collections.abc import Iterator

import numpy as np

import pullback as pb
import tests.operators.declared  # noqa: F401  (every family is declared)
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.payloads.evaluate import evaluate
from pullback.payloads.foreign import ForeignArray, uploaded
from tests.foreign.kinds import host

# The borders of vmap, and views by number, are not called by themselves; a move has tests of its own.
NOT_CALLED = {"_enter_level", "_leave_level", "_batch_sum", "_widen", "_part", "_to_device"}
REFUSALS = {
    "FOREIGN_OP", "FOREIGN_MEMORY", "FOREIGN_DTYPE", "FOREIGN_SHAPE", "FOREIGN_SYNC", "FOREIGN_RNG", "VMAP_NO_RULE",
    "VMAP_DYNAMIC_SHAPE", "VMAP_DATA", "RAGGED_OP",
}  # fmt: skip
MODES = ("forward", "backward", "second", "tangent", "vmap", "inplace")


class Wrong(AssertionError):
    """A result that is neither right nor refused."""


def operators(group=0, groups=1):
    """The operators that are tested, or every `groups`-th of them."""
    found = [op for op in registry.values() if op.name not in NOT_CALLED and op.sample_rule is not None]
    return found[group::groups]


def usable_samples(op, most=None):
    """The samples with arrays among their operands, and what the kernel makes of them."""
    count = 0
    for sample in samples_of(op):
        operands = sample.inputs()
        if not any(isinstance(x, np.ndarray) for x in operands):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = op.kernel(*operands, **sample.params)
        except Exception:
            continue  # NumPy refuses it, too
        yield sample, operands, wanted
        count += 1
        if most is not None and count == most:
            return


def sent(op, operands, place, send=uploaded):
    """The operands with arrays on a device; but for offsets, which ragged tensors have on the host."""
    names = itertools.chain(op.operands, itertools.repeat(""))
    return [
        send(x, place) if isinstance(x, np.ndarray) and not name.endswith("offsets") else x
        for x, name in zip(operands, names, strict=False)
    ]


def is_usual(operands):
    """Are there numbers, and are all of them real ones in double precision, integers or truth values?"""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    return all(x.dtype.char in "dl?" and x.size for x in arrays)


def forward_outcomes(op, place) -> Iterator[tuple[str, bool, str]]:
    """By sample: its label, whether it is a usual one, and "" if the result is NumPy's, else the code of a refusal."""
    for sample, operands, wanted in usable_samples(op):
        there = sent(op, operands, place)
        if not any(type(x) is ForeignArray for x in there):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = evaluate(op, there, sample.params)
                compare(op, sample, got, wanted, operands)
            code = ""
        except pb.AutogradError as error:
            code = refusal(op, sample, error)
        yield sample.label, is_usual(operands), code


def refusal(op, sample, error):
    """The code of an allowed refusal."""
    if error.code not in REFUSALS:
        raise Wrong(f"{op.name}, {sample.label}: {error}") from error
    return error.code


def compare(op, sample, got, wanted, operands):
    """Raise Wrong unless the results agree, up to what is not determined of them."""
    got, wanted = (tuple(x) if isinstance(x, (tuple, list)) else (x,) for x in (got, wanted))
    if not all(type(x) is ForeignArray for x in got):
        raise Wrong(f"{op.name}, {sample.label}: the result is no array of the library")
    values, expected = [host(x) for x in got], [np.asarray(x) for x in wanted]
    if [x.dtype for x in values] != [x.dtype for x in expected]:
        raise Wrong(f"{op.name}, {sample.label}: dtypes {[x.dtype for x in values]}")
    if op.flow == "matrices" and len(values) > 1:
        values, expected = ([np.abs(x) for x in each] for each in (values, expected))  # up to signs of vectors
    elif "kth" in op.params:  # the order of both sides is anybody's
        values, expected = ([_sides(op, x, operands, sample.params)] for x in (values[0], expected[0]))
    elif sample.observe is not None:
        values, expected = (_listed(sample.observe(*each)) for each in (values, expected))
    coarse = any(isinstance(x, np.ndarray) and x.dtype.char in "efF" for x in (*operands, *expected))
    for one, other in zip(values, expected, strict=True):
        tolerance = 2e-4 if coarse else 1e-8
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape or not np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            raise Wrong(f"{op.name}, {sample.label}: {one.ravel()[:4]} for {other.ravel()[:4]}")


def _sides(op, result, operands, params):
    """What is determined of a partition: which elements are before which places."""
    axis, kth = params["axis"], params["kth"]
    if "arg" in op.name:
        result = np.take_along_axis(operands[0], result, axis)
    result = np.moveaxis(result, axis, -1)
    cuts = [0, *sorted({k + s for k in np.atleast_1d(kth) for s in (0, 1)}), result.shape[-1]]
    return np.concatenate([np.sort(result[..., a:b], -1) for a, b in itertools.pairwise(cuts)], -1)


def _listed(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def derivative_outcome(op, sample, operands, place, mode):
    """ "" if a derivative, batch or in-place write is NumPy's, else the code of a refusal; None if there is none."""
    results = []
    for make in (lambda x, place: pb.tensor(x), lambda x, place: pb.tensor(x).to(place)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(_run(op, sample, sent(op, operands, place, make), mode))
        except pb.AutogradError as error:
            if not results:
                return None
            return refusal(op, sample, error)
        except Exception:
            if not results:
                return None  # NumPy refuses it, too
            raise
        if results[0] is None:
            return None
    wanted, got = results
    for one, other in zip(got, wanted, strict=True):
        values, expected = host(one), host(other)
        tolerance = 2e-4 if expected.dtype.char in "efF" else 1e-7
        if values.shape != expected.shape or not np.allclose(
            values, expected, rtol=tolerance, atol=tolerance, equal_nan=True
        ):
            raise Wrong(f"{mode} of {op.name}, {sample.label}: {values.ravel()[:4]} for {expected.ravel()[:4]}")
    return ""


def _run(op, sample, operands, mode):
    """A list of tensors that describe what an operator does in this mode; None if it has none."""
    call = lambda *xs: op.call(*xs, **sample.params) if op.door_rule is None else op.run(xs, sample.params)
    floats = [k for k, x in enumerate(operands) if isinstance(x, pb.Tensor) and x.dtype.kind in "fc"]
    if mode == "vmap":
        if op.batch_rule is None or op.family == "random" or "kth" in op.params:
            return None
        first = next((k for k, x in enumerate(operands) if isinstance(x, pb.Tensor)), None)
        if first is None:
            return None

        def one(x):
            return call(*[x if k == first else y for k, y in enumerate(operands)])

        return _flat(pb.func.vmap(one)(pb.stack([operands[first], operands[first]])))
    if mode == "inplace":
        if not op.has_inplace_twin or not floats or floats[0] != 0 or sample.params:
            return None
        target = operands[0].clone()
        getattr(target, f"{op.name}_")(*operands[1:])
        return [target]
    if not op.is_differentiable or not floats or "kth" in op.params or (op.flow == "matrices" and op.num_outputs != 1):
        return None
    if mode == "tangent":
        outs = []

        def along(*xs):
            given = list(operands)
            for k, x in zip(floats, xs, strict=True):
                given[k] = x
            return call(*given)

        points = tuple(operands[k] for k in floats)
        outs = pb.func.jvp(along, points, tuple(pb.cos(x) for x in points))[1]
        return _flat(outs)
    leaves = [operands[k].detach().requires_grad_() for k in floats]
    given = list(operands)
    for k, leaf in zip(floats, leaves, strict=True):
        given[k] = leaf
    outs = [y for y in _flat(call(*given)) if y.requires_grad]
    if not outs:
        return None
    loss = _sum(pb.cos(y.real * 1 + y.imag if y.dtype.kind == "c" else y * 1).sum() for y in outs)
    gradients = pb.autograd.grad(loss, leaves, create_graph=mode == "second", allow_unused=True)
    if mode == "backward":
        return [g.to_dense() if hasattr(g, "to_dense") else g for g in gradients if g is not None]
    loss = [pb.sin(g.real + g.imag if g.dtype.kind == "c" else g).sum() for g in gradients
            if g is not None and g.requires_grad]  # fmt: skip
    if not loss:
        return None
    seconds = [g for g in pb.autograd.grad(_sum(loss), leaves, allow_unused=True) if g is not None]
    return [g.to_dense() if hasattr(g, "to_dense") else g for g in seconds]


def _sum(terms):
    first, *rest = terms
    for each in rest:
        first = first + each.astype(first.dtype)
    return first


def _flat(out):
    return [y for y in out if isinstance(y, pb.Tensor)] if isinstance(out, (tuple, list)) else [out]
