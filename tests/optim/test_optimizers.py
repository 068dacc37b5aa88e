"""`pb.optim`: one formula for steps in place, for pure functions of trees, and for compiled steps."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

MAKERS = {
    "sgd": lambda *a, **k: pb.optim.SGD(*a, momentum=0.9, nesterov=True, weight_decay=0.01, **k),
    "adam": lambda *a, **k: pb.optim.Adam(*a, weight_decay=0.01, **k),
    "adamw": pb.optim.AdamW,
    "rmsprop": lambda *a, **k: pb.optim.RMSprop(*a, momentum=0.5, centered=True, **k),
    "adagrad": lambda *a, **k: pb.optim.Adagrad(*a, lr_decay=0.1, **k),
}
X, Y = np.random.default_rng(1).normal(size=(2, 8, 3))


def start(dtype=float):
    rng = np.random.default_rng(2)
    return {"w": pb.tensor(rng.normal(size=(3, 3)), dtype=dtype), "b": pb.zeros(3, dtype=dtype)}


def loss(tree, x, y):
    return ((pb.tanh(x @ tree["w"] + tree["b"]) - y) ** 2).mean()


@pytest.mark.parametrize("name", MAKERS)
def test_trees_leaves_and_compiled_steps_agree(name):
    rate = pb.optim.warmup(3, then=pb.optim.cosine(0.1, 20))
    opt = MAKERS[name](rate)
    tree, state = start(), opt.init(start())
    compiled, compiled_state = start(), opt.init(start())
    step = opt.compiled_step(loss)
    leaves = pb.tree.requires_grad_(start())
    in_place = MAKERS[name](leaves, lr=rate)
    for _ in range(12):
        tree, state = opt.update(tree, pb.grad(loss)(tree, X, Y), state)
        compiled, compiled_state, value = step(compiled, compiled_state, X, Y)
        in_place.zero_grad()
        before = loss(leaves, X, Y)
        before.backward()
        in_place.step()
        assert_close(value, before.detach(), rtol=1e-10)
    assert pb.tree.all_close(compiled, tree, rtol=1e-10, atol=1e-12)
    assert pb.tree.all_close(leaves, tree, rtol=1e-10, atol=1e-12)
    assert state.t.item() == compiled_state.t.item() == 12


def test_a_compiled_step_with_a_schedule_compiles_once():
    opt = pb.optim.AdamW(pb.optim.warmup(10, then=pb.optim.cosine(0.05, 900)))
    step = opt.compiled_step(loss, clip=lambda gradients: pb.optim.clip_by_norm(gradients, 1.0))
    tree, state = start(), opt.init(start())
    values = []
    for _ in range(1000):
        tree, state, value = step(tree, state, X, Y)
        values.append(value.item())
    info = step.compiled.cache_info()
    assert (info.misses, info.hits) == (1, 999)
    assert state.t.item() == 1000 and values[-1] < 0.7 * values[0]


def test_the_learning_rate_may_be_a_tensor_and_has_a_derivative():
    def after(lr):
        opt = pb.optim.Adam(lr=lr)
        tree = start()
        state = opt.init(tree)
        for _ in range(3):
            tree, state = opt.update(tree, pb.grad(loss)(tree, X, Y), state)
        return loss(tree, X, Y)

    slope = pb.grad(after)(pb.tensor(0.05))
    step = 1e-5
    expected = (after(pb.tensor(0.05 + step)) - after(pb.tensor(0.05 - step))) / (2 * step)
    assert_close(slope, expected, rtol=1e-6)
    rates = pb.tensor([0.01, 0.05])
    assert_close(pb.vmap(after)(rates), pb.stack([after(rates[0]), after(rates[1])]))


@pytest.mark.parametrize("name", MAKERS)
def test_single_precision_stays_single(name):
    opt = MAKERS[name](pb.optim.constant(0.1))
    tree = start("float32")
    step = opt.compiled_step(loss)
    state = opt.init(tree)
    for _ in range(2):
        tree, state = opt.update(tree, pb.grad(loss)(tree, X.astype("f4"), Y.astype("f4")), state)
        tree, state, _ = step(tree, state, X.astype("f4"), Y.astype("f4"))
    dtypes = pb.tree.map(lambda x: str(x.dtype), (tree, state.slots))
    assert set(pb.tree.leaves(dtypes)) == {"float32"}


def test_the_parts_of_complex_numbers_are_parameters_of_their_own():
    z = pb.tensor([1.0 + 2.0j, -0.5j], requires_grad=True)
    pair = pb.view_as_real(z.detach()).clone().requires_grad_()
    of_complex, of_real = pb.optim.Adam(z, lr=0.1), pb.optim.Adam(pair, lr=0.1)
    for _ in range(5):
        (abs(z * z - 1) ** 2).sum().backward()
        (abs(pb.view_as_complex(pair) ** 2 - 1) ** 2).sum().backward()
        of_complex.step()
        of_real.step()
    assert_close(pb.view_as_real(z.detach()), pair.detach())


def test_a_step_is_a_write_that_is_counted():
    x = pb.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    version = x._version
    pb.optim.SGD(x, lr=0.1).step()
    assert_close(x.detach(), 1.6)
    assert x._version > version and x.is_leaf and x.requires_grad


def test_groups_have_settings_of_their_own_that_can_be_changed():
    a, b = (pb.tensor(1.0, requires_grad=True) for _ in range(2))
    opt = pb.optim.SGD([{"params": a}, {"params": {"b": b}, "lr": 0.5, "weight_decay": 1.0}], lr=0.1)
    (a + b).backward()
    opt.step()
    assert_close(a.detach(), 0.9)
    assert_close(b.detach(), 0.0)
    opt.param_groups[0]["lr"] = 0.2
    opt.step()
    assert_close(a.detach(), 0.7)
    with pytest.raises(TypeError, match="no setting 'momentun'"):
        pb.optim.SGD([{"params": pb.ones(1, requires_grad=True), "momentun": 1}])


def test_a_leaf_without_gradient_stays_and_its_count_of_steps_too():
    a, b = (pb.tensor(1.0, requires_grad=True) for _ in range(2))
    opt = pb.optim.Adam([a, b], lr=0.1)
    (a * 1).backward()
    opt.step()
    assert_close(b.detach(), 1.0)
    (a + 5 * b).backward()
    opt.step()
    assert_close(b.detach(), 0.9)  # the first step of Adam is one of the learning rate
    assert [state.t for state in opt.state["groups"][0]] == [2, 1]


def test_weight_decay_may_depend_on_the_path():
    opt = pb.optim.SGD(1.0, weight_decay=lambda path, leaf: 0.5 if path.endswith("w") else 0.0)
    tree = {"w": pb.ones(2), "b": pb.ones(2)}
    new, _ = opt.update(tree, pb.tree.map(pb.zeros_like, tree), opt.init(tree))
    assert_close(new["w"], [0.5, 0.5])
    assert_close(new["b"], [1.0, 1.0])


def test_a_state_is_a_tree_and_resuming_gives_the_same_bits(tmp_path):
    def made():
        leaves = pb.tree.requires_grad_(start())
        return leaves, pb.optim.Adam(leaves, lr=pb.optim.exponential(0.1, 0.9))

    def run(leaves, opt, steps):
        for _ in range(steps):
            opt.zero_grad()
            loss(leaves, X, Y).backward()
            opt.step()

    whole, opt = made()
    run(whole, opt, 9)
    first, opt = made()
    run(first, opt, 4)
    kept = pb.tree.map(lambda x: pb.tensor(x) if isinstance(x, pb.Tensor) else x, (pb.tree.detach(first), opt.state))
    second, opt = made()
    with pb.no_grad():
        pb.tree.map(lambda leaf, saved: leaf.copy_(saved), second, kept[0])
    opt.state = kept[1]
    run(second, opt, 5)
    assert pb.tree.all_close(second, whole, rtol=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_names_leaf_and_step(bad):
    tree = start()
    slopes = {"w": pb.ones((3, 3)), "b": pb.tensor([0.0, bad, 0.0])}
    opt = pb.optim.Adam(0.1)
    with pytest.raises(pb.AutogradError, match="the gradient of b is not finite in step 1"):
        opt.update(tree, slopes, opt.init(tree))
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    leaf.grad = pb.tensor([bad, 1.0])
    in_place = pb.optim.SGD({"layer": leaf}, lr=0.1)
    with pytest.raises(pb.AutogradError, match="the gradient of layer") as caught:
        in_place.step()
    assert caught.value.code == "NONFINITE"
    assert_close(leaf.detach(), [1.0, 2.0])
    step = opt.compiled_step(lambda tree, x: (tree["b"] * x).sum())
    with pytest.raises(pb.AutogradError, match=r"the loss is not finite in step 1|the gradient of b"):
        step(tree, opt.init(tree), pb.tensor([1.0, bad, 1.0]))


def test_a_step_that_is_not_finite_can_be_skipped_or_taken():
    tree, slopes = {"x": pb.ones(2)}, {"x": pb.tensor([np.nan, 1.0])}
    careful, careless = (pb.optim.Adam(0.1, on_nonfinite=choice) for choice in ("skip", "ignore"))
    same, state = careful.update(tree, slopes, careful.init(tree))
    assert_close(same["x"], [1.0, 1.0])
    assert state.t.item() == 0 and pb.tree.all_close(state.slots, careful.init(tree).slots)
    assert np.isnan(careless.update(tree, slopes, careless.init(tree))[0]["x"].numpy()).tolist() == [True, False]
    leaf = pb.tensor(1.0, requires_grad=True)
    leaf.grad = pb.tensor(np.nan)
    opt = pb.optim.SGD(leaf, lr=0.1, on_nonfinite="skip")
    opt.step()
    assert_close(leaf.detach(), 1.0)
    with pytest.raises(ValueError, match="on_nonfinite must be one of"):
        pb.optim.SGD(0.1, on_nonfinite="warn")


def test_lbfgs_on_trees_equals_lbfgs_in_place():
    def rosenbrock(tree):
        return (1 - tree["x"]) ** 2 + 100 * (tree["y"] - tree["x"] ** 2) ** 2

    tree = {"x": pb.tensor(-1.2), "y": pb.tensor(1.0)}
    leaves = pb.tree.requires_grad_(pb.tree.map(pb.tensor, tree))
    opt, in_place = pb.optim.LBFGS(max_iter=10), pb.optim.LBFGS(leaves, max_iter=10)
    state = opt.init(tree)

    def closure():
        in_place.zero_grad()
        loss = rosenbrock(leaves)
        loss.backward()
        return loss

    for _ in range(6):
        tree, state = opt.update(tree, pb.value_and_grad(rosenbrock), state)
        in_place.step(closure)
    assert pb.tree.all_close(tree, leaves, rtol=1e-12)
    assert_close(tree["x"], 1.0, rtol=1e-4)
    assert len(state.steps) <= 100
    with pytest.raises(TypeError, match="needs a closure"):
        in_place.step()
    with pytest.raises(TypeError, match="takes a function"):
        opt.update(tree, tree, state)


def test_lbfgs_gets_out_of_where_the_loss_is_not_finite():
    x = pb.tensor(5.0, requires_grad=True)
    opt = pb.optim.LBFGS(x, max_iter=50, lr=50.0)

    def closure():
        opt.zero_grad()
        loss = x - pb.log(x)  # NaN for negative numbers; the minimum is at 1
        loss.backward()
        return loss

    with np.errstate(all="ignore"):
        for _ in range(3):
            opt.step(closure)
    assert_close(x.detach(), 1.0, rtol=1e-4)


WRONG = [
    (lambda: pb.optim.SGD(0.1).step(), TypeError, "made without leaves"),
    (lambda: pb.optim.SGD(0.1, lr=0.2), TypeError, "two learning rates"),
    (lambda: pb.optim.SGD({"w": pb.ones(2)}), ValueError, "w requires no grad"),
    (lambda: pb.optim.SGD([pb.ones(2, requires_grad=True) * 2]), ValueError, "0 is no leaf"),
    (lambda: pb.optim.SGD([(x := pb.ones(2, requires_grad=True)), x]), ValueError, "1 was given twice"),
    (lambda: pb.optim.SGD([]), ValueError, "no tensors to train"),
    (lambda: pb.optim.SGD(0.1, nesterov=True), ValueError, "nesterov=True needs a momentum"),
    (lambda: pb.optim.Adam(0.1).init({"n": pb.arange(3)}), TypeError, "a leaf of the tree is int64"),
    (lambda: pb.optim.linear(1.0, 0.0, 0), ValueError, "steps must be positive"),
    (lambda: pb.optim.piecewise([3, 2], [1, 2, 3]), ValueError, "ascending boundaries"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, text", WRONG, ids=[text for _, _, text in WRONG])
def test_what_cannot_be_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_gradients_of_another_structure_or_shape_are_refused():
    opt = pb.optim.SGD(0.1)
    tree = {"w": pb.ones(2)}
    with pytest.raises(ValueError):
        opt.update(tree, {"v": pb.ones(2)}, opt.init(tree))
    with pytest.raises(ValueError, match=r"the gradient of w has shape \(3,\)"):
        opt.update(tree, {"w": pb.ones(3)}, opt.init(tree))


def test_norms_clipping_and_averages_of_trees():
    tree = {"a": pb.tensor([3.0, 0.0]), "b": pb.tensor(4.0)}
    assert_close(pb.grad(pb.optim.global_norm)(tree)["b"], 0.8)
    assert_close(pb.grad(pb.optim.global_norm)(pb.tree.map(pb.zeros_like, tree))["b"], 0.0)
    assert pb.tree.all_close(pb.optim.clip_by_norm(tree, 10.0), tree)
    assert_close(pb.optim.clip_by_value(tree, 2.0)["a"], [2.0, 0.0])
    average = tree
    for _ in range(2):
        average = pb.optim.ema(average, pb.tree.map(pb.zeros_like, tree), decay=0.5)
    assert_close(average["b"], 1.0)
