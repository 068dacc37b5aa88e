"""Transforms at the edges: deep nesting, odd shapes and dtypes, printing, copies, and what errors say."""

import copy
import pickle

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad as fwd
from pullback.func import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap
from pullback.testing import assert_close
from tests.func.transform_cases import TRANSFORMS, is_clean, program, t3, x3


def test_ten_gradients_of_one_another():
    def derivative(function, order):
        for _ in range(order):
            function = grad(function)
        return function

    assert_close(derivative(pb.exp, 10)(pb.tensor(0.5)), np.exp(0.5))
    assert_close(derivative(lambda x: x**10, 10)(pb.tensor(0.3)), 3628800.0, rtol=1e-12)


def test_eight_directions_of_one_another():
    def derivative(function, order):
        for _ in range(order):
            function = (lambda inner: lambda x: jvp(inner, (x,), (pb.ones_like(x),))[1])(function)
        return function

    assert_close(derivative(pb.exp, 8)(pb.tensor(0.5)), np.exp(0.5))


def test_six_maps_of_one_another():
    function = lambda x: pb.sin(x) * 2
    for _ in range(6):
        function = vmap(function)
    x = pb.arange(64.0).reshape((2,) * 6)
    assert_close(function(x), pb.sin(x) * 2)
    assert_close(grad(lambda x: function(x).sum())(x), pb.cos(x) * 2)


def smooth(x):
    return pb.sin(x) * x


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (1, 1)])
def test_shapes_without_axes_or_without_elements(shape):
    x = pb.ones(shape)
    assert_close(grad(lambda x: smooth(x).sum())(x), pb.cos(x) * x + pb.sin(x))
    slope = jvp(smooth, (x,), (x,))[1]
    assert_close(slope, (pb.cos(x) * x + pb.sin(x)) * x)
    assert jacrev(smooth)(x).shape == jacfwd(smooth)(x).shape == shape * 2
    assert hessian(lambda x: smooth(x).sum())(x).shape == shape * 2
    _, lin = linearize(smooth, x)
    assert_close(lin(x), slope)


def test_an_empty_batch():
    x = pb.zeros((0, 3))
    assert vmap(smooth)(x).shape == (0, 3)
    assert vmap(grad(program))(x).shape == (0, 3)
    assert vmap(lambda row: jvp(program, (row,), (row,))[1])(x).shape == (0,)
    assert grad(lambda x: vmap(program)(x).sum())(x).shape == (0, 3)
    assert vmap(hessian(lambda row: (row**3).sum()))(x).shape == (0, 3, 3)
    w = x3()
    assert_close(grad(lambda w: vmap(lambda row: (row * w).sum())(x).sum())(w), pb.zeros(3))


def test_a_batch_of_one():
    x = x3()[None]
    assert_close(vmap(grad(program))(x)[0], grad(program)(x3()))
    assert_close(vmap(program)(x)[0], program(x3()))


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64])
def test_every_transform_keeps_the_precision(dtype):
    x = x3().astype(dtype)

    def body(x):
        y = pb.zeros(4, dtype=dtype)
        y[1:] = pb.sin(x) * 0.5
        y[0] += (y * 2).sum()
        return (y * y).sum()

    assert grad(body)(x).dtype == dtype
    value, slope = jvp(body, (x,), (x,))
    assert value.dtype == slope.dtype == dtype
    assert jacrev(body)(x).dtype == jacfwd(body)(x).dtype == hessian(body)(x).dtype == dtype
    assert vmap(body)(x[None]).dtype == vmap(grad(body))(x[None]).dtype == dtype
    assert linearize(body, x)[1](x).dtype == dtype
    for strategy in ("fwd_rev", "rev_fwd", "rev_rev"):
        assert all(part.dtype == dtype for part in hvp(body, (x,), (x,), strategy=strategy))


def test_complex_arguments():
    z = pb.tensor([1.0 + 2.0j, -0.5 + 0.25j])
    t = pb.tensor([0.5 - 1.0j, 2.0 + 1.0j])

    def holomorphic(z):
        return pb.sin(z) * z

    slope = pb.cos(z) * z + pb.sin(z)
    assert_close(jvp(holomorphic, (z,), (t,))[1], slope * t)
    vjp_fn = vjp(holomorphic, z)[1]
    (cotangent,) = vjp_fn(t)
    assert_close((cotangent.conj() * t).real.sum(), (t.conj() * slope * t).real.sum())
    gradient = grad(lambda z: (abs(z) ** 2).sum())(z)
    assert_close(gradient, 2 * z)
    assert_close(vmap(lambda z, t: jvp(holomorphic, (z,), (t,))[1])(z, t), slope * t)
    assert_close(vmap(grad(lambda z: abs(z) ** 2))(z), 2 * z)
    assert_close(linearize(holomorphic, z)[1](t), slope * t)
    x = pb.tensor([1.0, 2.0])
    slope = jvp(lambda x: holomorphic(x * (1 + 0j)).real, (x,), (pb.ones(2),))[1]
    assert_close(slope, pb.cos(x) * x + pb.sin(x))


def test_tensors_inside_transforms_can_be_printed():
    seen = []

    def body(x):
        seen.extend([repr(x), repr(x * 2), str(x[0])])
        return (x * x).sum()

    for transform in TRANSFORMS.values():
        transform(body)
    assert all(isinstance(text, str) and text for text in seen)
    seen.clear()
    jvp(body, (x3(),), (t3(),))
    assert "tangent=" in seen[0]


def test_a_batched_tensor_prints_what_it_is():
    seen = []
    vmap(lambda x: seen.append(repr(x)) or x)(pb.arange(6.0).reshape(2, 3))
    assert "float64" in seen[0] or "vmap" in seen[0] or "batch" in seen[0].lower()


def test_copies_of_a_dual():
    with fwd.dual_level():
        dual = fwd.make_dual(x3(), t3())
        shallow, deep = copy.copy(dual), copy.deepcopy(dual)
        assert_close(fwd.unpack_dual(shallow).tangent, t3())
        assert_close(fwd.unpack_dual(deep).tangent, t3())
        deep.mul_(2)
        assert_close(fwd.unpack_dual(dual).tangent, t3())
        assert_close(fwd.unpack_dual(dual).primal, x3())
        with pytest.raises(RuntimeError):
            pickle.dumps(dual)
        with pytest.raises(RuntimeError, match="tangent"):
            dual.numpy()
        assert pickle.loads(pickle.dumps(dual.detach())).tolist() == [1.0, 2.0, 3.0]
    assert pickle.loads(pickle.dumps(dual)).tolist() == [1.0, 2.0, 3.0]


def test_a_copy_inside_vmap():
    rows = pb.stack([x3(), t3()])
    assert_close(vmap(lambda x: copy.copy(x) * 2)(rows), rows * 2)


def twice(vjp_fn):
    return vjp_fn(pb.ones(3), retain_graph=False), vjp_fn(pb.ones(3))


@pytest.mark.parametrize(
    "code, call",
    [
        ("VMAP_DATA", lambda: vmap(lambda x: x.item())(x3())),
        ("VMAP_DATA", lambda: vmap(lambda x: x if x > 0 else -x)(x3())),
        ("VMAP_DATA", lambda: vmap(lambda x: x.numpy())(x3())),
        ("VMAP_DATA", lambda: vmap(lambda x: setattr(x, "data", pb.ones(3)))(x3())),
        ("VMAP_DATA", lambda: vmap(lambda x: setattr(pb.ones(3), "data", x))(x3())),
        ("VMAP_DYNAMIC_SHAPE", lambda: vmap(lambda x: pb.nonzero(x))(pb.ones((2, 3)))),
        ("VMAP_INPLACE", lambda: (lambda c: vmap(lambda x: c.add_(x))(x3()))(pb.zeros(()))),
        ("CAPTURE_MUTATED", lambda: (lambda c: jvp(lambda x: c.copy_(x).sum(), (x3(),), (t3(),)))(pb.zeros(3))),
        ("CAPTURE_MUTATED", lambda: (lambda c: grad(lambda x: c.copy_(x).sum())(x3()))(pb.zeros(3))),
        ("LEAF_INPLACE", lambda: grad(lambda x: x.mul_(2).sum())(x3())),
        ("BACKWARD_IN_TRANSFORM", lambda: grad(lambda x: (x.sum().backward(), x.sum())[1])(x3())),
        ("FORWARD_NO_LEVEL", lambda: fwd.make_dual(x3(), t3())),
        ("FORWARD_NO_LEVEL", lambda: fwd.exit_dual_level()),
        ("FORWARD_SHAPE", lambda: jvp(pb.sin, (x3(),), (pb.ones(2),))),
        ("SECOND_BACKWARD", lambda: twice(vjp(pb.sin, x3())[1])),
    ],
)
def test_errors_say_what_why_and_what_to_do(code, call):
    with pytest.raises(pb.AutogradError) as caught:
        call()
    error = caught.value
    assert error.code == code
    assert error.what and error.why and error.fix
    assert all(part in str(error) for part in (error.what, error.why, error.fix))
    assert is_clean()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy({"x": [x]})["x"][0]])
def test_copies_inside_of_a_transform_are_recorded(duplicate):
    x = pb.tensor([1.0, 2.0])
    assert_close(grad(lambda x: (duplicate(x) ** 2 + duplicate(x * 1)).sum())(x), [3.0, 5.0])
    assert_close(vmap(grad(lambda x: duplicate(x).sum()))(pb.ones((2, 2))), np.ones((2, 2)))


def test_what_a_transform_differentiates_is_not_pickled():
    with pytest.raises(pb.autograd.AutogradError, match="PICKLE_DUAL"):
        pb.func.grad(lambda x: pickle.loads(pickle.dumps(x)).sum())(pb.ones(2))


def test_value_and_grad_is_grad_and_value_in_the_other_order():
    x = pb.tensor([1.0, 3.0])
    value, gradient = pb.func.value_and_grad(lambda x: (x * x).sum())(x)
    assert value.item() == 10.0 and gradient.tolist() == [2.0, 6.0]
    (value, aux), gradient = pb.func.value_and_grad(lambda x, y: ((x * y).sum(), "aux"), argnums=1, has_aux=True)(x, x)
    assert value.item() == 10.0 and aux == "aux" and gradient.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("positions", [pb.where, np.where, pb.argwhere, pb.flatnonzero, pb.argmax, pb.argsort, np.sign])
def test_what_gives_positions_has_no_tangent(positions):
    x = pb.tensor([1.5, 0.0, 2.0])
    value, tangent = jvp(lambda x: positions(x), (x,), (pb.ones(3),))
    for found in pb.tree.leaves(tangent):
        assert not found.any()
    assert_close(jacfwd(lambda x: x[pb.where(x)] ** 2)(x), [[3.0, 0, 0], [0, 0, 4.0]])
    assert str(value) == str(positions(x))
