"""What a graph still needs survives being overwritten. The numbers are those of the cases in the specification."""

import asyncio
import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import overwrite_policy
from pullback.autograd.graph import allow_mutation_on_saved_tensors, report_overwrites, saved_tensors_hooks
from pullback.func import grad, hessian, jacfwd, jvp, linearize, vmap
from pullback.tensors.overwrites import disturbed
from pullback.tensors.tensor import wrap

EXP = np.exp([1.0, 2.0])


def leaf(values=(1.0, 2.0)):
    return pb.tensor(list(values), requires_grad=True)


def gradient(function, **options):
    x = leaf()
    (found,) = pb.autograd.grad(function(x).sum(), x, **options)
    return found.detach().numpy()


def is_lost(result):
    with pytest.raises(pb.AutogradError) as caught:
        result.sum().backward()
    return caught.value.code == "VERSION"


def update(x, index, value):
    """`x` with `value` at `index`, without a write: what the twins do."""
    mask = np.zeros(x.shape, bool)
    mask[index] = True
    return pb.where(pb.asarray(mask), value, x)


def sir(beta, steps=50, n=3):
    S, I, R = pb.ones(n) * 0.9, pb.ones(n) * 0.1, pb.zeros(n)
    for _ in range(steps):
        new = beta * S * I
        rec = 0.1 * I
        S -= new
        I += new - rec
        R += rec
    return (R + I).sum()


def sir_twin(beta, steps=50, n=3):
    S, I, R = pb.ones(n) * 0.9, pb.ones(n) * 0.1, pb.zeros(n)
    for _ in range(steps):
        new = beta * S * I
        rec = 0.1 * I
        S, I, R = S - new, I + (new - rec), R + rec
    return (R + I).sum()


# Plain.


@pytest.mark.parametrize("steps", [1, 2, 50, 1000])
def test_01_a_model_that_updates_its_state_has_the_gradient_of_its_twin(steps):
    beta = pb.tensor(0.3, requires_grad=True)
    (found,), (wanted,) = (pb.autograd.grad(f(beta, steps), beta) for f in (sir, sir_twin))
    assert found.item() == wanted.item()


def test_02_the_same_inside_a_transform():
    assert grad(sir)(pb.tensor(0.3)).item() == grad(sir_twin)(pb.tensor(0.3)).item()


def test_03_the_same_compiled():
    beta = pb.tensor(0.3, requires_grad=True)
    (found,) = pb.autograd.grad(pb.compile(sir)(beta), beta)
    np.testing.assert_allclose(found.item(), grad(sir_twin)(pb.tensor(0.3)).item(), rtol=1e-12)


def test_04_the_same_as_a_compiled_gradient():
    found = pb.compile(grad(sir))(pb.tensor(0.3))
    np.testing.assert_allclose(found.item(), grad(sir_twin)(pb.tensor(0.3)).item(), rtol=1e-12)


def case_5(x):
    y = x * 1
    z = y.exp()
    z += 1
    return z


def case_6(x):
    y = x * 1
    z = y * y
    y *= 3
    return z


def case_7(x):
    y = x * 1
    z = y * y
    y *= 3
    return z * y


def case_9(x):
    y = x * 1
    y *= y
    y *= y
    return y


def case_10(x):
    y = x * 1
    y /= y.sum()
    return y * x


def case_12(x):
    y = x * 1
    z = y * y
    y[0] = 5
    assert y.tolist() == [5, 2]
    return z


def case_13(x):
    y = x * 1
    z = y * y
    v = y[0:1]
    v += 1
    assert y.tolist() == [2, 2]
    return z


def case_14(x):
    y = x * 1
    v = y[0:1]
    z = y * y
    v += 1
    assert y.tolist() == [2, 2]
    return z


def case_15(x):
    y = x * 1
    v = y[::2]
    z = v * v
    y += 1
    return z


def in_place(name):
    def function(x):
        y = x * 1
        z = y * y
        getattr(y, name)()
        return z

    return function


def case_27(x):
    y = x * 1
    z = y * y
    y[y > 1] = 0
    return z


def case_28(x):
    y = x * 1
    z = y * y
    y[[0, 0]] = 7.0
    return z


def case_29(x):
    y = x * 1
    z = y * y
    with pb.no_grad():
        pb.add(y, 1, out=y)
    return z


def case_32(x):
    y = x * 1
    d = y.detach()
    z = y * y
    y += 1
    assert d.tolist() == [2, 3]
    return z


def case_33(x):
    y = x * 1
    d = y.detach()
    z = y * y
    d += 1
    assert y.tolist() == [2, 3]
    return z


def case_33_late(x):
    y = x * 1
    z = y * y
    d = y.detach()
    d += 1
    assert y.tolist() == [2, 3]
    return z


def case_34(x):
    y = x * 1
    a = y.detach().numpy()
    z = y * y
    y += 1
    assert a.tolist() == [2, 3]
    return z


def case_37(x):
    y = x * 1
    d = y.data
    z = y * y
    y += 1
    assert d.tolist() == [2, 3]
    return z


CASES = {
    "05": (case_5, EXP), "06": (case_6, [2, 4]), "07": (case_7, [9, 36]), "09": (case_9, [4, 32]),
    "10": (case_10, [1 / 9, 7 / 9]), "11 sqrt": (in_place("sqrt_"), [2, 4]), "11 tanh": (in_place("tanh_"), [2, 4]),
    "11 exp": (in_place("exp_"), [2, 4]), "12": (case_12, [2, 4]), "13": (case_13, [2, 4]), "14": (case_14, [2, 4]),
    "15": (case_15, [2, 0]), "27": (case_27, [2, 4]), "28": (case_28, [2, 4]), "29": (case_29, [2, 4]),
    "31 zero": (in_place("zero_"), [2, 4]), "31 normal": (in_place("normal_"), [2, 4]), "32": (case_32, [2, 4]),
    "33": (case_33, [2, 4]), "33 late": (case_33_late, [2, 4]), "34": (case_34, [2, 4]), "37": (case_37, [2, 4]),
}  # fmt: skip


@pytest.mark.parametrize("number", CASES)
def test_05_to_37_the_gradient_is_that_of_the_program_as_it_ran(number):
    function, wanted = CASES[number]
    np.testing.assert_allclose(gradient(function), wanted, rtol=1e-14)
    assert not disturbed or gc.collect() >= 0


@pytest.mark.parametrize("number", [name for name in CASES if name not in ("09", "10")])
def test_47_the_strict_policy_raises(number):
    with overwrite_policy("raise"):
        result = CASES[number][0](leaf())
    assert is_lost(result)


@pytest.mark.parametrize("number", ["05", "06", "07", "09", "12", "13"])
def test_54_versions_are_those_under_the_strict_policy(number):
    def versions():
        found = []
        x = leaf()
        y = x * 1
        z = y * y
        for _ in range(3):
            y += 1
            found.append(y._version)
        v = y[:1]
        v *= 2
        return [*found, y._version, z._version, v._version]

    with overwrite_policy("raise"):
        strict = versions()
    assert versions() == strict


def test_08_second_derivatives():
    x = leaf()
    (first,) = pb.autograd.grad(case_7(x).sum(), x, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), x)
    assert second.tolist() == [18, 36]


# Regions and views.


def filled(x):
    b = pb.zeros((3, 2))
    b[0] = x
    return b


def test_16_a_write_beside_what_is_kept_copies_nothing():
    x = leaf()
    b = filled(x)
    with report_overwrites() as report:
        z = b[0] * b[0]
        b[1] = 7
    assert report == []
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


def test_17_a_row_that_is_overwritten_is_copied():
    x = leaf()
    b = filled(x)
    with report_overwrites() as report:
        z = b[0] * b[0]
        b[0] = 7
    assert [each.nbytes for each in report] == [16]
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


def test_18_and_19_an_array_is_kept_once_however_often_it_is_written():
    x = leaf()
    b = filled(x)
    with report_overwrites() as report:
        z = b * b
        for k in range(12):
            b[1] = k
    assert [each.nbytes for each in report] == [48]
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


@pytest.mark.parametrize("view", [lambda y: y.T, lambda y: y[::-1], lambda y: y[:, ::2], lambda y: y[1:, 1:]])
def test_20_views_of_all_kinds_are_kept(view):
    start = np.arange(1.0, 13.0).reshape(3, 4)

    def function(x, write):
        y = x * 1
        v = view(y)
        z = v * v * v
        if write:
            y *= 5
        return z.sum()

    found, wanted = (grad(lambda x: function(x, write))(pb.tensor(start)) for write in (True, False))  # noqa: B023
    np.testing.assert_array_equal(found, wanted)


def burgers(u, steps, holds=False):
    u = u * 1
    held = u[3:5] if holds else None
    for _ in range(steps):
        product = u[1:] * u[:-1]
        u[1:-1] += 0.001 * u[2:] * product[1:]
    if holds:
        np.testing.assert_array_equal(held.detach().numpy(), u.detach().numpy()[3:5])
    return (u * u).sum()


def burgers_twin(u, steps):
    for _ in range(steps):
        product = u[1:] * u[:-1]
        u = pb.concat([u[:1], u[1:-1] + 0.001 * u[2:] * product[1:], u[-1:]])
    return (u * u).sum()


@pytest.mark.parametrize("holds", [False, True])
def test_21_and_22_overlapping_views_of_an_array_that_is_swept(holds):
    u = pb.tensor(np.linspace(0.1, 1.0, 9))
    found, wanted = grad(burgers)(u, 100, holds), grad(burgers_twin)(u, 100)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_21_what_is_kept_of_one_version_is_no_larger_than_the_array():
    u = pb.tensor(np.linspace(0.1, 1.0, 50), requires_grad=True) * 1
    with report_overwrites() as report:
        z = u[1:] * u[:-1]
        u[1:-1] += u[2:]
    assert sum(each.nbytes for each in report) <= 2 * u.nbytes
    assert z.requires_grad


def test_23_gauss_seidel_sweeps():
    rng = np.random.default_rng(3)
    A, b = pb.tensor(rng.normal(size=(4, 4)) + 6 * np.eye(4)), pb.tensor(rng.normal(size=4))

    def sweeps(A, b, functional):
        x = b * 0
        for _ in range(3):
            for i in range(4):
                value = (b[i] - A[i] @ x + A[i, i] * x[i]) / A[i, i]
                if functional:
                    x = update(x, i, value)
                else:
                    x[i] = value
        return (x * x).sum()

    for position in (0, 1):
        found, wanted = (grad(sweeps, position)(A, b, functional) for functional in (False, True))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_24_a_loop_that_fills_an_array_copies_nothing():
    x = pb.tensor(0.9, requires_grad=True)
    h = pb.ones(1000) * 1
    with report_overwrites() as report:
        for i in range(999):
            h[i + 1] = h[i] * x
    assert report == []
    np.testing.assert_allclose(pb.autograd.grad(h[50], x)[0].item(), 50 * 0.9**49)


def test_25_a_row_that_is_written_at_every_step_is_copied_at_every_step():
    x = pb.tensor(0.9, requires_grad=True)
    h = pb.ones((5, 2)) * x
    with report_overwrites() as report:
        for _ in range(4):
            h[0] = h[0] * h[0]
    assert [each.nbytes for each in report] == [16] * 4
    np.testing.assert_allclose(pb.autograd.grad(h[0, 0], x)[0].item(), 16 * 0.9**15)


def test_26_the_value_written_to_a_base_that_is_kept_gets_its_gradient():
    x, w = leaf(), leaf([3.0])
    y = x * 1
    z = y * y
    y[1:] = w * 2
    (z.sum() + (y * y).sum()).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([4, 4], [24])


# Who writes.


@pytest.mark.parametrize("write", [lambda t: pb.exp(pb.ones(2), out=t), lambda t: t.copy_(pb.ones(2)),
                                   lambda t: t.fill_(3)])  # fmt: skip
def test_30_and_31_buffers_that_are_kept(write):
    x, buffer = leaf(), pb.tensor([5.0, 6.0])
    z = x * buffer
    write(buffer)
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


def test_35_and_36_writes_behind_the_back_are_not_seen():
    x = leaf()
    y = x * 1
    z = y * y
    y.detach().numpy()[0] = 9
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [18, 4]
    y = x * 1
    z = y * y
    data = y.data
    data += 8
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [18, 20]


@pytest.mark.parametrize("make", [pb.asarray, pb.from_numpy, pb.from_dlpack])
def test_38_and_39_memory_from_outside_shows_the_write(make):
    x, array = leaf(), np.array([5.0, 6.0])
    c = make(array)
    z = x * c
    c += 1
    assert array.tolist() == [6, 7] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


@pytest.mark.parametrize("lives", [True, False, "until it is collected"])
@pytest.mark.parametrize("make", [pb.asarray, pb.from_numpy, lambda array: pb.asarray(array[:]), pb.from_dlpack])
def test_39_another_tensor_on_memory_from_outside_writes(make, lives):
    x, array = leaf(), np.array([5.0, 6.0])
    c = make(array)
    z = x * c
    if lives is not True:  # the graph is all that is left of it
        around = [c] if lives else []
        around.append(around)
        c = around = None
        gc.collect()
    other = make(array)
    other += 1
    assert array.tolist() == [6, 7] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]
    gone = weakref.ref(array)
    del z, c, other, array
    assert gone() is None


@pytest.mark.parametrize("order", ["kept first", "handed out first", "kept before and after"])
def test_39_memory_that_was_handed_out_goes_with_the_graph(order):
    gc.disable()
    try:
        x, c = leaf(), pb.tensor([5.0, 6.0])
        z = x * c if order != "handed out first" else None
        gone = weakref.ref(c.numpy())
        if order != "kept first":
            z = (x * c, z)
        del c
        assert gone() is not None
        del z
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("order", ["kept first", "handed out first"])
def test_39_what_a_second_graph_keeps_of_memory_whose_tensor_has_gone(order):
    x, v, c = leaf(), leaf(), pb.tensor([5.0, 6.0])
    y = x * c if order == "kept first" else None
    array = c.numpy()
    y = x * c if y is None else y
    del c
    (g,) = pb.autograd.grad(y, x, v, create_graph=True)  # v * c, where c was rebuilt
    del y
    other = pb.asarray(array)
    other += 1
    assert pb.autograd.grad(g.sum(), v)[0].tolist() == [5, 6]
    gone = weakref.ref(array)
    del g, other, array
    assert gone() is None


@pytest.mark.parametrize("goes", [False, True])
def test_39_writes_beside_what_was_kept_before_the_memory_was_handed_out(goes):
    x, memory = leaf(), np.array([5.0, 6.0, 7.0])
    c = wrap(memory[:2])
    z = x * c
    c.numpy()
    rest, same = pb.asarray(memory)[2:], pb.asarray(memory)
    rest += 1
    if goes:
        del c
    rest += 1
    same += 1
    assert memory.tolist() == [6, 7, 10] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


def test_39_memory_that_was_exported_shows_the_write():
    x, c = leaf(), pb.tensor([5.0, 6.0])
    array = np.from_dlpack(c)
    z = x * c
    c += 1
    assert array.tolist() == [6, 7] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


def assigned(c):
    other = pb.zeros(2)
    other.data = c
    return other


WAYS_TO_THE_MEMORY = {
    "numpy()": lambda c: pb.asarray(c.numpy()), "asarray": lambda c: pb.asarray(np.asarray(c)),
    "part": lambda c: pb.asarray(c.numpy()[:1]), "memoryview": lambda c: pb.asarray(np.asarray(memoryview(c.numpy()))),
    "from_dlpack": pb.from_dlpack, "NumPy's from_dlpack": lambda c: pb.asarray(np.from_dlpack(c)),
    "from_dlpack of a part": lambda c: pb.from_dlpack(c[:1]), "set_": lambda c: pb.zeros(2).set_(c),
    "assignment to data": assigned,
}  # fmt: skip


@pytest.mark.parametrize("goes", [False, True])
@pytest.mark.parametrize("order", ["kept first", "handed out first"])
@pytest.mark.parametrize("way", WAYS_TO_THE_MEMORY.values(), ids=WAYS_TO_THE_MEMORY)
def test_39_another_tensor_on_the_memory_of_a_tensor_writes(way, order, goes):
    x, c = leaf(), pb.tensor([5.0, 6.0])
    if order == "kept first":
        z = x * c
        other = way(c)
    else:
        other = way(c)
        z = x * c
    if goes:
        del c
    other[0] = 9
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]
    back = pb.tensor([5.0, 6.0])
    other = way(back)
    z = x[:1] * other[:1]
    if goes:
        del other
    back[0] = 9
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 0]


@pytest.mark.parametrize("way", WAYS_TO_THE_MEMORY.values(), ids=WAYS_TO_THE_MEMORY)
def test_39_another_tensor_writes_where_nothing_is_preserved(way):
    x, c = leaf(), pb.tensor([5.0, 6.0])
    z = x * c
    with overwrite_policy("raise"):
        way(c)[0] = 9
    assert is_lost(z)


def test_39_memory_that_was_handed_out_in_parts_and_as_a_whole():
    """Parts are known apart until the whole comes, and what is written in one part leaves the other alone."""
    x, whole = leaf(), pb.tensor([5.0, 6.0])
    array = whole.numpy()
    first, last = pb.from_dlpack(array[:1]), pb.from_dlpack(array[1:])
    z = x[:1] * first + x[1:] * last
    first += 1
    whole += 10
    last += 100
    assert array.tolist() == [16, 116] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


# Leaves and the policy.


@pytest.mark.parametrize("write", [lambda w: w.sub_(1), lambda w: w.detach().sub_(1), lambda w: w[:1].sub_(1),
                                   lambda w: pb.add(w, 1, out=w)])  # fmt: skip
def test_40_to_42_leaves_are_not_preserved_unless_asked_for(write):
    w = leaf()
    loss = (w * w).sum()
    with pb.no_grad():
        write(w)
    assert is_lost(loss)
    w = leaf()
    loss = (w * w).sum()
    with pb.no_grad(), overwrite_policy("preserve", leaves="preserve"):
        write(w)
    loss.backward()
    assert w.grad.tolist() == [2, 4]


def test_43_a_step_after_backward_leaves_nothing():
    w = leaf()
    (w * w).sum().backward()
    payload = w._data
    address = payload.ctypes.data
    del payload
    with pb.no_grad(), report_overwrites() as report:
        w -= 0.1 * w.grad
    assert report == [] and w._data.ctypes.data == address


def test_44_a_step_between_two_losses_is_noticed():
    w = leaf()
    one, two = (w * w).sum(), (w * w * w).sum()
    one.backward()
    with pb.no_grad():
        w -= 0.1 * w.grad
    assert is_lost(two)


def test_45_a_running_mean_is_a_constant():
    x, mean = leaf(), pb.zeros(2)
    before = x * mean
    mean.mul_(0.9).add_(0.1 * x.detach())
    loss = (before + x * mean).sum()
    np.testing.assert_allclose(pb.autograd.grad(loss, x)[0], [0.1, 0.2])


def test_46_a_flag_makes_a_constant_a_leaf_and_a_leaf_a_constant():
    x, m = leaf(), pb.tensor([5.0, 6.0])
    m.requires_grad_()
    z = x * m
    with pb.no_grad():
        m += 1
    assert is_lost(z)
    z = x * m
    m.requires_grad_(False)
    m += 1
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [6, 7]


def test_48_and_49_the_policy_at_the_write_decides():
    x = leaf()
    with overwrite_policy("raise"):
        y = x * 1
        z = y * y
    y *= 3
    with overwrite_policy("raise"):
        assert pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]
    y = x * 1
    z = y * y
    with overwrite_policy("raise"):
        y *= 3
    assert is_lost(z)


def test_50_the_policy_belongs_to_a_thread_a_task_and_a_generator():
    seen = []
    with overwrite_policy("raise"):
        thread = threading.Thread(target=lambda: seen.append(pb.autograd.get_overwrite_policy().policy))
        thread.start()
        thread.join()

    async def task():
        pb.autograd.set_overwrite_policy("raise")

    async def both():
        await asyncio.gather(task())
        seen.append(pb.autograd.get_overwrite_policy().policy)

    asyncio.run(both())

    @overwrite_policy("raise")
    def generator():
        yield pb.autograd.get_overwrite_policy().policy

    running = generator()
    inside = next(running)
    seen.append(pb.autograd.get_overwrite_policy().policy)
    assert seen == ["preserve"] * 3 and inside == "raise"


def test_51_other_names_are_refused():
    for arguments in (("keep",), ("preserve", "keep")):
        with pytest.raises(ValueError, match="must be 'preserve' or 'raise'"):
            overwrite_policy(*arguments)


def test_52_and_53_the_context_of_torch_nests_and_its_copies_outlive_it():
    x = leaf()
    with overwrite_policy("raise"), allow_mutation_on_saved_tensors(), allow_mutation_on_saved_tensors():
        result = case_7(x)
    result.sum().backward()
    assert x.grad.tolist() == [9, 36]


# Savers.


@pytest.mark.parametrize("pack", [lambda t: t, lambda t: t.clone(), lambda t: t.detach().numpy().copy()])
def test_55_to_57_hooks_on_saved_values(pack):
    with saved_tensors_hooks(pack, lambda packed: packed if isinstance(packed, pb.Tensor) else pb.tensor(packed)):
        assert gradient(case_6).tolist() == [2, 4]


def test_58_hooks_that_come_late_pack_what_was_preserved():
    x = leaf()
    y = x * 1
    z = y * y
    y *= 3
    seen = []
    z.grad_fn._raw_saved_self.register_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t)
    assert seen == [[1, 2]] and pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.x = x
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        seen.append(ctx.x.tolist())
        return g * 3 * ctx.saved_tensors[0] ** 2


seen = []


def test_59_and_60_what_a_function_saves_is_kept_and_its_attributes_are_not():
    x = leaf()
    y = x * 1
    z = Cube.apply(y)
    y += 1
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [3, 12] and seen.pop() == [2, 3]


def test_61_a_function_that_writes_its_argument():
    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    def function(x):
        y = x * 1
        z = y * y
        return z + Doubled.apply(y)

    assert gradient(function).tolist() == [4, 6]


@pytest.mark.parametrize("shared", [False, True])
def test_62_custom_operators_that_write(shared):
    @pb.library.custom_op(f"overwrites::add_one_{shared}", mutates_args=("x",))
    def add_one(x: np.ndarray) -> None:
        x += 1

    x, c = leaf(), pb.tensor([5.0, 6.0])
    other = c.detach() if shared else None
    z = x * c
    add_one(c)
    assert c.tolist() == [6, 7] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]
    assert other is None or other.tolist() == [6, 7]


@pytest.mark.parametrize("reentrant", [False, True])
def test_63_inputs_of_a_checkpoint_are_kept(reentrant):
    from pullback.utils.checkpoint import checkpoint

    x = leaf()
    y = x * 1
    z = checkpoint(lambda t: t * t * t, y, use_reentrant=reentrant)
    y += 1
    z.sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_64_writes_inside_a_checkpointed_body():
    from pullback.utils.checkpoint import checkpoint

    x = leaf()
    checkpoint(case_7, x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [9, 36]


def test_65_and_66_hooks_and_retained_gradients_are_those_of_the_strict_policy():
    def run():
        x, calls = leaf(), []
        y = x * 1
        y.retain_grad()
        y.register_hook(lambda g: calls.append(g.tolist()))
        y += x
        y.register_hook(lambda g: calls.append(g.tolist()))
        (y * 2).sum().backward()
        return calls, y.grad.tolist(), x.grad.tolist()

    with overwrite_policy("raise"):
        strict = run()
    assert run() == strict


# Transforms, freeing, threads.


def test_67_a_graph_that_is_kept_gives_the_same_again():
    x = leaf()
    y = x * 1
    z = (y * y).sum()
    (first,) = pb.autograd.grad(z, x, retain_graph=True)
    y *= 3
    assert pb.autograd.grad(z, x)[0].tolist() == first.tolist() == [2, 4]


def test_68_to_70_derivatives_of_all_kinds():
    beta, rows = pb.tensor(0.3), pb.tensor([0.3, 0.4])
    np.testing.assert_allclose(hessian(sir)(beta), hessian(sir_twin)(beta), rtol=1e-10)
    one = pb.tensor(1.0)
    np.testing.assert_allclose(jvp(sir, (beta,), (one,))[1], jvp(sir_twin, (beta,), (one,))[1], rtol=1e-12)
    np.testing.assert_allclose(jacfwd(sir)(beta), jacfwd(sir_twin)(beta), rtol=1e-12)
    np.testing.assert_allclose(linearize(sir, beta)[1](one), linearize(sir_twin, beta)[1](one), rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(sir))(rows), vmap(grad(sir_twin))(rows), rtol=1e-12)


@pytest.mark.parametrize("makes_room", [False, True])
def test_71_and_72_a_vmap_whose_body_writes(makes_room):
    def body(row, functional):
        y = pb.ones(2) * 2 if makes_room else row * 1
        z = y * y * row
        y = y * row if functional else y.mul_(row)
        return (z * y).sum()

    rows = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    found, wanted = (grad(lambda r: vmap(lambda row: body(row, f))(r).sum())(rows) for f in (False, True))  # noqa: B023
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_73_a_chain_of_writes_is_no_cycle(without_collector):
    alive = []
    for _ in range(3):
        x = leaf()
        y = x * 1
        z = y * y
        alive.append(weakref.ref(y._data))
        y += z
        y *= y
        del x, y, z
    assert [each() for each in alive] == [None] * 3


@pytest.mark.parametrize("shares", [False, True])
def test_74_what_was_kept_is_freed_with_the_graph(without_collector, shares):
    x = leaf()
    y = x * 1
    other = y.detach() if shares else None
    z = y * y
    node = weakref.ref(z.grad_fn)
    payload = weakref.ref(y._data)
    y += 1
    kept = payload() if not shares else y._counter.epoch
    assert kept is not None and (other is None or other.tolist() == [2, 3])
    del z, kept
    assert node() is None and (shares or payload() is None)
    assert not disturbed


def test_74_what_a_trace_wrote_over_is_freed_with_the_trace():
    def f(x, alias):
        alias.mul_(0.5)
        alias.detach_()
        return alias.expand_dims(1)

    gc.collect()
    before = set(disturbed)
    x = pb.tensor([1.0, 2.0])
    assert pb.compile(f, backend="numpy", fallback="raise")(x, x.detach()).tolist() == [[0.5], [1.0]]
    gc.collect()
    assert set(disturbed) <= before


def test_75_each_graph_keeps_its_own_version(without_collector):
    x = leaf()
    y = x * 1
    one = y * y
    first = weakref.ref(y._data)
    y += 1
    two = y * y
    second = weakref.ref(y._data)
    y += 1
    del one
    assert first() is None and second() is not None
    assert pb.autograd.grad(two.sum(), x)[0].tolist() == [4, 6]


def test_76_the_graph_alone_keeps_the_value():
    assert gradient(lambda x: case_6(x)).tolist() == [2, 4]


def test_77_a_kernel_that_fails_changes_nothing():
    x = leaf()
    y = x * 1
    z = y * y
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        y *= pb.ones((3, 2)) * 1j
    assert y.tolist() == [1, 2] and y._version == 0
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


def test_78_a_write_that_is_refused_preserves_nothing():
    x = leaf([1.0])
    y = (x * 1).expand(3)
    z = y * y
    with report_overwrites() as report, pytest.raises(pb.AutogradError):
        y += 1
    assert report == [] and z.requires_grad


def test_79_a_write_in_inference_mode():
    x = leaf()
    y = x * 1
    z = y * y
    with pb.inference_mode():
        y.mul_(3)
    assert y.tolist() == [3, 6] and pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


def test_80_writes_on_threads_do_not_disturb_a_pass():
    x = leaf(np.linspace(1, 2, 1000))
    tensors = [x * 1 for _ in range(2)]
    graphs = [t * t for t in tensors]
    threads = [threading.Thread(target=lambda t=t: [t.mul_(1.01) for _ in range(50)]) for t in tensors]
    for thread in threads:
        thread.start()
    found = [pb.autograd.grad(z.sum(), x)[0].numpy() for z in graphs]
    for thread in threads:
        thread.join()
    for each in found:
        np.testing.assert_allclose(each, 2 * np.linspace(1, 2, 1000))


def test_81_a_gradient_that_a_graph_keeps_is_accumulated_into():
    x = leaf()
    (x * x).sum().backward()
    z = x * x.grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8] and pb.autograd.grad(z.sum(), x)[0].tolist() == [2, 4]


def test_82_other_memory_and_other_shapes_are_no_writes():
    x = leaf()
    c = pb.tensor([[5.0, 6.0]])
    z = x * c
    c.t_()
    c += 1
    assert c.tolist() == [[6], [7]] and pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]
    c = pb.tensor([5.0, 6.0])
    z = x * c
    c.set_(pb.zeros(2))
    c += 1
    assert pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


# Compiled code.


def test_83_an_argument_that_the_caller_overwrites():
    call = pb.compile(lambda x, c: (x * c * c).sum())
    for _ in range(3):
        x, c = leaf(), pb.tensor([5.0, 6.0])
        loss = call(x, c)
        c += 1
        loss.backward()
        assert x.grad.tolist() == [25, 36] and c.tolist() == [6, 7]


def test_83_a_result_that_the_caller_overwrites():
    call = pb.compile(lambda x: x.exp())
    for _ in range(3):
        x = leaf()
        z = call(x)
        z += 1
        np.testing.assert_allclose(pb.autograd.grad(z.sum(), x)[0], EXP, rtol=1e-12)


@pytest.mark.parametrize("kind", ["private", "shared", "leaf"])
def test_84_an_argument_that_compiled_code_writes_and_a_graph_keeps(kind):
    def step(t):
        with pb.no_grad():
            t.mul_(2)

    call = pb.compile(step)
    for _ in range(3):
        x, c = leaf(), pb.tensor([5.0, 6.0], requires_grad=kind == "leaf")
        other = c.detach() if kind == "shared" else None
        z = x * c
        call(c)
        assert c.tolist() == [10, 12] and (other is None or other.tolist() == [10, 12])
        if kind == "leaf":
            assert is_lost(z)
        else:
            assert pb.autograd.grad(z.sum(), x)[0].tolist() == [5, 6]


def test_85_a_capture_depends_on_the_policy_if_something_was_overwritten():
    call = pb.compile(lambda x: case_6_of(x))
    x = leaf()
    call(x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    with overwrite_policy("raise"):
        result = call(leaf())
        assert is_lost(result)
    assert len(call.entries()) == 2
    plain = pb.compile(lambda x: x * x)
    plain(leaf())
    with overwrite_policy("raise"):
        plain(leaf())
    assert len(plain.entries()) == 1


def case_6_of(x):
    y = x * 1
    z = y * y
    y *= 3
    return z


def test_89_programs_that_used_to_raise_agree_compiled_and_eager():
    for number, (function, wanted) in CASES.items():
        if number in ("13", "14", "32", "33", "33 late", "34", "37", "12", "29", "31 normal", "27"):
            continue  # they look at values, or draw
        x = leaf()
        (found,) = pb.autograd.grad(pb.compile(function)(x).sum(), x)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=number)


def test_90_the_report_names_line_operator_and_bytes():
    y = leaf() * 1
    with report_overwrites() as report:
        z = y * y
        y *= 3
    (entry,) = report
    assert entry.file == __file__ and (entry.operator, entry.nbytes, entry.kind) == ("multiply", 16, "left")
    assert entry.line > 0 and z.requires_grad


def test_93_a_payload_that_is_itself_a_view_of_numpy():
    x = leaf(np.arange(1.0, 5.0).reshape(2, 2))
    y = (x * 1).T.copy(order="F")
    z = y.T @ y
    y *= 3
    np.testing.assert_array_equal(pb.autograd.grad(z.sum(), x)[0], grad(lambda x: (x @ x.T).sum())(x.detach()))
