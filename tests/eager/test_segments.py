"""Whole operators on large arrays, forward and backward: native segments against NumPy's kernels and rules.

All samples of all operators are made native in tests/compiler/test_llvm_samples.py; here are calls as users make them.
"""

import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pullback as pb
from pullback.core.spec import LARGE
from pullback.declare.op import registry
from pullback.eager import large, segments, traced_calls

ROWS = (130, 131)
LABELS = np.random.default_rng(3).integers(0, 131, 130)


@pytest.fixture(autouse=True)
def native_at_once(monkeypatch):
    """Native code from the second call on, made without effort, and never given up."""
    monkeypatch.setattr(large, "IMPORT_SECONDS", 0.0)
    monkeypatch.setattr(segments._price, "seconds", 0.0)
    monkeypatch.setattr(segments, "_TRIALS", 0)
    monkeypatch.setattr(traced_calls, "_GOOD", 0)
    before = large.set_native_eager(True)
    yield
    large.set_native_eager(before)


@pytest.fixture
def compiled(monkeypatch):
    """The names of what is compiled in a test, and whether it has a native form. Kinds of calls that other tests have
    met are new here, in whatever order tests run."""
    made = {}
    compile_one, settings = traced_calls._compiled, segments._settings

    def noted(name, *what):
        made[name] = compile_one(name, *what)
        return made[name]

    def of_this_test(params, key):
        settings(params, key)
        key.append(noted)

    monkeypatch.setattr(traced_calls, "_compiled", noted)
    monkeypatch.setattr(segments, "_settings", of_this_test)
    return made


def run(f, arrays):
    leaves = [pb.tensor(x, requires_grad=True) for x in arrays]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        out = f(*leaves)
        out.backward(pb.tensor(np.random.default_rng(9).standard_normal(out.shape).astype(out.dtype)))
    return [out.detach().numpy(), *[x.grad.numpy() for x in leaves]]


def both(f, arrays):
    """With NumPy alone, and the second run with native code."""
    large.set_native_eager(False)
    expected = run(f, arrays)
    large.set_native_eager(True)
    run(f, arrays)
    return run(f, arrays), expected


def close(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        size = np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-3)
        tolerance = 1e-4 if mine.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * size)


n = pb.nn
IMAGES, KERNELS = (4, 6, 30, 30), (8, 6, 3, 3)
PROGRAMS = {
    "softmax": (lambda x: pb.softmax(x, axis=-1), ROWS),
    "softmax of columns": (lambda x: pb.softmax(x, axis=0), ROWS),
    "log_softmax": (lambda x: pb.log_softmax(x, axis=-1), ROWS),
    "logsumexp": (lambda x: pb.logsumexp(x, axis=-1), ROWS),
    "cross_entropy": (lambda x: n.cross_entropy(x, LABELS), ROWS),
    "layer_norm": (lambda x, w, b: n.layer_norm(x, (131,), w, b), ROWS, (131,), (131,)),
    "rms_norm": (lambda x, w: n.rms_norm(x, (131,), w), ROWS, (131,)),
    "group_norm": (lambda x, w, b: n.group_norm(x, 3, w, b), IMAGES, (6,), (6,)),
    "batch_norm": (lambda x, w, b: n.batch_norm(x, None, None, w, b, training=True), IMAGES, (6,), (6,)),
    "std": (lambda x: pb.std(x, axis=1, correction=1), ROWS),
    "var": (lambda x: pb.var(x, axis=0), ROWS),
    "cumsum": (lambda x: pb.cumsum(x, axis=1), ROWS),
    "cumprod": (lambda x: pb.cumprod(x, axis=1), ROWS),
    "cumprod with zeros": (lambda x: pb.cumprod(pb.where(x > 1.45, 0.0, x), axis=1, reverse=True), ROWS),
    "sinc": (lambda x: pb.sinc(x * 3 - 3), ROWS),
    "logcumsumexp": (lambda x: pb.logcumsumexp(x, axis=1), ROWS),
    "sum": (lambda x: pb.sum(x, axis=1), ROWS),
    "prod": (lambda x: pb.prod(x, axis=1), ROWS),
    "largest of pairs": (lambda x: pb.amax(x.reshape((65, 2, 131)), axis=1), ROWS),
    "max_pool": (lambda x: n.max_pool2d(x, 2), IMAGES),
    "avg_pool": (lambda x: n.avg_pool2d(x, 2), IMAGES),
    "conv2d": (lambda x, w: n.conv2d(x, w, padding=1), IMAGES, KERNELS),
    "conv2d in groups": (lambda x, w: n.conv2d(x, w, groups=6), IMAGES, (6, 1, 3, 3)),
    "conv2d with a stride": (lambda x, w: n.conv2d(x, w, stride=2, padding=1, groups=6), IMAGES, (6, 1, 3, 3)),
    "conv2d in pairs": (lambda x, w: n.conv2d(x, w, dilation=2, groups=3), IMAGES, (3, 2, 3, 3)),
    "conv2d with more outputs": (lambda x, w: n.conv2d(x, w, groups=6), IMAGES, (12, 1, 2, 3)),
    "conv_transpose2d": (lambda x, w: n.conv_transpose2d(x, w, stride=2), IMAGES, (6, 4, 3, 3)),
    "gelu": (lambda x: n.gelu(x), ROWS),
    "silu": (lambda x: n.silu(x), ROWS),
    "softplus": (lambda x: n.softplus(x, 2.0), ROWS),
    "solve_triangular": (lambda a, b: pb.linalg.solve_triangular(pb.tril(a) + 9, b, upper=False), (130, 130), ROWS),
    "taken rows": (lambda x: x[LABELS % 130], ROWS),
    "concat": (lambda x, y: pb.concat([x, y], axis=1), ROWS, ROWS),
    "pad": (lambda x: n.pad(x, (1, 2)), ROWS),
    "where": (lambda x, y: pb.where(x > 1, x, y), ROWS, ROWS),
    "i0e": (lambda x: pb.special.i0e(x), ROWS),
    "i1": (lambda x: pb.special.i1(x), ROWS),
    "erfinv": (lambda x: pb.special.erfinv(x * 0.5), ROWS),
    "gammaln": (lambda x: pb.special.gammaln(x), ROWS),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_numpy(name, dtype, compiled):
    if name in ("i0e", "i1", "erfinv", "gammaln"):
        pytest.importorskip("scipy")
    f, *shapes = PROGRAMS[name]
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(0.5, 1.5, shape).astype(dtype) for shape in shapes]
    close(*both(f, arrays))
    if dtype is np.float64:
        assert any(compiled.values()) or name == "logcumsumexp", compiled


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300]


ROW_PROGRAMS = ["softmax", "log_softmax", "logsumexp", "layer_norm", "cumsum", "sum", "std", "largest of pairs"]


@pytest.mark.parametrize("name", [*ROW_PROGRAMS, "max_pool"])
def test_special_values_give_what_numpy_gives(name):
    f, *shapes = PROGRAMS[name]
    rng = np.random.default_rng(6)
    arrays = [rng.uniform(0.5, 1.5, shape) for shape in shapes]
    first = arrays[0].reshape(-1, arrays[0].shape[-1])
    for row, value in enumerate(SPECIAL):
        first[row, 3] = value
        first[row + 10] = value
    found, expected = both(f, arrays)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11)
    # Where NumPy's rule and the formula add up infinities in another order, both have something that is not finite.
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        finite = np.isfinite(theirs)
        np.testing.assert_array_equal(np.isfinite(mine), finite)
        np.testing.assert_allclose(mine[finite], theirs[finite], rtol=1e-9, atol=1e-9)


LAYOUTS = {
    "transposed": lambda x: x.T, "every other": lambda x: x[::2], "backwards": lambda x: x[:, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["softmax", "sum", "cumsum", "std"])
def test_arrays_may_lie_in_any_way(name, layout):
    f = PROGRAMS[name][0]
    x = LAYOUTS[layout](np.random.default_rng(7).uniform(0.5, 1.5, (260, 262)))
    kernel_layout = {}
    for is_native in (False, True):
        large.set_native_eager(is_native)
        for _ in range(2):
            with pb.no_grad():
                out = f(pb.from_numpy(x))
        kernel_layout[is_native] = out.numpy()
    assert kernel_layout[True].strides == kernel_layout[False].strides
    np.testing.assert_allclose(kernel_layout[True], kernel_layout[False], rtol=1e-12)


def test_small_complex_and_empty_arrays_are_left_to_numpy(compiled):
    arrays = [np.ones((8, 8)), np.ones(ROWS, complex), np.ones(ROWS, np.float16), np.ones((0, LARGE))]
    for array in arrays:
        for _ in range(2):
            pb.softmax(pb.tensor(array), axis=1)
            pb.sum(pb.tensor(array), axis=0)
    assert not compiled


def test_an_overflow_is_reported_as_numpy_reports_it():
    x = pb.tensor(np.full(ROWS, 1e308))
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(pb.sum(x, axis=1).numpy()).all()
        with pytest.warns(RuntimeWarning, match="overflow"):
            pb.cumsum(x, axis=1)


@pytest.mark.parametrize("reverse", [False, True])
def test_an_overflow_in_the_last_step_of_a_scan_is_reported(reverse):
    x = np.zeros(ROWS)
    x[:, 5] = 1e308
    x[:, 0 if reverse else -1] = 1.5e308
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(pb.cumsum(pb.tensor(x), axis=1, reverse=reverse).numpy()).sum() == len(x)


@pytest.mark.parametrize("value", [1e200, 1e-200])
def test_nothing_is_reported_of_results_that_are_finite(value):
    x = pb.tensor(np.full(ROWS, value))
    with np.errstate(all="raise"):
        for _ in range(3):
            assert np.isfinite(pb.cumsum(x, axis=1).numpy()).all()
            assert np.isfinite(pb.sum(x, axis=1).numpy()).all()


def test_a_failing_segment_leaves_the_call_to_numpy(monkeypatch):
    def fail(*arrays):
        raise MemoryError

    monkeypatch.setattr(traced_calls, "_compiled", lambda *args: fail)
    f = PROGRAMS["softmax"][0]
    x = np.random.default_rng(8).standard_normal((132, 132))
    close(*both(f, [x]))


def test_code_that_is_slower_is_not_used(monkeypatch):
    monkeypatch.setattr(segments, "_TRIALS", 2)
    segment = segments.Segment()
    segment.best, segment.function = 0.0, lambda x: (x,)
    for _ in range(2):
        assert segment.function
        segment.natively(np.ones(3))
    assert segment.function is False


def test_code_whose_results_are_computed_again_is_given_up(monkeypatch):
    monkeypatch.setattr(segments, "_TRIALS", 3)
    x = np.ones((137, 137))
    x[0] = np.inf
    for _ in range(8):
        found = pb.amax(pb.tensor(x), axis=1).numpy()
        np.testing.assert_array_equal(found, x.max(axis=1))
    held = [cell.cell_contents for cell in registry["amax"].native.__closure__]
    known = next(each for each in held if type(each) is segments.Segments)
    assert [each.function for key, each in known.items() if (137, 137) in key] == [False]


def test_code_that_would_keep_much_memory_is_not_used(monkeypatch, compiled):
    monkeypatch.setattr(traced_calls, "_MOST_BYTES", 1 << 10)
    f, *shapes = PROGRAMS["conv2d"]
    arrays = [np.random.default_rng(4).uniform(0.5, 1.5, (5, *shape[1:])) for shape in shapes]
    close(*both(f, arrays))
    assert compiled["_convolution"] is None


def test_nothing_is_compiled_before_it_pays(monkeypatch, compiled):
    monkeypatch.setattr(segments._price, "seconds", 100.0)
    x = pb.tensor(np.ones((133, 133)), requires_grad=True)
    for _ in range(3):
        pb.softmax(x, axis=1).sum().backward()
    assert not compiled


def test_kinds_of_calls_are_forgotten_when_there_are_many():
    known = segments.Segments()
    for k in range(1000):
        known[k]
    assert len(known) <= segments._MOST


def test_zeros_of_both_signs_and_nan_are_parameters_of_their_own():
    def key(**params):
        found = []
        segments._settings(params, found)
        return found

    assert key(fill=0.0) != key(fill=-0.0)
    assert key(fill=(0.0, 1.0)) != key(fill=(-0.0, 1.0))
    assert key(fill=float("nan")) == key(fill=float("nan"))


def test_gradients_own_their_memory_and_share_none():
    x, w, b = (np.random.default_rng(k).uniform(0.5, 1.5, shape) for k, shape in enumerate((IMAGES, (6,), (6,))))
    f = PROGRAMS["group_norm"][0]
    leaves = [pb.tensor(each, requires_grad=True) for each in (x, w, b)]
    for _ in range(3):
        for leaf in leaves:
            leaf.grad = None
        f(*leaves).sum().backward()
    gradients = [leaf.grad.numpy() for leaf in leaves]
    assert not any(np.shares_memory(p, q) for k, p in enumerate(gradients) for q in gradients[:k])
    gradients[0][...] = 0
    f(*leaves).sum().backward()
    assert np.isfinite(leaves[0].grad.numpy()).all()


def test_a_graph_that_was_used_is_refused_as_always():
    x = pb.tensor(np.ones((134, 134)), requires_grad=True)
    for _ in range(3):
        y = pb.softmax(x, axis=1)
        y.sum().backward()
    with pytest.raises(pb.errors.AutogradError, match="SECOND_BACKWARD"):
        y.sum().backward()


def test_a_saved_value_that_is_overwritten_counts_as_it_was():
    values = np.random.default_rng(4).standard_normal((134, 134))

    def gradient():
        x = pb.tensor(values, requires_grad=True)
        h = x * 1
        z = pb.std(h, axis=1)
        with pb.no_grad():
            h.mul_(2)
        z.sum().backward()
        return x.grad.numpy()

    large.set_native_eager(False)
    expected = gradient()
    large.set_native_eager(True)
    for _ in range(3):
        found = gradient()
    close([found], [expected])


def test_higher_derivatives_are_recorded_as_always():
    x = pb.tensor(np.random.default_rng(2).standard_normal((135, 135)), requires_grad=True)

    def second():
        (first,) = pb.autograd.grad((pb.softmax(x, axis=1) ** 2).sum(), x, create_graph=True)
        return pb.autograd.grad((first * first).sum(), x)[0].numpy()

    large.set_native_eager(False)
    expected = second()
    large.set_native_eager(True)
    for _ in range(3):
        found = second()
    close([found], [expected])


def test_threads_may_ask_at_once():
    x = np.random.default_rng(1).standard_normal((136, 136))
    expected = np.exp(x - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    wrong = []

    def work():
        for _ in range(5):
            found = pb.softmax(pb.tensor(x), axis=1).numpy()
            if not np.allclose(found, expected, rtol=1e-12):
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_operators_that_have_a_native_way_keep_their_kernel():
    pb.softmax(pb.tensor(np.ones(3)), axis=0)
    op = registry["softmax"]
    assert op.native is not None and op.native is not op.kernel


def test_a_gradient_that_was_reshaped_is_not_copied_to_its_leaf():
    x = pb.tensor(np.ones((128, 256)), requires_grad=True)
    for _ in range(2):
        x.grad = None
        (x.reshape((256, 128)) * 2.0).sum().backward()
        gradient = x.grad.numpy()
        assert gradient.shape == (128, 256) and gradient.flags.owndata and gradient.flags.writeable
        assert (gradient == 2).all()


def test_a_gradient_that_somebody_holds_is_copied_to_its_leaf():
    x = pb.tensor(np.ones((128, 256)), requires_grad=True)
    given = pb.tensor(np.ones((256, 128)))
    x.reshape((256, 128)).backward(given)
    assert given.shape == (256, 128) and not np.shares_memory(given.numpy(), x.grad.numpy())
    seen = []
    y = x.reshape((256, 128))
    y.register_hook(seen.append)
    x.grad = None
    (y * 2.0).sum().backward()
    assert seen[0].shape == (256, 128) and not np.shares_memory(seen[0].numpy(), x.grad.numpy())
