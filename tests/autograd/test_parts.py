"""Gradients of parts are added in place, into buffers that nobody else has, and mean what the general path means."""

from __future__ import annotations

import functools
import gc
import sys
import tracemalloc

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import observers, switch
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.tape import entries

OPERATORS = [
    op
    for op in registry.values()
    if (op.shows_each_once or op.add_at is not None or op.take_out is not None) and op.sample_rule is not None
]


@pytest.fixture
def plainly():
    """Runs a program in the way that defines what it means: with fast paths shut, and somebody who watches."""

    def run(pass_):
        switch.open()
        observers.append(lambda *seen: None)
        try:
            return pass_()
        finally:
            observers.pop()
            switch.close()

    return run


def gradient_of_uses(op, operands, params):
    x = pb.tensor(operands[0], requires_grad=True)
    y = x * 1
    first, second = (op.call(y, *operands[1:], **params) for _ in range(2))
    (first * 2 + second * second).sum().backward(pb.tensor(1.0, dtype=x.dtype))
    return x.grad.numpy()


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_the_gradient_of_a_part_is_the_one_of_its_rule(op, plainly):
    for sample in samples_of(op):
        operands = sample.inputs()
        if operands[0].dtype.kind in "fc":
            use = functools.partial(gradient_of_uses, op, operands, sample.params)
            np.testing.assert_array_equal(use(), plainly(use))


# Random programs of reads and writes.


class Program:
    """A random program on one state array. `run` gives the gradients of its leaves.

    With `freeze`, everything that somebody outside of the pass may hold is made read-only as soon as it is seen: a pass
    that writes it raises.
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.seed = seed

    def key(self, shape):
        parts = []
        for length in shape:
            kind = self.random.integers(5)
            if kind == 0:
                parts.append(int(self.random.integers(length)))
            elif kind == 1:
                parts.append(slice(None, None, -1))
            elif kind == 2:
                start = int(self.random.integers(length))
                parts.append(slice(start, int(self.random.integers(start, length)) + 1))
            else:
                parts.append(slice(None))
        return tuple(parts)

    def write_places(self, kind, whole, w):
        """By an array, which may name a place twice, by an array for each axis, or by a mask."""
        count = len(whole)
        rows = self.random.integers(-count, count, size=int(self.random.integers(1, 5)))
        if kind == 9:
            whole[rows] = w
        elif kind == 10:
            whole[rows] = whole[rows[::-1].copy()] * w
        elif kind == 11:
            key = tuple(self.random.integers(length, size=(2, 3)) for length in whole.shape)
            whole[key] += w * whole[key]
        else:
            mask = self.random.random(whole.shape[: int(self.random.integers(1, whole.ndim + 1))]) < 0.5
            whole[mask] = whole[mask] * w if self.random.integers(2) else w

    def run(self, freeze: bool, create: bool):
        self.random = random = np.random.default_rng(self.seed)
        x = pb.tensor(random.standard_normal((3, 4)), requires_grad=True)
        w = pb.tensor(random.standard_normal(()), requires_grad=True)
        h = pb.zeros((3, 4)) if random.integers(2) else x * 1
        held, seen = [], []

        def hold(gradient):
            held.append(gradient)
            seen.append(gradient.detach().numpy().copy())
            if freeze:
                gradient._data.flags.writeable = False

        values = []
        for _ in range(int(random.integers(4, 12))):
            whole = (h, h.T, h.reshape(-1), x)[random.integers(4)]
            part = whole[self.key(whole.shape)]
            kind = random.integers(13)
            if kind == 0:
                values.append((part * w).sum())
            elif kind == 1:
                values.append(part.sum() * h.reshape(-1)[int(random.integers(12))])
            elif whole is x:
                values.append(x[random.integers(3, size=5), random.integers(4, size=5)].sum() * w)
            elif kind == 2:
                whole[self.key(whole.shape)] = w
            elif kind == 3:
                key = self.key(whole.shape)
                whole[key] = whole[key] * w
            elif kind == 4:
                part += w
            elif kind == 5:
                part *= 0.5
            elif kind == 6:
                part *= w
            elif kind == 7:
                part.tanh_()
            elif kind == 8:
                h[self.key(h.shape)] -= 0.25
            else:
                self.write_places(kind, whole, w)
            if random.integers(6) == 0 and h.requires_grad:
                h.register_hook(hold)
            if random.integers(6) == 0 and part.requires_grad:
                part.retain_grad()
                part.register_hook(hold)
        root = h.sum() + h[1].sum() * 2
        for value in values:
            root = root + value
        if not root.requires_grad:
            return [], []
        given = np.array(1.0)
        given.flags.writeable = not freeze
        if random.integers(2):
            wanted = [each for each in (x, w, h) if each.requires_grad]
            found = pb.autograd.grad(root, wanted, pb.asarray(given), retain_graph=True, allow_unused=True,
                                     create_graph=create)  # fmt: skip
            for each in found:
                if each is not None:
                    hold(each)
        for _ in range(2):
            root.backward(pb.asarray(given), retain_graph=True, create_graph=create)
            for leaf in (x, w):
                if leaf.grad is not None and freeze:
                    leaf.grad._data.flags.writeable = False
        for gradient, value in zip(held, seen):
            np.testing.assert_array_equal(gradient.detach().numpy(), value)
        return seen, [None if leaf.grad is None else leaf.grad.detach().numpy() for leaf in (x, w)]


@pytest.mark.parametrize("seeds", range(8))
def test_random_reads_and_writes_mean_what_they_mean_on_the_general_path_and_write_nothing_of_others(seeds, plainly):
    for seed in range(25 * seeds, 25 * (seeds + 1)):
        seen, grads = Program(seed).run(True, False)
        for create in (False, True):
            others, expected = plainly(lambda seed=seed, create=create: Program(seed).run(False, create))
            for ours, theirs in zip([*seen, *grads], [*others, *expected], strict=True):
                assert (ours is None) == (theirs is None)
                if ours is not None:
                    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14, err_msg=str(seed))


# Writes.


def test_an_augmented_assignment_is_one_write_and_counts_two_versions():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for base in (x * 1, pb.zeros(3)):
        version, before = base._version, base.grad_fn
        base[1:3] *= x[0] * 10
        assert base._version == version + 2
        assert base.grad_fn.name() == "CopySlices"
        assert base.grad_fn.next_functions[0][0] is before


def test_an_augmented_assignment_of_a_constant_counts_two_versions():
    x = pb.tensor([1.0, 2.0, 3.0])
    x[1:] += 0.5
    np.testing.assert_array_equal(x.numpy(), [1, 2.5, 3.5])
    assert x._version == 2


def test_a_view_that_was_used_since_its_write_is_a_value_like_any_other():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y, seen = x * 1, []
    view = y[1:]
    view *= 2
    view.register_hook(lambda g: seen.append(g.numpy().copy()))
    y[1:] = view
    y.sum().backward()
    np.testing.assert_array_equal(seen, [[1, 1]])
    np.testing.assert_array_equal(x.grad.numpy(), [1, 2, 2])


def test_a_view_of_other_memory_with_the_same_index_is_a_value_like_any_other():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    view = y[1:]
    view *= 2
    y.data = pb.zeros(3)
    y[1:] = view
    np.testing.assert_array_equal(y.detach().numpy(), [0, 4, 6])


ARITHMETIC = ["add_", "sub_", "mul_", "div_", "pow_", "maximum_", "atan2_", "hypot_"]


@pytest.mark.parametrize("name", [name for name in ARITHMETIC if hasattr(pb.Tensor, name)])
@pytest.mark.parametrize("other", ["number", "constant", "leaf", "element", "view"])
@pytest.mark.parametrize("of_constant", [False, True])
def test_an_operator_in_place_on_a_view_means_what_it_means_on_the_general_path(name, other, of_constant, plainly):
    def run():
        x = pb.tensor([0.5, 1.5, 2.0, 3.0], requires_grad=True)
        y = pb.tensor([2.0, 1.25], requires_grad=True)
        given = {"number": 1.5, "constant": pb.tensor([1.5, 2.5]), "leaf": y, "element": y[0], "view": (x * 2)[2:]}
        base = pb.tensor([0.75, 1.5, 2.0, 3.0]) if of_constant else x * 1
        before = base[1] * 1
        view = base[1:3]
        getattr(view, name)(given[other])
        getattr(base[2:], name)(given[other])
        out = (base * base).sum() + before + view.sum()
        return out, [x, y]

    def gradients():
        out, leaves = run()
        if not out.requires_grad:
            return [out.numpy()]
        first = pb.autograd.grad(out, leaves, create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        second = pb.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else ()
        out, leaves = run()
        plain = pb.autograd.grad(out, leaves, allow_unused=True)
        return [out.detach().numpy(), *(None if g is None else g.detach().numpy() for g in (*first, *second, *plain))]

    for ours, theirs in zip(gradients(), plainly(gradients), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_part_of_one_of_several_results_can_be_written():
    def gradients(copied):
        x = pb.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        q, r = pb.linalg.qr(x)
        q, r = (q * 1, r * 1) if copied else (q, r)
        q[0] = 2.0
        q[1, 1] += r[0, 0]
        (q * r).sum().backward()
        return x.grad.numpy()

    np.testing.assert_allclose(gradients(False), gradients(True), rtol=1e-12)


@pytest.mark.parametrize("policy", ["preserve", "raise"])
def test_a_write_to_a_part_knows_what_graphs_keep(policy):
    for write in (lambda y: y.__setitem__(0, 5.0), lambda y: y[0:1].mul_(3.0)):
        with pb.autograd.overwrite_policy(policy):
            x = pb.tensor([1.0, 2.0], requires_grad=True)
            y = x * 1
            kept, other = y[0] * y[0], y[1] * y[1]
            write(y)
            other.backward(retain_graph=True)
            np.testing.assert_array_equal(x.grad.numpy(), [0, 4])
            if policy == "raise":
                with pytest.raises(pb.autograd.AutogradError, match="VERSION"):
                    kept.backward()
            else:
                kept.backward()
                np.testing.assert_array_equal(x.grad.numpy(), [2, 4])


def count_by_a_view(y):
    y[:].unsqueeze_(-1)


def count_by_assigning_a_part_to_itself(y):
    y[0:2] = y[0:2]


@pytest.mark.parametrize("count", [count_by_a_view, count_by_assigning_a_part_to_itself])
@pytest.mark.parametrize("times", [1, 3])
def test_a_version_that_is_counted_without_a_write_forgets_nothing_that_graphs_keep(count, times):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.tensor([3.0, 4.0])
    kept = []
    for _ in range(times):
        kept.append((x * y[0:2]).sum())
        count(y)
    y[0] = 9.0
    for each in kept:
        each.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3 * times, 4 * times])


def test_private_memory_that_a_graph_keeps_is_left_by_a_write_to_a_part():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    with pb.autograd.graph.report_overwrites() as report:
        y[0] = 7.0
        y[1] = 8.0
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])
    assert [(each.kind, each.nbytes) for each in report] == [("left", 16)]


def test_second_derivatives_go_through_writes_to_parts(plainly):
    def hessian():
        x = pb.tensor([0.5, 2.0, 3.0], requires_grad=True)
        y = x * x
        y[1:] *= x[0]
        y[0] = y[1] * x[2]
        y[:2] /= x[1]
        (g,) = pb.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = pb.autograd.grad((g * g).sum(), x)
        return g.detach().numpy(), h.numpy()

    for ours, theirs in zip(hessian(), plainly(hessian)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_refused_writes_to_parts_are_refused_with_the_same_words(plainly):
    def words(write):
        leaf = pb.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises((pb.autograd.AutogradError, ValueError, TypeError)) as caught:
            write(leaf)
        return str(caught.value)

    for write in (
        lambda leaf: leaf.__setitem__(0, 1.0),
        lambda leaf: leaf[0:1].mul_(2.0),
        lambda leaf: pb.broadcast_to(leaf * 1, (2, 2)).__setitem__((slice(None), 0), 1.0),
        lambda leaf: (leaf * 1).__setitem__(slice(None), pb.ones(3)),
    ):
        assert words(write) == plainly(lambda write=write: words(write))


# How costs grow: counted, not timed.


class Count:
    """Counts the functions that are called in a block, and the arrays of at least `size` elements that are made by the
    ways in which formulas and the engine make them."""

    def __init__(self, size: int = 1 << 62) -> None:
        self.size = size
        self.calls = self.wholes = 0

    def __enter__(self):
        self._kept = np.zeros, entries._sum

        def zeros(shape, *args, **kwargs):
            out = self._kept[0](shape, *args, **kwargs)
            self.wholes += out.size >= self.size
            return out

        def total(first, second):
            self.wholes += first.size >= self.size
            return self._kept[1](first, second)

        np.zeros, entries._sum = zeros, total
        sys.setprofile(self._note)
        return self

    def _note(self, frame, event, what):
        if event == "call":
            self.calls += 1
        elif event == "c_call" and what.__name__ == "copy" and isinstance(what.__self__, np.ndarray):
            self.wholes += what.__self__.size >= self.size

    def __exit__(self, *exc):
        sys.setprofile(None)
        np.zeros, entries._sum = self._kept


def reads(x, count):
    total = x[0] * x[1]
    for k in range(count):
        total = total + x[k] * x[k + 1]
    return total


def slices(x, count):
    total = x[:3].sum()
    for k in range(count):
        total = total + (x[k : k + 3] * x.reshape(-1)[k + 1 : k + 4]).sum()
    return total


def places(x, count):
    total = x[[0, 1]].sum()
    for k in range(count):
        total = total + x[[k, k + 1, k]].sum()
    return total


def writes(x, count):
    h = x * 1
    for k in range(count):
        h[k] = 0.5
    return h.sum()


def fill(x, count):
    h = x * 1
    for k in range(count):
        h[k + 1] = h[k] * 0.9
    return h.sum()


def slice_writes(x, count):
    h = x * 1
    for k in range(count):
        h[k : k + 2] *= 0.9
        h[k : k + 2] += x[k]
    return h.sum()


LOOPS = [reads, slices, places, writes, fill, slice_writes]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_backward_pass_over_many_parts_makes_few_whole_arrays(loop):
    size = 5000
    made = []
    for count in (20, 80):
        x = pb.tensor(np.ones(size), requires_grad=True)
        out = loop(x, count)
        with Count(size) as counted:
            out.backward()
        made.append(counted.wholes)
    assert made[0] == made[1] <= 3


@pytest.mark.parametrize("loop", LOOPS)
def test_memory_of_a_backward_pass_over_many_parts_is_that_of_few_whole_arrays(loop):
    size = 200_000
    x = pb.tensor(np.ones(size), requires_grad=True)
    loop(x, 3).backward()
    x.grad = None
    out = loop(x, 100)
    gc.collect()
    tracemalloc.start()
    try:
        out.backward()
        assert tracemalloc.get_traced_memory()[1] <= 3.5 * x.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("loop", LOOPS)
def test_a_step_calls_as_many_functions_in_a_long_loop_on_a_large_array_as_in_a_short_one(loop):
    steps = []
    for size, first, second in ((100, 10, 30), (20_000, 200, 400)):
        x = pb.tensor(np.ones(size), requires_grad=True)
        loop(x, first).backward()
        calls = []
        for count in (first, second):
            with Count() as counted:
                loop(x, count).backward()
            calls.append(counted.calls)
        steps.append((calls[1] - calls[0]) / (second - first))
    assert steps[1] <= 1.1 * steps[0] + 0.5


def test_a_long_chain_of_views_is_not_walked_from_each_of_them():
    calls = []
    for count in (50, 400):
        view = x = pb.tensor(np.ones(3), requires_grad=True)
        for _ in range(count):
            view = view[:]
        out, seen = view.sum(), [0]

        def count_one(frame, event, what, seen=seen):
            seen[0] += event in ("call", "c_call")  # the pass asks a dictionary about every node it looks at

        sys.setprofile(count_one)
        try:
            out.backward()
        finally:
            sys.setprofile(None)
        calls.append(seen[0] / count)
        np.testing.assert_array_equal(x.grad, np.ones(3))
    assert calls[1] <= 1.1 * calls[0]
