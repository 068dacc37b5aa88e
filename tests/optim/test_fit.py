"""`pb.optim.fit`: steps over batches, and what ends them."""

import itertools

import numpy as np
import pytest

import pullback as pb

X = np.linspace(-1.0, 1.0, 24)
START = {"slope": 0.0, "start": np.zeros(())}


def loss(tree, x, y):
    return ((tree["slope"] * x + tree["start"] - y) ** 2).mean()


def data(**options):
    return pb.data.batches(X, 2 * X - 1, **{"size": 8, "seed": 1, "epochs": 3, **options})


def square(tree):
    return (tree**2).sum()


def test_it_makes_the_steps_that_one_would_write():
    adam = pb.optim.Adam(0.1)
    found = pb.optim.fit(loss, START, data(), optimizer=adam, clip=lambda g: pb.optim.clip_by_norm(g, 1.0))
    tree = pb.tree.map(pb.asarray, START)
    state, losses = adam.init(tree), []
    for batch in data():
        value, gradients = pb.value_and_grad(loss)(tree, *batch)
        losses.append(value.item())
        tree, state = adam.update(tree, pb.optim.clip_by_norm(gradients, 1.0), state)
    assert found.success and found.steps == 9 and "all batches" in found.message
    np.testing.assert_allclose(found.losses, losses, rtol=1e-12)
    assert pb.tree.all_close(found.x, tree, rtol=1e-12) and pb.tree.all_close(found.state, state, rtol=1e-12)


def test_going_on_is_as_not_having_stopped():
    whole = pb.optim.fit(loss, START, data())
    batches = data()
    first = pb.optim.fit(loss, START, batches, callback=lambda found: found.steps == 4)
    assert not first.success and first.steps == 4 and "callback" in first.message
    rest = pb.optim.fit(loss, first.x, batches, state=first.state)
    assert rest.steps == 5
    assert pb.tree.all_close(rest.x, whole.x, rtol=0, atol=0)


def test_time_that_is_over_ends_it():
    found = pb.optim.fit(square, pb.ones(3), itertools.repeat(()), timeout=0.0)
    assert found.steps == 1 and not found.success and "timeout=" in found.message
    assert "1 steps, last loss 3" in repr(found)


def test_progress_is_told():
    seen = []
    pb.optim.fit(loss, START, data(epochs=1), progress=lambda *told: seen.append(told))
    pb.optim.fit(square, pb.ones(3), itertools.repeat((), 2), progress=lambda *told: seen.append(told))
    assert seen == [(1, 3, "fit"), (2, 3, "fit"), (3, 3, "fit"), (1, 0, "fit"), (2, 0, "fit")]


def test_leaves_keep_what_they_had():
    x = pb.ones(3, requires_grad=True)
    found = pb.optim.fit(square, x, itertools.repeat((), 3), optimizer=pb.optim.SGD(0.1))
    assert x.grad is None and x._version == 0 and x.tolist() == [1.0, 1.0, 1.0]
    assert not found.x.requires_grad
    np.testing.assert_allclose(found.x.numpy(), 0.8**3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pb.optim.LBFGS(), r"pb\.optim\.minimize\(loss, tree\)"),
        (lambda: pb.optim.Adam(pb.ones(2, requires_grad=True)), "without leaves"),
        (lambda: "adam", "without leaves"),
    ],
)
def test_other_optimizers_are_refused_with_what_to_do(make, words):
    with pytest.raises(TypeError, match=words):
        pb.optim.fit(square, pb.ones(2), [()], optimizer=make())


def test_a_loss_that_is_not_finite_names_the_step():
    with pytest.raises(pb.AutogradError, match="not finite in step 1"):
        pb.optim.fit(lambda t: pb.log(t).sum(), pb.zeros(2), [()])


def test_least_squares_tells_how_far_it_is():
    pytest.importorskip("scipy")
    seen = []
    residuals = lambda t: pb.exp(t["a"] * X) - np.exp(0.5 * X)
    found = pb.optim.least_squares(residuals, {"a": 0.0}, max_nfev=50, progress=lambda *told: seen.append(told))
    assert found.success and seen and seen == [(k + 1, 50, "least_squares") for k in range(len(seen))]
