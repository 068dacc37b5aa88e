"""Cases 109 to 130 of other arrays: payloads made of parts."""

import copy
import importlib.util
import os
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import graph
from pullback.declare.groups import groups_of
from pullback.declare.samples import samples_of
from tests.operators.declared import is_floating, random_like, registry

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Any:
    """The module of an example, once."""
    path = EXAMPLES / f"payload_{name}.py"
    spec = importlib.util.spec_from_file_location(f"tests_of_payload_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


Two = example("two").Two
units = example("units")
masks = example("masked")
lowrank = example("lowrank")
Quantity, quantity, UnitError = units.Quantity, units.quantity, units.UnitError
Masked = masks.Masked

A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def two(a: Any = A, b: Any = B) -> pb.Tensor:
    return pb.wrap(Two(np.array(a, float), np.array(b, float)))


def leaf(a: Any = A, b: Any = B) -> pb.Tensor:
    return two(a, b).requires_grad_()


def halves(tensor: Any) -> list[Any]:
    """The two arrays of a Two."""
    payload = tensor._data
    assert type(payload) is Two, type(payload)
    return [payload.a, payload.b]


def plain_runs(f: Any, *args: Any) -> list[Any]:
    """`f` of the first parts, and of the second."""
    return [f(*[getattr(x, name) if isinstance(x, Two) else x for x in args]) for name in ("a", "b")]


def close(got: Any, expected: Any) -> None:
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, np.asarray(theirs), rtol=1e-12, atol=1e-14)


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


# 122, 123. Nesting, files.

NESTED = {
    "add": lambda x: x + x, "product": lambda x: x * x, "divide": lambda x: x / x, "negative": lambda x: -x,
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(axis=0), "reshape": lambda x: x.reshape(3, 1),
    "index": lambda x: x[1:], "fancy": lambda x: x[[2, 0]], "sqrt": lambda x: pb.sqrt(x * x), "abs": lambda x: abs(x),
    "square": lambda x: pb.square(x), "power": lambda x: x**3, "sort": lambda x: pb.sort(x), "max": lambda x: x.max(),
    "exp": lambda x: pb.exp(x / x), "matmul": lambda x: x @ x, "cumsum": lambda x: pb.cumsum(x, 0),
    "flip": lambda x: pb.flip(x), "where": lambda x: pb.where(x > x[0], x, 0), "clone": lambda x: x.clone(),
    "concat": lambda x: pb.concatenate([x, x]), "stack": lambda x: pb.stack([x, x]), "subtract": lambda x: x - x[::-1],
    "var": lambda x: x.var(), "maximum": lambda x: pb.maximum(x, x[::-1]),
    "expand": lambda x: x[:, None] * x, "roll": lambda x: pb.roll(x, 1), "astype": lambda x: x.astype(np.float64),
}  # fmt: skip


@pytest.mark.parametrize("f", NESTED.values(), ids=NESTED.keys())
def test_122_payloads_in_payloads(f: Any) -> None:
    unit = (("m", 1),)
    x = pb.wrap(Two(Quantity(A, unit), Quantity(B, unit))).requires_grad_()
    out = f(x)
    g = pb.ones_like(out.detach())._data
    seeds = [pb.wrap(Quantity(part.value, units.combined())) for part in (g.a, g.b)]
    out.backward(pb.wrap(Two(*[seed._data for seed in seeds])))
    for name, values, seed in zip("ab", (A, B), seeds, strict=True):
        y = pb.wrap(Quantity(values, unit)).requires_grad_()
        expected = f(y)
        expected.backward(seed)
        mine, theirs = getattr(out._data, name), expected._data
        np.testing.assert_allclose(mine.value, theirs.value)
        assert mine.unit == theirs.unit and getattr(x.grad._data, name).unit == y.grad._data.unit
        np.testing.assert_allclose(getattr(x.grad._data, name).value, y.grad._data.value)


def test_122_printing_shows_both() -> None:
    x = pb.wrap(Two(Quantity(A, (("m", 1),)), Quantity(B, ())))
    assert repr(x) == "tensor(Two(a=[1., 2., 3.] m, b=[4., 5., 6.] 1))"
    assert repr(two() * 1) == "tensor(Two(a=array([1., 2., 3.]), b=array([4., 5., 6.])))"
    assert repr(leaf()).endswith("requires_grad=True)")


def test_123_round_trips(tmp_path: Path) -> None:
    x = quantity(A, "m s^-2").requires_grad_()
    nested = pb.wrap(Two(Quantity(A, ()), Quantity(B, ())))
    pb.save(os.fspath(tmp_path / "two"), {"two": leaf(), "plain": pb.ones(2)})
    again = pb.load(os.fspath(tmp_path / "two"))
    close(halves(again["two"]), (A, B))
    assert again["two"].requires_grad and again["plain"].tolist() == [1.0, 1.0]
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(made._data) is Quantity and made._data.unit == x._data.unit and made.requires_grad
        assert made._data.value.tolist() == A.tolist() and made._data.value is not x._data.value
    made = pickle.loads(pickle.dumps(nested))
    assert type(made._data.a) is Quantity and made._data.b.value.tolist() == B.tolist()
    metadata = pickle.loads(pickle.dumps(pb.aot.collect_metadata(lambda x: x * 2, leaf()).make_runtime_safe()))
    assert metadata.subclass_inp_meta[0].original_subclass_type is Two


# 124, 125. Transforms and tools.


def test_124_batches() -> None:
    rows = np.stack([A, B])
    x = quantity(rows, "m")
    got = pb.vmap(lambda row: (row * row).sum())(x)
    np.testing.assert_allclose(got._data.value, (rows * rows).sum(axis=1))
    assert units.written(got._data.unit) == "m^2"
    gradient = pb.vmap(pb.grad(lambda row: (row * row).sum()))(x)
    np.testing.assert_allclose(gradient._data.value, 2 * rows)
    assert units.written(gradient._data.unit) == "m"
    mask = np.array([[True, False, False], [False, True, True]])
    totals = pb.vmap(lambda row: row.sum())(pb.wrap(Masked(rows, mask)))
    np.testing.assert_allclose(totals._data.values, np.ma.array(rows, mask=mask).sum(axis=1))

    class Scaled(pb.Payload, parts=("values", "scale"), batched_parts=("values",)):
        default = "refuse"

    @Scaled.rule("any")
    def scaled(call: Any, x: Any, **params: Any) -> Any:
        return Scaled(call(x.values), x.scale)

    out = pb.vmap(lambda row: row.sum())(pb.wrap(Scaled(rows, np.array([2.0, 3.0]))))
    assert out._data.values.tolist() == rows.sum(axis=1).tolist() and out._data.scale.tolist() == [2.0, 3.0]


def test_125_checkpoint_hooks_and_saved_values() -> None:
    def f(x: Any) -> Any:
        return (pb.sin(x) * x).sum()

    x, y = leaf(), leaf()
    f(x).backward()
    pb.checkpoint(f, y, use_reentrant=False).backward()
    close(halves(x.grad), halves(y.grad))
    seen: list[Any] = []
    with graph.saved_tensors_hooks(lambda t: seen.append(type(t._data)) or t, lambda t: t):
        out = f(leaf())
    out.backward()
    assert set(seen) == {Two}
    z = leaf()
    w = z * 1
    w.register_hook(lambda g: g * 2)
    w.retain_grad()
    w.sum().backward()
    close(halves(z.grad), np.full((2, 3), 2.0))
    close(halves(w.grad), np.full((2, 3), 2.0))
    with pb.autograd.detect_anomaly():
        f(leaf()).backward()


def test_125_saved_values_by_parts() -> None:
    seen: list[Any] = []

    def pack(t: Any) -> Any:
        seen.append(type(t._data))
        return t * 1

    with graph.saved_tensors_hooks(pack, lambda t: t, pack_parts=True):
        x = leaf()
        out = (pb.sin(x) * x).sum()
    out.backward()
    assert set(seen) == {np.ndarray} and len(seen) >= 4
    close(halves(x.grad), [pb.grad(lambda x: (pb.sin(x) * x).sum())(pb.tensor(v)) for v in (A, B)])


class Wrong(pb.autograd.Function):
    """A sine with a wrong derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return pb.sin(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def test_125_gradcheck_moves_parts() -> None:
    assert pb.autograd.gradcheck(lambda x: pb.sin(x) * x, (leaf(),))
    assert pb.autograd.gradcheck(lambda x, w: (x * w).sum(), (leaf(), pb.tensor(A, requires_grad=True)))
    assert pb.autograd.gradgradcheck(lambda x: pb.sin(x) * x, (leaf(),))
    assert not pb.autograd.gradcheck(Wrong.apply, (leaf(),), raise_exception=False)

    class Fixed(Two):
        default = "each"

        def perturb(self) -> Any:
            return ("a",)

    assert pb.autograd.gradcheck(lambda x: pb.sin(x), (pb.wrap(Fixed(A, B)).requires_grad_(),))
    masked = pb.wrap(Masked(A, np.array([True, False, False]))).requires_grad_()
    assert pb.autograd.gradcheck(lambda x: x.mean(), (masked,))


# 126, 127. Compiled.


def test_126_graphs_are_those_of_the_function_of_parts() -> None:
    def f(x: Any) -> Any:
        return (pb.sin(x) * x).sum()

    def flat(a: Any, b: Any) -> Any:
        return f(a), f(b)

    def operations(traced: Any) -> list[str]:
        return sorted(line.split(" = ")[1] .split("#")[0].strip().split("(")[0]
                      for line in str(traced.graph).splitlines() if " = " in line and line.startswith("  "))

    assert operations(pb.aot.trace(f, two())) == operations(pb.aot.trace(flat, pb.tensor(A), pb.tensor(B)))
    compiled = pb.compile(lambda x: x * x)
    compiled(quantity(A, "m"))
    compiled(quantity(B, "m"))
    assert compiled.cache_info().misses == 1
    assert units.written(compiled(quantity(A, "s"))._data.unit) == "s^2"
    assert compiled.cache_info().misses == 2


FLOWS = {
    "scan": lambda x: pb.scan(lambda c, _: (pb.sin(c) + c, c.sum()), x, None, 3),
    "scan over rows": lambda x: pb.scan(lambda c, row: (c + row, c * row), x[0], x)[1],
    "while": lambda x: pb.while_loop(lambda c: pb.parts(c)[0].sum() < 30, lambda c: c + c, x),
    "fori": lambda x: pb.fori_loop(0, 3, lambda i, c: c * 2, x),
    "cond": lambda x: pb.cond(pb.parts(x)[0].sum() > 0, lambda c: c * 2, lambda c: c * 3, x),
}


@pytest.mark.parametrize("f", FLOWS.values(), ids=FLOWS.keys())
@pytest.mark.parametrize("is_compiled", [False, True])
def test_126_carries_are_payloads(f: Any, is_compiled: bool) -> None:
    function = pb.compile(f, fallback="raise") if is_compiled else f

    def total(outs: Any) -> Any:
        parts = outs if isinstance(outs, tuple) else (outs,)
        return sum(part.sum() for part in parts)

    x = leaf(np.stack([A, B]), np.stack([A, B]))
    out = function(x)
    plain = pb.tensor(np.stack([A, B]), requires_grad=True)
    flat_f = {id(FLOWS["while"]): lambda x: pb.while_loop(lambda c: c.sum() < 30, lambda c: c + c, x),
              id(FLOWS["cond"]): lambda x: x * 2}.get(id(f), f)
    expected = flat_f(plain)
    if f is FLOWS["while"]:  # it cannot be differentiated, as for plain tensors
        close(halves(out), [expected.detach()] * 2)
        return
    total(out).backward()
    total(expected).backward()
    close(halves(x.grad), [plain.grad] * 2)


def test_126_a_carry_keeps_its_meta() -> None:
    for function in (FLOWS["fori"], pb.compile(lambda x: pb.fori_loop(0, 3, lambda i, c: c * c, x), fallback="raise")):
        x = quantity(A, "m")
        if function is FLOWS["fori"]:
            assert units.written(function(x)._data.unit) == "m"
            continue
        with pytest.raises(pb.AutogradError) as error:
            function(x)
        assert error.value.code == "WRAPPER_META"


class Convertible(Quantity):
    """A quantity that takes plain gradients for ones of the right unit."""

    @staticmethod
    def from_plain(array: Any, meta: Any) -> Any:
        return Convertible(array, *meta)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_127_a_plain_gradient_is_converted_or_refused(is_compiled: bool) -> None:
    def f(x: Any) -> Any:
        return x * x

    for kind in (Convertible, Quantity):
        function = pb.compile(f) if is_compiled else f
        x = pb.wrap(kind(A, (("m", 1),))).requires_grad_()
        out = function(x)
        if kind is Convertible:
            out.backward(pb.tensor(np.ones(3)))
            np.testing.assert_allclose(x.grad._data.value, 2 * A)
            assert type(x.grad._data) is kind and units.written(x.grad._data.unit) == "m"
        else:
            with pytest.raises(pb.AutogradError) as error:
                out.backward(pb.tensor(np.ones(3)))
            assert error.value.code == "GRAD_WRAPPER"


# 128 to 130. The examples.


def test_128_masked_arrays_are_those_of_numpy() -> None:
    values = np.array([[1.0, np.nan, 3.0, -1.0], [4.0, 5.0, np.inf, 2.0]])
    mask = ~np.isfinite(values)
    known = np.ma.array(values, mask=mask)
    x = pb.wrap(Masked(values, mask))
    np.testing.assert_allclose(float(x.mean()._data.values), known.mean())
    np.testing.assert_allclose(x.mean(axis=1)._data.values, known.mean(axis=1))
    np.testing.assert_allclose(x.max(axis=1).numpy(), known.max(axis=1))
    np.testing.assert_allclose(x.min().numpy(), known.min())
    shares = pb.softmax(x, 1)._data
    powers = np.ma.exp(known - known.max(axis=1)[:, None])
    np.testing.assert_allclose(shares.values[~mask], (powers / powers.sum(axis=1)[:, None])[~mask])
    shared = lambda x: (pb.softmax(x, 1) * x).sum()
    for f in (lambda x: (x * x).mean(), lambda x: pb.sin(x).sum(), lambda x: x.max(), shared):
        y = pb.wrap(Masked(values, mask)).requires_grad_()
        f(y).backward()
        gradient = y.grad._data
        assert np.all(gradient.values[mask] == 0) and np.array_equal(gradient.mask, mask)
        eps = 1e-6
        for place in np.argwhere(~mask)[:3]:
            moved = []
            for sign in (1, -1):
                other = values.copy()
                other[tuple(place)] += sign * eps
                out = f(pb.wrap(Masked(other, mask)))._data
                moved.append(float(out.values if isinstance(out, Masked) else out))
            np.testing.assert_allclose(gradient.values[tuple(place)], (moved[0] - moved[1]) / (2 * eps), atol=1e-7)


def test_129_low_rank_equals_dense() -> None:
    random = np.random.default_rng(1)
    U, V, d = random.standard_normal((6, 2)), random.standard_normal((6, 2)), 3 + random.random(6)
    b, c = random.standard_normal((6, 3)), random.standard_normal(6)
    x, dense = pb.wrap(lowrank.LowRank(U, V, d)), U @ V.T + np.diag(d)
    for got, expected in (
        (x @ pb.tensor(b), dense @ b), (x @ pb.tensor(c), dense @ c), (pb.tensor(b.T) @ x, b.T @ dense),
        (pb.tensor(c) @ x, c @ dense), (x.T @ pb.tensor(b), dense.T @ b), (pb.trace(x), np.trace(dense)),
        (x.sum(), dense.sum()), (x.sum(axis=0), dense.sum(axis=0)), (x.sum(axis=1), dense.sum(axis=1)),
        (pb.linalg.solve(x, pb.tensor(b)), np.linalg.solve(dense, b)),
        (pb.linalg.slogdet(x)[1], np.linalg.slogdet(dense)[1]), (lowrank.todense(x), dense),
    ):  # fmt: skip
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-10, atol=1e-10)
    with pytest.raises(pb.AutogradError):
        pb.exp(x)

    def f(U: Any, V: Any, d: Any) -> Any:
        x = pb.wrap(lowrank.LowRank(U, V, d))
        return (
            pb.linalg.slogdet(x)[1] + (x @ pb.tensor(b)).sum() + pb.trace(x) + pb.linalg.solve(x, pb.tensor(c)).sum()
        )

    assert pb.autograd.gradcheck(f, [pb.tensor(part, requires_grad=True) for part in (U, V, d)])


def test_129_no_matrix_of_all_elements_is_made() -> None:
    n = 5000
    random = np.random.default_rng(2)
    U = pb.tensor(random.standard_normal((n, 2)), requires_grad=True)
    d = pb.tensor(1 + random.random(n), requires_grad=True)
    b = pb.tensor(random.standard_normal(n))
    tracemalloc.start()
    x = pb.wrap(lowrank.LowRank(U, U, d))
    (pb.linalg.slogdet(x)[1] + (b @ pb.linalg.solve(x, b)) + (x @ b).sum()).backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert U.grad.shape == (n, 2) and peak < 8 * n * n / 10


def test_130_classes_that_do_not_know_each_other_are_refused() -> None:
    with pytest.raises(pb.AutogradError) as error:
        pb.wrap(Two(A, B)) * pb.wrap(lowrank.LowRank(np.ones((3, 1)), np.ones((3, 1)), A))
    assert error.value.code == "KIND_MIX"

    class Taking(Two):
        default = "each"

    @Taking.rule("multiply")
    def product(call: Any, x: Any, y: Any) -> Any:
        other = units.value_of(y)
        return NotImplemented if not isinstance(y, Quantity) else Taking(call(x.a, other), call(x.b, other))

    assert type((pb.wrap(Taking(A, B)) * quantity(A, "m"))._data) is Taking


def test_130_all_examples_are_there() -> None:
    names = ("two", "units", "masked", "lowrank", "dtensor")
    assert {f"payload_{name}.py" for name in names} <= set(os.listdir(EXAMPLES))
