"""Programs in which the body of a reverse transform does something, for `test_bodies_of_transforms.py`."""

import threading

import numpy as np

import pullback as pb

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def point(n=4):
    return pb.tensor(np.linspace(0.3, 0.9, n))


# Results, and what escapes.


@program
def a_gradient_and_its_value():
    return pb.func.value_and_grad(lambda x: (pb.sin(x) * x[0]).sum())(point())


@program
def several_arguments_in_containers():
    def loss(p, n, data):
        return ((p["w"] @ p["b"]) * data).sum() * n

    x = {"w": point(9).reshape(3, 3), "b": point(3)}
    gradient = pb.func.grad(loss)(x, 2.0, point(3))
    return gradient["w"], gradient["b"]


@program
def what_escapes_is_constant_afterwards():
    kept = []

    def loss(x):
        y = x * 2.0
        kept.extend([x, y, y[1:], y.sum(), y.reshape(2, 2), pb.zeros(2), *pb.topk(y, 2)])
        return (y * y).sum()

    gradient = pb.func.grad(loss)(point())
    later = [(each * 3.0 if isinstance(each, pb.Tensor) else each) for each in kept]
    return gradient, kept, later


@program
def what_escapes_can_be_differentiated_again():
    kept = []

    def loss(x):
        kept.append(x * 2.0)
        return kept[0].sum()

    pb.func.grad(loss)(point())
    leaf = point().requires_grad_()
    (kept[0][1:] * leaf[1:] + kept[0][0]).sum().backward()
    return leaf.grad


@program
def arguments_come_back_as_they_were_given():
    x = point()
    (value, aux), gradient = pb.func.value_and_grad(lambda v: (v.sum(), (v, v * 2.0)), has_aux=True)(x)
    return value, aux[0] is x, aux[1], gradient


@program
def constants_and_arguments_as_results():
    x = pb.tensor(2.0)
    return pb.func.grad(lambda v: v)(x), pb.func.grad(lambda v: pb.tensor(1.0))(x), pb.func.grad(lambda v: v * 0.0)(x)


@program
def whether_something_requires_grad():
    found = []
    other = pb.tensor(np.ones(4))

    def loss(x):
        y = x * 2.0
        z = other * 3.0
        with pb.no_grad():
            w = x * 3.0
        u = x.detach() * 2.0
        found.extend([x.requires_grad, y.requires_grad, y[0].requires_grad, z.requires_grad, w.requires_grad])
        found.extend([u.requires_grad, x.is_leaf, y.is_leaf, y.grad_fn.name(), x.grad_fn is None])
        return (y * z + w * u * y).sum()

    return pb.func.grad(loss)(point()), found


# Captured tensors.


@program
def a_captured_leaf():
    w = point().requires_grad_()
    gradient = pb.func.grad(lambda x: (x * x * w).sum() + (x * 3.0).sum())(point())
    gradient.sum().backward()
    return gradient, w.grad


@program
def a_captured_leaf_that_the_gradient_does_not_depend_on():
    w = point().requires_grad_()
    return pb.func.grad(lambda x: (x * x).sum() + w.sum())(point())


@program
def a_captured_view_of_a_leaf():
    w = point(8).requires_grad_()
    part = w[2:6]
    gradient = pb.func.grad(lambda x: (x * part).sum() + (part * part * x).sum())(point())
    gradient.sum().backward()
    return gradient, w.grad


@program
def captured_constants_and_their_views():
    w = point(8)
    part, turned = w[2:6], w.reshape(2, 4).T
    return pb.func.grad(lambda x: (x * part).sum() + (turned[0] * x[:2]).sum() + (part[1:] * x[1:]).sum())(point())


@program
def an_argument_with_a_history():
    w = point().requires_grad_()
    gradient = pb.func.grad(lambda x: (x * x * x).sum())(w * 2.0)
    gradient.sum().backward()
    return gradient, w.grad


@program
def one_argument_with_a_history_and_one_without():
    w = point().requires_grad_()
    first, second = pb.func.grad(lambda x, y: (x * x * y).sum() + (y * y).sum(), (0, 1))(w * 2.0, point())
    (first.sum() + second.sum()).backward()
    return first, second, w.grad


@program
def under_no_grad_nothing_is_recorded():
    w = point().requires_grad_()
    with pb.no_grad():
        return pb.func.grad(lambda x: (x * x * w).sum())(point())


# Nested transforms.


@program
def a_gradient_in_a_gradient():
    return pb.func.grad(lambda x: pb.func.grad(lambda y: (y * y * y * x).sum())(x).sum())(point())


@program
def a_gradient_in_a_gradient_of_captured_values():
    def outer(x):
        z = x * x
        inner = pb.func.grad(lambda y: (y * z * y).sum() + (z * z).sum())(x * 2.0)
        return (inner * z).sum()

    return pb.func.grad(outer)(point())


@program
def a_third_derivative_of_what_inner_bodies_make():
    kept = []

    def innermost(y):
        kept.append(y * y)
        return (kept[-1] * pb.exp(y)).sum()

    def inner(x):
        value, gradient = pb.func.value_and_grad(innermost)(x * 2.0)
        return (gradient * value * kept[-1]).sum()

    gradient = pb.func.grad(lambda x: (pb.func.grad(inner)(x) * x).sum() + (kept[-1] * x).sum())(point())
    return gradient, kept[-1]


@program
def a_value_and_a_gradient_of_a_leaf():
    leaf = point().requires_grad_()
    value, gradient = pb.func.value_and_grad(lambda x: (x * x * x[0]).sum())(leaf)
    (value * 2.0 + (gradient * leaf).sum()).backward()
    return value, gradient, leaf.grad


@program
def a_jvp_in_a_gradient_and_around_it():
    def f(x):
        return (pb.sin(x) * x[0]).sum()

    x, v = point(), pb.ones(4)
    inside = pb.func.grad(lambda x: pb.func.jvp(f, (x,), (v,))[1])(x)
    return inside, pb.func.jvp(pb.func.grad(f), (x,), (v,)), pb.func.hessian(f)(x), pb.func.jacfwd(pb.func.grad(f))(x)


@program
def a_vmap_in_a_gradient_and_around_it():
    x = point(6).reshape(2, 3)
    inside = pb.func.grad(lambda x: pb.func.vmap(lambda row: (row * row).sum())(x).sum())(x)
    return inside, pb.func.vmap(pb.func.grad(lambda row: (pb.exp(row) * row[0]).sum()))(x)


@program
def jacobians():
    def f(x):
        y = x * 1.0
        y[1:] *= x[0]
        return pb.stack([y.sum(), (y * y).sum(), y[1]])

    return pb.func.jacrev(f)(point()), pb.func.jacfwd(f)(point())


@program
def a_pass_that_is_kept_and_recorded():
    value, pull = pb.func.vjp(lambda x: pb.exp(x) * x[0], point())
    g = point().requires_grad_()
    (first,) = pull(g)
    first.sum().backward()
    return value, first, g.grad, pull(pb.ones(4))


@program
def gradients_inside_the_body():
    def loss(x):
        y = pb.sin(x) * x
        (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
        return (g * g * y).sum()

    return pb.func.grad(loss)(point())


@program
def gradients_of_parts_inside_the_body():
    w = point().requires_grad_()

    def loss(x):
        y = x * x * w
        (g,) = pb.autograd.grad((y * y).sum(), w, create_graph=True)
        return (g * x).sum()

    gradient = pb.func.grad(loss)(point())
    gradient.sum().backward()
    return gradient, w.grad


# Writes.


@program
def writes_to_what_the_body_makes():
    def loss(x):
        h = pb.zeros(5)
        h[0] = x[0]
        for i in range(4):
            h[i + 1] = h[i] * x[i] + 1.0
        u = x * 1.0
        u[1:-1] += u[2:] * u[:-2]
        u *= 2.0
        u[np.array([0, 2])] = x[:2]
        u -= h[1:]
        view = u[1:3]
        view *= x[0]
        return (u * u).sum() + h.sum() + view.sum()

    x = point()
    return pb.func.grad(loss)(x), x


@program
def a_write_of_a_captured_leafs_value():
    w = point().requires_grad_()

    def loss(x):
        u = x * 1.0
        part = u[1:3]
        u[1:3] = w[1:3] * 2.0
        return (u * u * x).sum() + part.sum()

    gradient = pb.func.grad(loss)(point())
    gradient.sum().backward()
    return gradient, w.grad


@program
def a_write_to_an_argument():
    def loss(x):
        x[0] = 1.0
        return x.sum()

    return pb.func.grad(loss)(point())


@program
def a_write_to_a_view_of_an_argument():
    def loss(x):
        part = x[1:]
        part += 1.0
        return x.sum()

    return pb.func.grad(loss)(point())


@program
def a_whole_argument_in_place():
    def loss(x):
        x += 1.0
        return x.sum()

    return pb.func.grad(loss)(point())


@program
def a_write_to_an_argument_that_is_not_differentiated():
    x, y = point(), point()

    def loss(x, y):
        y[0] = x[0]
        y *= 2.0
        return (x * y).sum()

    return pb.func.grad(loss)(x, y), y


def _captured(write):
    other = pb.zeros(4)

    def loss(x):
        write(other, x)
        return x.sum()

    return pb.func.grad(loss)(point()), other


@program
def a_write_of_an_argument_to_a_captured_tensor():
    return _captured(lambda other, x: other.__setitem__(0, x[0] * 2.0))


@program
def a_sum_of_an_argument_and_a_captured_tensor_in_place():
    return _captured(lambda other, x: other.add_(x))


@program
def a_write_to_a_view_of_a_captured_tensor():
    return _captured(lambda other, x: other[1:].mul_(x[1:]))


@program
def a_constant_written_to_a_captured_tensor():
    return _captured(lambda other, x: other.__setitem__(0, 5.0))


@program
def a_captured_history_written_with_an_argument():
    leaf = point().requires_grad_()
    other = leaf * 2.0

    def loss(x):
        other[0] = 1.0
        other[1:] += x[1:]
        return (x * other).sum()

    return pb.func.grad(loss)(point())


@program
def a_value_that_is_overwritten():
    def loss(x):
        y = x * 1.0
        z = y * y
        y += 1.0
        y[0] = 3.0
        return (z * y).sum()

    return pb.func.grad(loss)(point())


# Hooks and other modes.


@program
def hooks_and_retained_gradients():
    found = []

    def loss(x):
        y = x * 2.0
        y.register_hook(lambda g: g * 10.0)
        x.register_hook(lambda g: found.append(g * 1.0))
        z = y * y
        z.grad_fn.register_hook(lambda inputs, outputs: found.append(outputs[0] * 1.0))
        return z.sum()

    return pb.func.grad(loss)(point()), found


@program
def hooks_of_saved_values():
    found = []

    def pack(x):
        found.append(x.shape)
        return x * 1.0

    def loss(x):
        y = x * 2.0
        with pb.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            z = y * x
        return (z * y).sum()

    return pb.func.grad(loss)(point()), found


@program
def saved_values_are_seen():
    def loss(x):
        y = x * 2.0
        z = y * y
        saved = z.grad_fn._saved_self
        return (z * saved).sum() + (pb.exp(x).grad_fn._saved_result * x).sum()

    return pb.func.grad(loss)(point())


@program
def modes_that_change_on_the_way():
    def loss(x):
        y = x * 2.0
        with pb.no_grad():
            y = y + x
            with pb.enable_grad():
                z = x * y
        with pb.autograd.detect_anomaly():
            z = z * x
        pb.autograd.set_grad_enabled(False)
        w = z * 5.0
        pb.autograd.set_grad_enabled(True)
        return (z * w).sum()

    return pb.func.grad(loss)(point())


@program
def a_function_of_the_users():
    class Cube(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    def f(x):
        return (Cube.apply(x * 2.0) * x).sum()

    return pb.func.grad(f)(point()), pb.func.grad(lambda x: pb.func.grad(f)(x).sum())(point())


@program
def a_checkpoint():
    def f(x):
        return (pb.utils.checkpoint.checkpoint(lambda y: pb.sin(y) * y[0], x * 2.0, use_reentrant=False) * x).sum()

    return pb.func.grad(f)(point())


@program
def leaves_that_the_body_makes():
    def loss(x):
        own = pb.tensor(np.ones(4), requires_grad=True)
        y = (x * own).sum()
        (g,) = pb.autograd.grad(y, own, create_graph=True)
        return (g * x).sum()

    return pb.func.grad(loss)(point())


@program
def backward_is_refused():
    return pb.func.grad(lambda x: (x * x).sum().backward())(point())


@program
def several_results_and_other_dtypes():
    def loss(x):
        values, places = pb.topk(x, 2)
        z = x.astype(np.complex128) * 2j
        q, r = pb.linalg.qr(pb.outer(x, x) + pb.eye(4))
        return values.sum() + x[places].sum() + abs(z).sum() + (q @ r).sum() + x.astype(np.float32).sum().astype(float)

    return pb.func.grad(loss)(point())


@program
def large_arrays():
    x = pb.tensor(np.linspace(0.1, 1.0, 20_000))
    gradient = pb.func.grad(lambda x: (pb.sin(x) * x + x[::2].sum()).sum())(x)
    return gradient[:5] * 1.0, gradient[-5:] * 1.0


@program
def another_thread():
    def loss(x):
        y = x * 2.0
        found = []

        def work():
            found.append((y * x).sum())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0] + y.sum()

    return pb.func.grad(loss)(point())


@program
def an_exception_on_the_way():
    kept = []

    def loss(x):
        kept.append(x * 2.0)
        raise ValueError("no")

    try:
        pb.func.grad(loss)(point())
    except ValueError:
        pass
    leaf = point().requires_grad_()
    (leaf * kept[0]).sum().backward()
    return kept, (kept[0] * 2.0), leaf.grad, pb.func.grad(lambda x: (x * kept[0]).sum())(point())


@program
def tangents_that_a_gradient_is_taken_of():
    def f(x):
        pushed = pb.func.linearize(lambda u: pb.sin(u) * x, x)[1](x)
        return (pushed * x).sum()

    x = point()
    return pb.func.jvp(f, (x,), (x,)), pb.func.grad(f)(x)


@program
def an_unused_argument():
    return pb.func.grad(lambda x, y: (x * x).sum(), (0, 1))(point(), point(2))


@program
def arguments_that_are_no_arrays():
    rows = pb.nested.nested([np.ones(2), np.full(3, 0.5)])
    gradient = pb.func.grad(lambda x: (pb.sin(x * 2.0) * x).sum())(rows)
    return [row.clone() for row in gradient.unbind()]
