"""Cases 109 to 121 of other arrays: payloads made of parts."""

import copy
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import graph
from pullback.declare.groups import groups_of
from pullback.declare.samples import samples_of
from tests.conformance.payloads import (
    A,
    B,
    Quantity,
    Two,
    UnitError,
    close,
    halves,
    leaf,
    quantity,
    two,
    units,
)
from tests.operators.declared import is_floating, random_like, registry

# 109. Every operator on both parts.

SAMPLES = [
    (op, sample)
    for op in registry.values()
    if not op.takes_payloads and op.family != "random" and op.sample_rule is not None
    for sample in list(samples_of(op))[:1]
    if sample.prepare is None and any(is_floating(x) and x.size and x.dtype == np.float64 for x in sample.inputs())
]


def paired(sample: Any) -> tuple[list[Any], list[int]]:
    """The operands of a sample, floating ones as a Two of which the second part is another order of the elements."""
    operands, places = [], []
    for place, x in enumerate(sample.inputs()):
        if is_floating(x):
            places.append(place)
            x = Two(x.copy(), x[::-1].copy() if x.ndim else x * 1.0)
        operands.append(x)
    return operands, places


def outputs_of(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple) else [out]


@pytest.mark.parametrize("op, sample", SAMPLES, ids=[f"{op.name}-{sample.label}" for op, sample in SAMPLES])
def test_109_every_operator_equals_two_plain_runs(op: Any, sample: Any) -> None:
    operands, places = paired(sample)

    def call(values: list[Any]) -> list[Any]:
        return outputs_of(op.run(tuple(values), sample.params))

    def run(part: Any) -> tuple[list[Any], list[Any]]:
        """Outputs and gradients, of a part or of the whole."""
        given = []
        for x in operands:
            if isinstance(x, Two):
                x = pb.wrap(x) if part is None else pb.tensor(getattr(x, part))
                x = x.requires_grad_()
            elif isinstance(x, np.ndarray):
                x = pb.tensor(x)
            given.append(x)
        outs = call(given)
        wanted = [out for out in outs if isinstance(out, pb.Tensor) and out.requires_grad]
        if not wanted:
            return outs, []
        seeds = []
        for number, out in enumerate(wanted):
            g = random_like(np.empty(out.shape, out.dtype), number)
            seeds.append(pb.wrap(Two(g, g)) if part is None else pb.tensor(g))
        leaves = [given[k] for k in places]
        return outs, list(pb.autograd.grad(wanted, leaves, seeds, allow_unused=True))

    with np.errstate(all="ignore"):
        try:
            expected = [run("a"), run("b")]
        except (ValueError, np.linalg.LinAlgError):
            pytest.skip("the elements in another order are not in the domain")
        got = run(None)
    for kind in range(2):
        for number, whole in enumerate(got[kind]):
            for part, (name, found) in enumerate(zip("ab", expected, strict=True)):
                theirs = found[kind][number]
                if whole is None or not isinstance(whole, pb.Tensor):
                    assert (whole is None) == (theirs is None)
                    continue
                payload = whole._data
                mine = getattr(payload, name) if type(payload) is Two else payload
                theirs = theirs.detach() if isinstance(theirs, pb.Tensor) else theirs.to_dense()
                np.testing.assert_allclose(
                    np.asarray(mine), np.asarray(theirs), rtol=1e-12, atol=1e-14, err_msg=f"part {part}"
                )


PROGRAMS = {
    "elementwise": lambda x: pb.exp(pb.sin(x) * x) / (1 + x * x),
    "reduction": lambda x: pb.logsumexp(x) + x.mean() * x.std(),
    "matrix": lambda x: (x[:, None] @ x[None, :]).sum(axis=0) + pb.cumsum(x, 0),
    "sorted": lambda x: pb.concatenate([pb.sort(x), x[::-1], pb.softmax(x, 0)]),
    "in place": lambda x: pb.zeros_like(x).copy_(x).mul_(x).add_(1),
    "slices": lambda x: _filled(x),
}


def _filled(x: Any) -> Any:
    y = x * 1
    y[1:] = x[:-1] * 2
    y[0] += x[2]
    return y


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_109_forward_mode_and_batches(f: Any) -> None:
    tangents = (np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, -1.0]))
    out, slope = pb.jvp(f, (two(),), (two(*tangents),))
    expected = [pb.jvp(f, (pb.tensor(x),), (pb.tensor(t),)) for x, t in zip((A, B), tangents, strict=True)]
    close(halves(out), [value for value, _ in expected])
    close(halves(slope), [value for _, value in expected])
    rows = np.stack([A, B, A * B])
    scalar = lambda x: (f(x) * f(x)).sum()
    for mapped in (pb.vmap(f), pb.vmap(pb.grad(scalar))):
        close(halves(mapped(two(rows, rows + 1))), [mapped(pb.tensor(x)) for x in (rows, rows + 1)])
    close(halves(pb.jacrev(f)(two())), [pb.jacrev(f)(pb.tensor(x)) for x in (A, B)])
    close(halves(pb.jacfwd(f)(two())), [pb.jacfwd(f)(pb.tensor(x)) for x in (A, B)])
    close(halves(pb.hessian(scalar)(two())), [pb.hessian(scalar)(pb.tensor(x)) for x in (A, B)])


# 110, 111. First gradients, and what nodes know.


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("f", [lambda x: x.sum(), lambda x: (x * x)[1], lambda x: pb.exp(x).mean()])
def test_110_first_gradients_are_payloads(f: Any, is_compiled: bool) -> None:
    x = leaf()
    (pb.compile(f) if is_compiled else f)(x).backward()
    close(halves(x.grad), [pb.grad(f)(pb.tensor(v)) for v in (A, B)])
    unused = leaf()
    zeros = pb.autograd.grad(f(x), [x, unused], materialize_grads=True)[1]
    close(halves(zeros), np.zeros((2, 3)))


def test_111_metadata_knows_classes_of_users() -> None:
    metadata = (leaf() * 2).grad_fn._input_metadata[0]
    assert metadata.is_tensor_subclass and metadata.kind is Two and type(metadata.zeros_like()._data) is Two
    assert not (pb.ones(3, requires_grad=True) * 2).grad_fn._input_metadata[0].is_tensor_subclass
    seen = []
    pb.vmap(lambda x: seen.append((x * 2).grad_fn._input_metadata[0].is_tensor_subclass) or x)(
        pb.ones((2, 3), requires_grad=True)
    )
    assert seen == [False]
    assert type((pb.ones(3, requires_grad=True) * 2).grad_fn._input_metadata[0]) is graph.InputMetadata


# 112 to 114. Rules.


def test_112_a_rule_for_a_group_serves_its_operators() -> None:
    used = []

    class Noting(pb.Payload, parts=("a",)):
        default = "refuse"

    @Noting.rule("linear")
    def linear(call: Any, *operands: Any, **params: Any) -> Any:
        used.append(call.name)
        return Noting(call(*[x.a if isinstance(x, Noting) else x for x in operands]))

    x = pb.wrap(Noting(A.reshape(3, 1)))
    for result in (x + x, x.sum(), x.reshape(1, 3), -x, x.detach(), x.astype(np.float32), x.mean(), x[1:], x.T):
        assert type(result._data) is Noting
    assert {"add", "sum", "reshape", "negative", "astype", "mean"} <= {*used}
    pb.vjp(lambda x: x + x, x)
    assert "linear" in groups_of(registry["_same"])
    found = Noting.coverage()
    assert found["add"] == found["sum"] == "linear" and found["exp"] == "default: refuse"
    groups = {name: groups_of(registry[name]) for name in ("multiply", "equal", "matmul", "_assign", "copy", "sum")}
    assert groups == {
        "multiply": ("multilinear", "elementwise", "any"), "equal": ("comparison", "elementwise", "any"),
        "matmul": ("contraction", "gufunc", "multilinear", "any"), "_assign": ("write", "any"),
        "copy": ("copy", "linear", "any"), "sum": ("reduction", "linear", "any"),
    }  # fmt: skip


def test_113_what_has_no_rule_is_refused() -> None:
    class Bare(pb.Payload, parts=("a",)):
        default = "refuse"

    asked = []

    @Bare.rule("exp")
    def narrow(call: Any, x: Any) -> Any:
        asked.append("exp")
        return NotImplemented

    @Bare.rule("elementwise")
    def wide(call: Any, x: Any) -> Any:
        asked.append("elementwise")
        return Bare(call(x.a))

    x = pb.wrap(Bare(A))
    assert type(pb.exp(x)._data) is Bare and asked == ["exp", "elementwise"]
    with pytest.raises(pb.AutogradError, match="reduction, linear") as error:
        x.sum()
    assert error.value.code == "WRAPPER_OP" and '@Bare.rule("sum")' in str(error.value)
    with pytest.raises(TypeError, match="a rule is for groups or operators"):
        Bare.rule()
    with pytest.raises(TypeError, match="made of parts"):
        type("Nothing", (pb.Payload,), {})


def test_114_groups_serve_what_pullback_does_inside() -> None:
    x = quantity(A, "m")
    value, slope = pb.jvp(lambda x: x * x, (x,), (quantity(np.ones(3), "m"),))
    assert units.written(value._data.unit) == units.written(slope._data.unit) == "m^2"
    curvature = pb.hessian(lambda x: (x * x * x).sum())(x)
    np.testing.assert_allclose(curvature._data.value, np.diag(6 * A))
    assert units.written(curvature._data.unit) == "m"
    twin = copy.deepcopy(x)
    twin[1:] = x[:-1] * 2
    assert twin._data.value.tolist() == [1.0, 2.0, 4.0] and x._data.value.tolist() == [1.0, 2.0, 3.0]
    twin.copy_(x)
    assert twin._data.value.tolist() == A.tolist()


# 115, 116. Units.


def test_115_units_go_together_or_are_refused() -> None:
    x = quantity(A, "m").requires_grad_()
    for wrong in (lambda: x + quantity(1.0, "s"), lambda: pb.exp(x), lambda: x + 1.0, lambda: x < 1.0):
        with pytest.raises(UnitError):
            wrong()
    seeds = []
    y = (x * x).sum()
    y.register_hook(lambda g: seeds.append(g._data.unit))
    y.backward()
    assert seeds == [()] and units.written(x.grad._data.unit) == "m"
    np.testing.assert_allclose(x.grad._data.value, 2 * A)
    assert units.written(pb.sqrt(x)._data.unit) == "m^1/2"
    with pytest.raises(UnitError):
        x.detach().sub_(x.grad * x.grad)
    with pb.no_grad():
        x -= quantity(0.5, "") * x.grad


class Given(pb.autograd.Function):
    """Returns the gradient that it is told to."""

    @staticmethod
    def forward(ctx: Any, x: Any, gradient: Any) -> Any:
        ctx.gradient = gradient
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.gradient, None


def test_116_a_gradient_of_the_wrong_unit_is_refused() -> None:
    x = quantity(A, "m").requires_grad_()
    Given.apply(x, quantity(A, "")).sum().backward()
    for wrong in (quantity(A, "s"), pb.tensor(A), two()):
        with pytest.raises(pb.AutogradError) as error:
            Given.apply(x, wrong).sum().backward()
        assert error.value.code == "GRAD_WRAPPER"
    with pytest.raises(pb.AutogradError):
        (x * 2).backward(quantity(A, "m"))


# 117 to 121. Writes, views, metadata.


class Flexible(Quantity, mutable_meta=("unit",)):
    """A quantity whose unit a write to the whole array may replace."""


def test_117_a_write_does_not_change_the_unit_unnoticed() -> None:
    x = quantity(A, "m").requires_grad_()
    y = x * 1
    node, version = y.grad_fn, y._version
    with pytest.raises(pb.AutogradError) as error:
        y.mul_(quantity(B, "m"))
    assert error.value.code == "WRAPPER_META"
    assert y._data.value.tolist() == A.tolist() and y._version == version and y.grad_fn is node
    metres = (("m", 1),)
    z = pb.wrap(Flexible(A.copy(), metres))
    z.mul_(pb.wrap(Flexible(B, metres)))
    assert z._data.unit == (("m", 2),) and z._data.value.tolist() == (A * B).tolist()
    view = z[1:]
    with pytest.raises(pb.AutogradError) as error:
        view.mul_(pb.wrap(Flexible(B[1:], metres)))
    assert error.value.code == "WRAPPER_META"
    with pytest.raises(pb.AutogradError) as error:
        z.mul_(pb.wrap(Flexible(B, metres)))  # the view would keep the old unit
    assert error.value.code == "WRAPPER_META"
    assert z._data.value.tolist() == (A * B).tolist()


def test_118_a_write_that_fails_leaves_all_parts() -> None:
    second = B.copy()
    second.flags.writeable = False
    x = pb.wrap(Two(A.copy(), second))
    with pytest.raises(ValueError, match="read-only"):
        x.mul_(2)
    close(halves(x), (A, B))
    assert x._version == 0


def test_119_views_are_payloads_of_views() -> None:
    base = leaf() * 1
    view = base[1:]
    saved = pb.sin(base)
    with pb.autograd.overwrite_policy("raise"):
        view.mul_(10)
    close(halves(base), (A * [1, 10, 10], B * [1, 10, 10]))
    assert base._version == view._version == 1 and view._is_view()
    with pytest.raises(pb.AutogradError) as error:
        saved.sum().backward()
    assert error.value.code == "VERSION"
    x = leaf()
    base = x * 1
    base[1:].mul_(10)
    base.sum().backward()
    close(halves(x.grad), np.tile([1.0, 10.0, 10.0], (2, 1)))


CHANGES = {
    "t_": lambda x: x.t_(),
    "squeeze_": lambda x: x.squeeze_(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_120_metadata_changes_act_on_parts(change: Any) -> None:
    def f(x: Any) -> Any:
        change(x)
        return x * 2

    found = []
    for function in (f, pb.compile(f)):
        x = two(A.reshape(1, 3), B.reshape(1, 3))
        out = function(x)
        found.append((x.shape, x.requires_grad, out.shape, [part.tolist() for part in halves(x)], out.requires_grad))
        assert all(part.shape == x.shape for part in halves(x))
    assert found[0] == found[1]


@pytest.mark.parametrize("is_captured", [False, True])
def test_121_what_a_backward_writes_arrives(is_captured: bool) -> None:
    class Noting(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, noted: Any) -> Any:
            ctx.noted = noted
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with pb.no_grad():
                ctx.noted.add_(g * 3)
            return g * 2, None

    f = pb.compile(lambda x, noted: Noting.apply(x, noted)) if is_captured else Noting.apply
    x, noted = leaf(), two()
    f(x, noted).sum().backward()
    close(halves(noted), (A + 3, B + 3))
    close(halves(x.grad), np.full((2, 3), 2.0))
