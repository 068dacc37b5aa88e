"""Cases 122 to 130 of other arrays: payloads in payloads, files, tools, compiled functions, the examples."""

import copy
import os
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import graph
from tests.array_programs import WAYS, program, results
from tests.conformance.payloads import (
    EXAMPLES,
    A,
    B,
    Masked,
    Quantity,
    Two,
    close,
    halves,
    leaf,
    lowrank,
    quantity,
    two,
    units,
)

# 109, by random programs: a pair computes what two plain runs do.


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_a_program_on_a_pair_is_two_programs(seed, way):
    check_a_pair(seed, way)


def check_a_pair(seed, way):
    rng = np.random.default_rng(seed)
    firsts = rng.normal(size=[(2, 3), (1, 4), (3,)][seed % 3]), rng.normal(size=3)
    seconds = [0.7 * x + 0.1 for x in firsts]
    function = program(seed)
    got = results(function, *[pb.wrap(Two(x, y)) for x, y in zip(firsts, seconds, strict=True)], way)
    for name, arrays in (("a", firsts), ("b", seconds)):
        for one, other in zip(got, results(function, *map(pb.tensor, arrays), way), strict=True):
            np.testing.assert_allclose(getattr(one.detach().payload, name), other.detach().numpy(), 1e-9, 1e-12)


def test_a_tangent_that_a_rule_makes_is_of_the_kind_of_its_value():
    def written(x):
        steps = pb.floor(x)  # its tangent is a zero that nobody computed
        steps[0] = x.sum()
        return steps

    x = two(A, B)
    tangent = pb.func.jvp(written, (x,), (pb.ones_like(x),))[1]
    assert isinstance(tangent.payload, Two)
    for part in (tangent.payload.a, tangent.payload.b):
        wanted = np.zeros(A.shape)
        wanted[0] = A.size
        np.testing.assert_array_equal(part, wanted)


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
