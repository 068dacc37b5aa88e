"""Random programs under every transform, and under transforms of transforms.

A program that can be run can be differentiated, batched, and both in any order. What must come out is known without
another implementation: differences, a loop over the batch, or the same derivative taken another way.
"""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad as fwd
from pullback.core.state import current, open_levels
from pullback.func import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.testing import assert_close
from tests.func.random_programs import Program, Step, make_program

BATCH = 3


class Case:
    """A program with inputs, directions and batches for them."""

    def __init__(self, program, inputs, seed):
        numbers = np.random.default_rng(seed)
        self.program = program
        self.inputs = tuple(inputs)
        self.positions = tuple(range(len(inputs)))
        self.tangents = tuple(pb.tensor(numbers.normal(size=x.shape)) for x in inputs)
        self.rows = tuple(pb.tensor(x.numpy() + 0.3 * numbers.normal(size=(BATCH, *x.shape))) for x in inputs)
        self.slopes = tuple(pb.tensor(numbers.normal(size=(BATCH, *x.shape))) for x in inputs)
        self.is_reversible = self._is_reversible()
        # Under no_grad tangents flow and gradients do not: the modes differ there, as they should.
        self.is_plain = self.is_reversible and not program.has_no_grad

    def _is_reversible(self):
        """A write to a value that backward needs is refused; forward mode does not mind."""
        leaves = [x.clone().requires_grad_() for x in self.inputs]
        try:
            self.program(*leaves).sum().backward()
        except pb.AutogradError as error:
            if error.code != "VERSION":
                raise
            return False
        return True

    def differences(self, freezes, observe=lambda out: out, step=1e-5):
        """The derivative in the direction of the tangents; the steps that `freezes` names stay what they were."""
        frozen = {}
        self.program.run(self.inputs, frozen, freezes)

        def at(length):
            moved = [x + length * t for x, t in zip(self.inputs, self.tangents, strict=True)]
            return observe(self.program.result(self.program.run(moved, frozen or None, freezes))).numpy()

        return (at(step) - at(-step)) / (2 * step)

    def mapped(self):
        """Every choice of mapped inputs: the in_dims, the arguments, and the arguments of one example."""
        for dims in itertools.product((0, None), repeat=len(self.inputs)):
            if any(dim is not None for dim in dims):
                yield dims, *self.arguments(dims, self.inputs, self.rows)

    @staticmethod
    def arguments(dims, shared, rows):
        choices = list(zip(shared, rows, dims, strict=True))
        whole = tuple(one if dim is None else many for one, many, dim in choices)
        return whole, [tuple(one if dim is None else many[i] for one, many, dim in choices) for i in range(BATCH)]


def along(gradients, tangents):
    return sum((g * t).sum() for g, t in zip(gradients, tangents, strict=True))


def check_forward(case):
    value, slope = jvp(case.program, case.inputs, case.tangents)
    assert_close(value, case.program(*case.inputs))
    assert_close(slope, case.differences(("detach",)), rtol=2e-5, atol=2e-5)
    with fwd.dual_level():
        duals = [fwd.make_dual(x, t) for x, t in zip(case.inputs, case.tangents, strict=True)]
        assert_close(fwd.unpack_dual(case.program(*duals)).tangent, slope)
        assert_close(jvp(case.program, case.inputs, case.tangents)[1], slope)
    parts = [
        jvp(case.program, case.inputs, tuple(t if n == k else None for n, t in enumerate(case.tangents)))[1]
        for k in case.positions
    ]
    assert_close(sum(parts[1:], parts[0]), slope, rtol=1e-8, atol=1e-8)


def check_reverse(case):
    gradients = grad(case.program.scalar, case.positions)(*case.inputs)
    leaves = [x.clone().requires_grad_() for x in case.inputs]
    for one, other in zip(
        gradients, pb.autograd.grad(case.program.scalar(*leaves), leaves, materialize_grads=True), strict=True
    ):
        assert not one.requires_grad
        assert_close(one, other)
    number = case.differences(("detach", "no_grad"), lambda out: (out * out * 0.25 + pb.sin(out)).sum())
    assert_close(along(gradients, case.tangents), number, rtol=2e-5, atol=2e-5)


def check_adjoint(case):
    slope = jvp(case.program, case.inputs, case.tangents)[1]
    output, vjp_fn = vjp(case.program, *case.inputs)
    cotangent = pb.cos(pb.arange(float(output.size)))
    gradients = vjp_fn(cotangent)
    assert_close((slope * cotangent).sum(), along(gradients, case.tangents), rtol=1e-8, atol=1e-8)
    _, lin = linearize(case.program, *case.inputs)
    assert_close(lin(*case.tangents), slope, rtol=1e-8, atol=1e-8)
    assert_close(vmap(lin)(*case.slopes)[1], lin(*(t[1] for t in case.slopes)), rtol=1e-8, atol=1e-8)
    transposed = grad(lambda *t: (lin(*t) * cotangent).sum(), case.positions)(*case.tangents)
    for one, other in zip(transposed, gradients, strict=True):
        assert_close(one, other, rtol=1e-8, atol=1e-8)


def check_jacobians(case):
    slope = jvp(case.program, case.inputs, case.tangents)[1]
    forward = jacfwd(case.program, case.positions)(*case.inputs)
    products = [
        pb.tensordot(j, t, t.ndim) if t.ndim else j * t for j, t in zip(forward, case.tangents, strict=True)
    ]
    assert_close(sum(products[1:], products[0]), slope, rtol=1e-8, atol=1e-8)
    if case.is_plain:
        for chunk_size in (None, 2):
            for one, other in zip(
                jacrev(case.program, case.positions, chunk_size=chunk_size)(*case.inputs), forward, strict=True
            ):
                assert_close(one, other, rtol=1e-8, atol=1e-8)


def check_second_order(case):
    results = [
        hvp(case.program.scalar, case.inputs, case.tangents, strategy=strategy)
        for strategy in ("fwd_rev", "rev_fwd", "rev_rev")
    ]
    for result in results[1:]:
        for one, other in zip((*result[0], *result[1]), (*results[0][0], *results[0][1]), strict=True):
            assert_close(one, other, rtol=1e-7, atol=1e-7)
    of_first = lambda x: case.program.scalar(x, *case.inputs[1:])
    x, X = case.inputs[0], case.rows[0]
    matrices = [outer(inner(of_first))(x) for outer in (jacfwd, jacrev) for inner in (jacfwd, jacrev)]
    for matrix in matrices[1:]:
        assert_close(matrix, matrices[0], rtol=1e-7, atol=1e-7)
    assert_close(vmap(hessian(of_first))(X)[1], hessian(of_first)(X[1]), rtol=1e-7, atol=1e-7)


def check_leaves_outside(case):
    """The user's own leaves and levels around a transform."""
    wanted = hvp(case.program.scalar, case.inputs, case.tangents)[1]

    def check_gradients(number):
        if number.requires_grad:
            number.backward()
        for leaf, product in zip(leaves, wanted, strict=True):
            found = pb.zeros_like(leaf) if leaf.grad is None else leaf.grad
            assert_close(found, product, rtol=1e-7, atol=1e-7)

    leaves = [x.clone().requires_grad_() for x in case.inputs]
    check_gradients(along(grad(case.program.scalar, case.positions)(*leaves), case.tangents))
    leaves = [x.clone().requires_grad_() for x in case.inputs]
    check_gradients(jvp(case.program.scalar, tuple(leaves), case.tangents)[1])
    with fwd.dual_level():
        duals = [fwd.make_dual(x, t) for x, t in zip(case.inputs, case.tangents, strict=True)]
        for gradient, product in zip(grad(case.program.scalar, case.positions)(*duals), wanted, strict=True):
            tangent = fwd.unpack_dual(gradient).tangent
            assert_close(pb.zeros_like(product) if tangent is None else tangent, product, rtol=1e-7, atol=1e-7)


def check_vmap(case):
    for dims, whole, examples in case.mapped():
        wanted = np.stack([case.program(*example).numpy() for example in examples])
        assert_close(vmap(case.program, dims)(*whole), wanted)
        assert_close(vmap(case.program, dims, out_dims=1, chunk_size=2)(*whole), wanted.T)


def check_vmap_and_grad(case):
    for dims, whole, examples in case.mapped():
        loop = [grad(case.program.scalar, case.positions)(*example) for example in examples]
        each = vmap(grad(case.program.scalar, case.positions), dims)(*whole)
        total = grad(lambda *a, d=dims: vmap(case.program.scalar, d)(*a).sum(), case.positions)(*whole)
        leaves = [x.clone().requires_grad_() for x in whole]
        captured = {n: leaf for n, leaf in enumerate(leaves) if dims[n] is None}

        def with_captures(*mapped, captured=captured):
            given = iter(mapped)
            return case.program.scalar(*[captured[n] if n in captured else next(given) for n in case.positions])

        vmap(with_captures)(*[leaf for n, leaf in enumerate(leaves) if n not in captured]).sum().backward()
        for n in case.positions:
            rows = np.stack([gradients[n].numpy() for gradients in loop])
            assert_close(each[n], rows, rtol=1e-8, atol=1e-8)
            assert_close(total[n], rows.sum(axis=0) if dims[n] is None else rows, rtol=1e-8, atol=1e-8)
            found = pb.zeros_like(leaves[n]) if leaves[n].grad is None else leaves[n].grad
            assert_close(found, rows.sum(axis=0) if dims[n] is None else rows, rtol=1e-8, atol=1e-8)


def check_vmap_and_jvp(case):
    count = len(case.inputs)
    for dims, whole, examples in case.mapped():
        slopes, each = case.arguments(dims, case.tangents, case.slopes)
        pairs = zip(examples, each, strict=True)
        loop = np.stack([jvp(case.program, example, slope)[1].numpy() for example, slope in pairs])
        found = vmap(lambda *a: jvp(case.program, a[:count], a[count:])[1], dims * 2)(*whole, *slopes)
        assert_close(found, loop, rtol=1e-8, atol=1e-8)
        assert_close(jvp(vmap(case.program, dims), whole, slopes)[1], loop, rtol=1e-8, atol=1e-8)
    found = vmap(lambda *t: jvp(case.program, case.inputs, t)[1])(*case.slopes)
    wanted = [jvp(case.program, case.inputs, tuple(t[i] for t in case.slopes))[1].numpy() for i in range(BATCH)]
    assert_close(found, np.stack(wanted), rtol=1e-8, atol=1e-8)


def check_vmap_of_vmap(case):
    rest = case.inputs[2:]
    A, B = case.rows[0][:2], case.rows[1]
    both = lambda A, B: vmap(lambda a: vmap(lambda b: case.program.scalar(a, b, *rest))(B))(A)
    each = lambda A, B: [[case.program.scalar(A[i], B[j], *rest) for j in range(BATCH)] for i in range(2)]
    assert_close(both(A, B), np.array([[float(number) for number in row] for row in each(A, B)]))
    tangents = (case.slopes[0][:2], case.slopes[1])
    slopes = jvp(lambda A, B: pb.stack([pb.stack(row) for row in each(A, B)]), (A, B), tangents)[1]
    assert_close(jvp(both, (A, B), tangents)[1], slopes, rtol=1e-8, atol=1e-8)
    if case.is_reversible:
        total = grad(lambda A, B: both(A, B).sum(), (0, 1))(A, B)
        loop = grad(lambda A, B: sum(number for row in each(A, B) for number in row), (0, 1))(A, B)
        for one, other in zip(total, loop, strict=True):
            assert_close(one, other, rtol=1e-8, atol=1e-8)


# For which cases a check is made.
CHECKS = {
    check_forward: lambda case: True,
    check_reverse: lambda case: case.is_reversible,
    check_adjoint: lambda case: case.is_plain,
    check_jacobians: lambda case: True,
    check_second_order: lambda case: case.is_plain,
    check_leaves_outside: lambda case: case.is_plain,
    check_vmap: lambda case: True,
    check_vmap_and_grad: lambda case: case.is_reversible,
    check_vmap_and_jvp: lambda case: True,
    check_vmap_of_vmap: lambda case: True,
}

# Every check has its own programs, and the cheap ones have more.
PROGRAMS = dict.fromkeys((check_forward, check_reverse, check_adjoint), 30)


@pytest.mark.parametrize("number, check", list(enumerate(CHECKS)), ids=[check.__name__ for check in CHECKS])
def test_random_programs(number, check):
    before = current()
    for seed in range(number * 1000, number * 1000 + PROGRAMS.get(check, 10)):
        program, inputs = make_program(seed)
        case = Case(program, inputs, seed)
        if CHECKS[check](case):
            try:
                check(case)
            except Exception as error:
                raise AssertionError(f"{check.__name__} fails for the program of seed {seed}:\n{program!r}") from error
            assert current() is before and not open_levels


def test_the_programs_are_not_all_alike():
    """The generator uses most of its steps, and most of its programs can be differentiated backwards."""
    used = set()
    reversible = 0
    for seed in range(100):
        program, inputs = make_program(seed)
        used.update(step.name for step in program.steps)
        reversible += Case(program, inputs, seed).is_reversible
    assert len(used) > 55
    assert reversible > 50


SMALL = {
    # A value that shares its tangent with another one, which is written later.
    "shared tangent": ([(3,), (3,)], [Step("scaled", (0,), 2), Step("add", (2, 1)), Step("mul_", (2, 1))]),
    # A write to what a vmap returned is a write to a view of what the vmap made.
    "written after vmap": ([(3,), (3,)], [Step("in_vmap", (1,)), Step("mul_", (2, 0))]),
    # Gradients that were computed inside a transform belong to it.
    "written gradient": ([(3,), (3,)], [Step("in_grad", (1, 1)), Step("add_", (2, 0))]),
    "filled": ([(3,), (3,)], [Step("abs", (0,)), Step("fill_", (2,), 0.5), Step("mul", (2, 0))]),
    # What writes to the argument of an inner transform writes to the caller's tensor, tangents included.
    "written by jvp": ([(3,), (3,)], [Step("scaled", (0,), 2), Step("in_jvp_", (2, 1))]),
    "written in a level": ([(3,), (3,)], [Step("scaled", (0,), 2), Step("in_level_", (2, 1)), Step("mul", (2, 1))]),
    "written in rows": ([(2, 3), (3,)], [Step("sin", (0,)), Step("in_rows_", (2, 1))]),
    # The tangent of the quotient was computed from a tangent that is overwritten later.
    "overwritten tangent": ([(3,), (3,)], [Step("sub", (1, 0)), Step("ratio", (2, 0)), Step("add_", (2, 3))]),
    "doubled after use": ([(3,), (3,)], [Step("sin", (0,)), Step("tanh", (2,)), Step("doubled_", (2,))]),
}


@pytest.mark.parametrize("shapes, steps", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_small_programs_that_once_failed(shapes, steps, check):
    numbers = np.random.default_rng(0)
    case = Case(Program(shapes, steps), [pb.tensor(numbers.uniform(0.3, 1.2, shape)) for shape in shapes], 0)
    assert case.is_plain
    check(case)
