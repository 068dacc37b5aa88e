"""What runs in the body of a reverse transform, on the fast paths of plain code, means what the general path means.

Each program of `body_programs.py` is run three times: on the general path, on the fast paths, and on those with the
native tape. All that can be seen of the results is compared.
"""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import switch
from pullback.eager.native_tape import tape
from pullback.errors import AutogradError
from tests.eager.body_programs import PROGRAMS, point, program

# What one body makes and another one meets, living or ended.


def _written_in_another_body(make, write):
    """A tensor that one body makes and uses in another one, which writes to it: living and ended."""
    found = []

    def inner(y, other):
        used = (other * y).sum() + (other[1:] * y[1:]).sum()
        try:
            write(other, y)
        except AutogradError as error:
            found.append(error.code)
        return used + (other * y).sum()

    def outer(x):
        other = make(x)
        found.append(other)
        return (pb.func.grad(lambda y: inner(y, other))(x) * x).sum() + (other * x).sum()

    gradient = pb.func.grad(outer)(point())
    return gradient, pb.func.grad(lambda y: inner(y, found[0]))(point()), found


@program
def what_another_body_made_is_captured():
    makers = [lambda x: pb.ones(4), lambda x: x.detach() * 2.0, lambda x: x * 2.0, lambda x: (x * 2.0)[:]]
    writers = [
        lambda other, y: other.__setitem__(0, y[0] * 2.0),
        lambda other, y: other.add_(y),
        lambda other, y: other[1:].mul_(y[1:]),
        lambda other, y: other.__setitem__(np.array([0, 1]), y[:2]),
        lambda other, y: other.__setitem__(0, 5.0),
    ]
    return [_written_in_another_body(make, write) for make in makers for write in writers]


@program
def views_of_what_an_ended_body_made_and_that_is_written():
    found = []
    for write in (lambda base: base.__setitem__(0, 5.0), lambda base: base.mul_(2.0), lambda base: base[1:].mul_(2.0)):
        kept = []

        def loss(x, kept=kept):
            y = x * 2.0
            kept.extend([y, y[1:], y.reshape(2, 2).T])
            return y.sum()

        pb.func.grad(loss)(point())
        write(kept[0])
        found.append([kept, [each.grad_fn for each in kept], [each[0] * 1.0 for each in kept]])
    return found


@program
def one_history_of_several_has_ended():
    """Operands of general operators that depend on different transforms, in either order, three derivatives deep."""
    functions = [
        lambda a, b: (pb.outer(a, b) @ pb.outer(a, b)).sum(),
        lambda a, b: pb.real(((a * (1 + 1j)) * (b * (1 + 2j))).sum() ** 3),
        lambda a, b: (pb.stack([a, b]).prod(0) ** 3).sum(),
        lambda a, b: pb.concatenate([a, b]).prod() ** 2,
        lambda a, b: pb.exp((a * b).sum()),
    ]
    found = []
    for f in functions:
        for swapped in (lambda a, b, f=f: f(a, b), lambda a, b, f=f: f(b, a)):
            leaf = point(2).requires_grad_()
            for first in pb.func.grad(swapped, (0, 1))(leaf * 2.0, pb.ones(2)):
                (second,) = pb.autograd.grad((first**3).sum(), leaf, create_graph=True)
                (third,) = pb.autograd.grad((second**2).sum(), leaf, retain_graph=True)
                arrays = [each.detach().numpy() for each in (second, third)]
                found.append([(each / abs(each).sum()).round(9).tolist() for each in arrays])
    return found


def seen(value):
    """All that can be seen of a result."""
    if isinstance(value, pb.Tensor):
        return (value.detach().numpy().tolist(), value.requires_grad, value.is_leaf, value._version, str(value.dtype))
    if isinstance(value, (tuple, list)):
        return [seen(each) for each in value]
    return value


def outcome(function):
    try:
        return seen(function())
    except AutogradError as error:
        return error.code
    except (RuntimeError, ValueError) as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.filterwarnings("ignore:anomaly mode")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_the_program_means_the_same_on_all_paths(function):
    switch.open()
    try:
        general = outcome(function)
    finally:
        switch.close()
    assert outcome(function) == general
    tape.load()
    if tape.is_on:
        assert outcome(function) == general


def test_what_a_body_makes_is_freed_with_it():
    references = []

    def loss(x):
        y = x * 2.0
        z = y[1:] * 3.0
        h = pb.zeros(4)
        h[1:] = z
        references.extend([weakref.ref(y), weakref.ref(z), weakref.ref(h), weakref.ref(y.grad_fn)])
        return (h * h).sum()

    gc.collect()
    gc.disable()
    try:
        pb.func.grad(loss)(point())
        assert [each() for each in references] == [None] * 4
    finally:
        gc.enable()


def test_passes_run_in_two_threads_at_once():
    expected = pb.func.grad(lambda x: (pb.sin(x) * x[0]).sum())(point()).tolist()
    found = []

    def work():
        found.extend(pb.func.grad(lambda x: (pb.sin(x) * x[0]).sum())(point()).tolist() == expected for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 400


def test_a_few_rows_of_a_jacobian_are_those_of_a_batch():
    leaf = point(3).requires_grad_()

    def f(x):
        y = pb.sin(x) * x[0]
        return {"a": y[1:], "b": (y * y).sum(), "c": pb.zeros(2)}

    def with_leaf(x):
        return x * leaf

    for function in (f, with_leaf):
        few, many = pb.func.jacrev(function)(point(3)), pb.func.jacrev(function, chunk_size=100)(point(3))
        with pb.no_grad():
            unrecorded = pb.func.jacrev(function)(point(3))
        for one, other, third in zip(*map(pb.tree.leaves, (few, many, unrecorded)), strict=True):
            pb.testing.assert_close(one, other)
            pb.testing.assert_close(third, other.detach())
            assert one.requires_grad == other.requires_grad
            assert not third.requires_grad


@pytest.mark.parametrize("made", [lambda x: x.detach() * 2, lambda x: x * 2, lambda x: (x * 2)[:]])
def test_parts_of_what_a_body_that_has_ended_made_are_constants(made):
    kept, x = [], pb.tensor([1.0, 2.0])

    def body(x):
        kept.append(made(x))
        return x.sum()

    pb.func.grad(body)(x)
    found = pb.func.grad(lambda y: (kept[0][0] * y).sum() + kept[0][1:].sum() * y.sum())(x)
    assert found.tolist() == [6.0, 6.0]
