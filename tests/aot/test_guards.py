"""What of a call a capture depends on, how often a function is captured, and what is said about it."""

import threading
import time
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback._compile import compile
from pullback.aot import _compiling
from pullback.aot._guards import call_key, difference, leaf_key
from pullback.aot._trace.leaves import flatten_arguments


def interpret(graph, types):
    return graph.verify().eval_boxed


def leaf(*shape):
    return pb.ones(shape, requires_grad=True)


def key(*args, **kwargs):
    return call_key(*flatten_arguments(args, kwargs))


def unrecorded_view():
    with pb.no_grad():
        return pb.ones(3)[:]


EQUAL = {
    "a view": (lambda: pb.ones(3), lambda: pb.ones(3)[:]),
    "tensors": (lambda: pb.ones(3), lambda: pb.zeros(3)),
    "leaves": (lambda: leaf(3), lambda: leaf(3)),
    "inner": (lambda: leaf(3) * 2, lambda: leaf(3) + 1),
    "arrays": (lambda: np.ones(3), lambda: np.zeros(3)),
    "axes of length one": (lambda: pb.ones((3, 1, 4))[:, :, ::2], lambda: pb.ones((3, 8, 4))[:, :1, ::2]),
    "nan": (lambda: float("nan"), lambda: float("nan")),
    "nan of NumPy": (lambda: np.float32("nan"), lambda: np.float32("nan")),
    "complex nan": (lambda: complex("nan"), lambda: complex("nan")),
    "slices": (lambda: slice(1, 2), lambda: slice(1, 2)),
    "dtypes": (lambda: np.dtype("f8"), lambda: np.dtype(float)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_does_not_matter_is_no_part_of_the_key(name):
    first, second = EQUAL[name]
    if name == "axes of length one":  # the strides of such an axis lead nowhere
        assert leaf_key(first()._data.copy())[:3] == leaf_key(second()._data.copy())[:3]
    else:
        assert leaf_key(first()) == leaf_key(second())
        assert hash(leaf_key(first())) == hash(leaf_key(second()))


def test_strides_of_axes_with_one_element_do_not_matter():
    memory = np.arange(48.0)
    one = np.lib.stride_tricks.as_strided(memory, (3, 1, 2), (64, 8, 16))
    other = np.lib.stride_tricks.as_strided(memory, (3, 1, 2), (64, 24, 16))
    assert one.strides != other.strides and leaf_key(one) == leaf_key(other)


DIFFERENT = {
    "shape": (lambda: pb.ones(3), lambda: pb.ones(4), "shape or dtype: float64[3] before, float64[4] now"),
    "dtype": (lambda: pb.ones(3), lambda: pb.ones(3, dtype=np.float32), "shape or dtype"),
    "strides": (lambda: pb.ones((3, 3)), lambda: pb.tensor(np.ones((3, 3), order="F")), "strides"),
    "requires_grad": (lambda: pb.ones(3), lambda: leaf(3), "requires_grad: False before, True now"),
    "is_leaf": (lambda: leaf(3), lambda: leaf(3) * 2, "is_leaf: True before, False now"),
    "kind of view": (lambda: pb.ones(3), unrecorded_view, "kind of view"),
    "tensor or array": (lambda: pb.ones(3), lambda: np.ones(3), "type: Tensor before, ndarray now"),
    "shape of an array": (lambda: np.ones(3), lambda: np.ones(4), "shape: (3,) before, (4,) now"),
    "dtype of an array": (lambda: np.ones(3), lambda: np.ones(3, int), "dtype: float64 before, int64 now"),
    "byte order": (lambda: np.ones(3), lambda: np.ones(3, ">f8"), "dtype"),
    "strides of an array": (lambda: np.ones(3), lambda: np.ones(6)[::2], "strides: None before, (16,) now"),
    "int or float": (lambda: 1, lambda: 1.0, "type: int before, float now"),
    "int or bool": (lambda: 1, lambda: True, "type: int before, bool now"),
    "text": (lambda: "a", lambda: "b", "value: a before, b now"),
    "None": (lambda: None, lambda: 0, "type: NoneType before, int now"),
    "slice": (lambda: slice(1, 2), lambda: slice(1, 3), "stop: 2 before, 3 now"),
    "truth values": (lambda: True, lambda: False, "value: True before, False now"),
    "scalars of NumPy": (lambda: np.float32(1), lambda: np.float64(1), "type: float32 before, float64 now"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_each_difference_is_named(name):
    old, new, words = DIFFERENT[name]
    first, second = key(7, old()), key(7, new())
    assert first != second
    assert difference(second, first).startswith("args[1]: ") and words in difference(second, first)


@pytest.mark.parametrize("old, new", [(1, 2), (0.0, -0.0), (1j, 2j), (np.float32(1), np.float32(2))])
def test_the_value_of_a_number_is_no_part_of_a_key(old, new):
    assert key(7, old) == key(7, new)


def test_modes_structure_and_identity_are_named():
    x = pb.ones(3)
    plain = key(x, x.clone())
    assert difference(plain, plain) is None
    assert "which arguments are one object" in difference(key(x, x), plain)
    assert "structure" in difference(key((x, x.clone())), plain)
    assert "structure" in difference(key(x, y=x.clone()), plain)
    with pb.no_grad():
        assert difference(key(x, x.clone()), plain) == "grad mode: True before, False now"
    y = x.clone()
    with pb.inference_mode():
        assert "grad mode" in difference(key(x, y), plain)
        assert "kind of view" in difference(key(x, x.clone()), plain)
    pb.set_default_dtype(np.float32)
    try:
        assert "default dtype: float64 before, float32 now" in difference(key(x, x.clone()), plain)
    finally:
        pb.set_default_dtype(np.float64)


def test_read_only_arguments_are_told_apart():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    assert "writeable: True before, False now" in difference(key(frozen), key(np.ones(3)))


def test_what_has_no_hash_is_named():
    class Strange:
        __hash__ = None

        def __call__(self):
            return None

    with pytest.raises(aot.TraceError, match=r"args\[1\], of type Strange"):
        compile(lambda x, s: x, fallback="raise")(pb.ones(3), Strange())


# Limits. -------------------------------------------------------------------------------------------------------------


def test_the_process_has_a_limit_too(monkeypatch):
    aot.reset()
    monkeypatch.setattr(_compiling, "PROCESS_LIMIT", 3)
    functions = [compile(lambda x: x * 2, fallback="raise") for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in functions:  # the first capture of a function never counts
            f(pb.ones(2))
        for f in functions:
            f(pb.ones((2, 2)))
    with pytest.warns(UserWarning, match="for 3 kinds of arguments in this process"):
        assert functions[0](pb.ones((2, 2, 2))).shape == (2, 2, 2)
    assert functions[0].cache_info().currsize == 2
    aot.reset()
    functions[0](pb.ones((2, 2, 2)))
    functions[0](pb.ones(2))
    assert functions[0].cache_info().currsize == 2


def test_functions_that_are_gone_do_not_count():
    before = _compiling.recompiled()
    f = compile(lambda x: x * 2, fallback="raise")
    f(pb.ones(2))
    f(pb.ones((2, 2)))
    assert _compiling.recompiled() == before + 1
    del f
    assert _compiling.recompiled() == before


def test_reset_forgets_all_captures():
    f, g = compile(lambda x: x * 2), aot.aot_function(lambda x: x * 3, interpret)
    f(pb.ones(2)), g(pb.ones(2))
    aot.reset()
    assert f.cache_info()[:3] == g.cache_info()[:3] == (0, 0, 0) and f.entries() == []
    assert f(pb.ones(2)).tolist() == [2.0, 2.0] and f.cache_info().misses == 1


def test_what_can_not_be_captured_runs_as_it_is_and_says_so_once_per_kind():
    def f(x):
        return x * (2 if x.sum() > 0 else 3)

    compiled = compile(f, live=False)
    with pytest.warns(UserWarning, match="f runs without being compiled") as caught:
        assert compiled(pb.ones(2)).tolist() == [2.0, 2.0]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(64):  # while there is only one kind, most calls are not looked at
            assert compiled(-pb.ones(2)).tolist() == [-3.0, -3.0]
    with pytest.warns(UserWarning, match="truth value"):
        compiled(pb.ones(3))
    assert compiled.cache_info()[:3] == (0, 2, 2) and compiled.entries() == []
    refusing = compile(f, fallback="raise", live=False), compile(f, strict=True, live=False)
    for strict in (*refusing, aot.aot_function(f, interpret)):
        with pytest.raises(aot.ConcretizationError):
            strict(pb.ones(2))


def test_errors_of_the_function_itself_are_its_own():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        compile(f)(pb.ones(2))


# Calls inside of calls. ----------------------------------------------------------------------------------------------


def test_a_function_that_calls_itself_is_refused():
    @compile(fallback="raise")
    def forever(x):
        return forever(x * 2) + 1

    with pytest.raises(aot.TraceError, match="calls itself"):
        forever(pb.ones(2))

    @compile(fallback="raise")
    def and_back(x):
        return there(x) + 1

    @compile(fallback="raise")
    def there(x):
        return and_back(x) * 2

    with pytest.raises(aot.TraceError, match="and_back calls itself"):
        and_back(pb.ones(2))
    with pytest.raises(aot.TraceError, match="forever calls itself"):
        compile(lambda x: forever(x) * 2, fallback="raise")(pb.ones(2))


def test_a_function_that_calls_itself_with_other_arguments_is_part_of_itself():
    @compile(fallback="raise")
    def power(x, n):
        return x if n == -3 else power(x, n - 1) * x

    x = pb.tensor([2.0, 3.0], requires_grad=True)
    for _ in range(2):
        x.grad = None
        power(x, 0).sum().backward()  # -1 and -2 have the same hash
        np.testing.assert_array_equal(x.grad._data, 4 * x._data**3)
    assert power.cache_info().misses == 1


def test_a_compiled_function_inside_of_another_is_inlined():
    inner = compile(lambda x: pb.sin(x) * 2, fallback="raise")
    seen = []

    def compiler(graph, types):
        seen.append([node.op for node in graph.nodes])
        return graph.eval_boxed

    outer = aot.aot_function(lambda x: inner(x) + inner(x + 1), compiler)
    x = pb.ones(3)
    np.testing.assert_array_equal(outer(x)._data, 2 * np.sin(1.0) + 2 * np.sin(np.full(3, 2.0)))
    assert seen[0].count("sin") == 2 and inner.cache_info().misses == 0


# Captured tensors and overlapping memory. ----------------------------------------------------------------------------


def test_captured_tensors_are_looked_at():
    w = leaf(3)
    compiled = aot.aot_function(lambda x: x * w, interpret)
    compiled(pb.ones(3)), compiled(pb.ones(3))
    assert compiled.cache_info()[:2] == (1, 1)
    w.requires_grad_(False)
    assert not compiled(pb.ones(3)).requires_grad
    assert compiled.why_recompiled() == ["captured[0]: requires_grad: True before, False now"]
    w.requires_grad_(True)
    assert compiled(pb.ones(3)).requires_grad and compiled.cache_info().misses == 2


def test_what_is_written_may_not_begin_to_overlap():
    def f(a, b):
        a.mul_(2)
        return a + b

    compiled = aot.aot_function(f, interpret)
    compiled(pb.ones(2), pb.ones(2))
    z = pb.tensor([1.0, 2.0, 3.0])
    expected = z.clone()
    np.testing.assert_array_equal(compiled(z[:2], z[1:])._data, f(expected[:2], expected[1:])._data)
    np.testing.assert_array_equal(z._data, expected._data)
    assert "overlap" in compiled.why_recompiled()[-1]
    compiled(pb.ones(2), pb.ones(2))
    assert compiled.cache_info().misses == 2


def test_a_written_argument_may_not_begin_to_overlap_a_captured_tensor():
    w = pb.ones(3)

    def f(a):
        a.mul_(2)
        return a + w

    compiled = aot.aot_function(f, interpret)
    assert compiled(pb.ones(3)).tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(aot.AliasError):
        compiled(w[...])
    assert w.tolist() == [1.0, 1.0, 1.0]


# Threads. ------------------------------------------------------------------------------------------------------------


def in_threads(count, work):
    begin = threading.Barrier(count)
    errors = []

    def body(number):
        begin.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_each_key_and_each_backward_is_compiled_once_whoever_comes_first():
    compiled_graphs = []

    def slow(graph, types):
        time.sleep(0.02)
        compiled_graphs.append((graph.name, len(graph.inputs)))
        return graph.eval_boxed

    call = aot.aot_function(lambda x, y: (pb.sin(x), x * y), slow)

    def work(number):
        x, y = leaf(3), leaf(3)
        first, second = call(x, y)
        (first if number % 2 else second).sum().backward()
        assert (y.grad is None) == bool(number % 2)

    in_threads(6, work)
    assert sorted(name for name, _ in compiled_graphs) == ["backward", "backward", "forward"]


def test_threads_with_other_modes_do_not_disturb_a_trace():
    call = aot.aot_function(lambda x: (time.sleep(0.01), x * 2)[1], interpret)

    def work(number):
        if number % 2:
            assert call(leaf(3)).requires_grad
        else:
            with pb.no_grad():
                assert not call(leaf(3)).requires_grad
            y = pb.ones(3) + 1
            assert type(y._data) is np.ndarray

    in_threads(4, work)
    assert call.cache_info().misses == 2


def test_the_ninth_set_of_outputs_is_filled_with_zeros():
    names = []

    def compiler(graph, types):
        names.append(graph.name)
        return graph.eval_boxed

    call = aot.aot_function(lambda a, b, c, d: (a * b, b * c, c * d, pb.sin(d)), compiler)
    eager = lambda a, b, c, d: (a * b, b * c, c * d, pb.sin(d))
    for mask in range(1, 16):
        found = []
        for function in (call, eager):
            args = [pb.full((2,), k + 1.0, requires_grad=True) for k in range(4)]
            outs = [out for k, out in enumerate(function(*args)) if mask >> k & 1]
            pb.autograd.backward([out.sum() for out in outs])
            found.append([None if x.grad is None else x.grad.tolist() for x in args])
        assert found[0] == found[1]
    assert 9 <= names.count("backward") <= 11


def test_backends_say_what_they_are():
    seen = []

    def compiler(graph, types):
        def run(arrays):
            seen.append((graph.name, [array.strides for array in arrays]))
            return graph.eval_boxed(arrays)

        return run

    f = lambda x: pb.exp(pb.cos(pb.sin(x)))
    for layout, strides in (("exact", (24, 8)), ("any", (8, 16))):
        compiler.layout = layout
        call = aot.aot_function(f, compiler)
        x = leaf(2, 3)
        call(x).backward(pb.tensor(np.ones((3, 2))).T)
        assert seen[-1][0] == "backward" and seen[-1][1][-1] == strides
    compiler.recompute_is_free = True
    call = aot.aot_function(f, compiler)
    call(leaf(2, 3))
    assert call.entries()[0].partition.method == "min_cut"
    assert call.explain(leaf(2, 3)).data["partition"]["method"] == "min_cut"


def test_a_traced_function_can_be_evaluated():
    w = pb.full((2,), 3.0)

    def f(a, b, k):
        a.mul_(2)
        return a + b * w, k

    a, b = pb.ones(2), pb.ones(2)
    for keep in (True, False):
        traced = aot.trace(f, a, b, 5, keep_input_mutations=keep)
        (total, k), mutated = traced.eval(a, b, 5)
        assert total.tolist() == [5.0, 5.0] and k == 5
        assert {name: value.tolist() for name, value in mutated.items()} == {"mutated(args[0])": [2.0, 2.0]}
    z = pb.tensor([1.0, 2.0, 3.0])
    (total, _), mutated = aot.trace(f, z[:2], z[1:], 5).eval(z[:2], z[1:], 5)
    assert total.tolist() == [14.0, 13.0] and list(mutated) == ["mutated(base_of(args[0]))"]
    assert a.tolist() == b.tolist() == [1.0, 1.0] and z.tolist() == [1.0, 2.0, 3.0] and z._version == 0


def test_signatures_say_what_inputs_and_outputs_mean():
    w, n = leaf(2), pb.zeros(2)

    def f(x, y):
        n.add_(1)
        return ((x * w).sum() + n.sum(), y * 2)

    joint = aot.joint_graph(f, leaf(2), pb.ones(2), loss_index=0)
    signature = joint.signature
    assert signature.parameters == ["w"] and signature.buffers == ["n"]
    assert signature.user_inputs == ["args[0]", "args[1]"] and signature.user_outputs == ["output[0]", "output[1]"]
    assert set(signature.buffers_to_mutate.values()) == {"n"} and signature.parameters_to_mutate == {}
    assert signature.loss_output == "output[0]" and sorted(signature.captures) == ["n", "w"]
    assert list(signature.backward.gradients_to_parameters.values()) == ["w"]
    assert list(signature.backward.gradients_to_user_inputs) == ["grad(args[0])"]
    assert not any(desc.is_tangent for desc in joint.graph.input_descs)
    values = joint.graph.verify().eval(*[np.full(2, k + 2.0) for k in range(len(joint.graph.inputs))])
    by_name = dict(zip([desc.expr() for desc in joint.graph.output_descs], values, strict=True))
    position = [desc.expr() for desc in joint.graph.input_descs].index(next(iter(signature.inputs_to_parameters)))
    np.testing.assert_array_equal(by_name["grad(args[0])"], np.full(2, position + 2.0))
    traced = aot.trace(f, leaf(2), pb.ones(2)).signature
    assert traced.backward is None and traced.loss_output is None and traced.in_tree is not None
    static = aot.joint_graph(lambda x, w: x * w, leaf(2), leaf(2), static_inputs=(1,)).signature
    assert static.parameters == ["args[1]"] and static.user_inputs == ["args[0]"]
    with pytest.raises(ValueError, match="loss_index=1"):
        aot.joint_graph(f, leaf(2), pb.ones(2), loss_index=1)


def draw_noise(x: np.ndarray) -> np.ndarray:
    return np.random.default_rng().standard_normal(x.shape)


def test_effects_happen_whenever_the_graph_runs(capsys):
    f = compile(lambda x: aot.debug_print("x is {}", x * 2) + 1, fallback="raise")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        f(x).sum().backward()
    assert capsys.readouterr().out == "x is [2. 4.]\n" * 2
    assert x.grad.tolist() == [4.0, 4.0]
    seen = []

    @aot.effect_op("tests::noted")
    def noted(x: np.ndarray, tag: int) -> np.ndarray:
        seen.append((tag, x.tolist()))
        return x.copy()

    def g(x):
        noted(x, 1)
        return noted(x + 1, 2) * 2

    call = compile(g, fallback="raise")
    assert call(pb.ones(1)).tolist() == [4.0] and call(pb.zeros(1)).tolist() == [2.0]
    assert seen == [(1, [1.0]), (2, [2.0]), (1, [0.0]), (2, [1.0])]
    text = aot.trace(g, pb.ones(1)).graph.to_text()
    assert aot.Graph.from_text(text).to_text() == text and text.count("ordered") == 2
    with pytest.raises(TypeError, match="message"):
        aot.debug_print(x, "x is {}")
    draw = pb.library.custom_op("tests::drawn", draw_noise, mutates_args=(), tags=("nondeterministic",))
    draw.register_fake(lambda x: pb.empty_like(x))
    noisy = lambda x: (x**2 * draw(x.detach())).sum()
    assert pb.autograd.grad(compile(noisy, fallback="raise")(x), x)[0].shape == (2,)
    with pytest.raises(aot.HigherOrderError, match="draws"):
        pb.autograd.grad(compile(noisy, fallback="raise")(x), x, create_graph=True)
    with pytest.raises(aot.HigherOrderError, match="effects"):
        pb.autograd.grad(
            compile(lambda x: (aot.debug_print("{}", x * 2) ** 2).sum(), fallback="raise")(x), x, create_graph=True
        )


class Plain(np.ndarray):
    """An array of another class, which computes as arrays do."""


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("f", [lambda x: x * 1, lambda x: np.sin(x), lambda x: x.T, lambda x: pb.exp(x)[0] + x])
def test_results_of_arrays_of_another_class_are_tensors_like_others(f, backend):
    compiled = pb.compile(f, backend=backend, fallback="raise")
    for size in (1, 3):
        x = np.arange(size * size * 1.0).reshape(size, size)
        result = compiled(x.view(Plain))
        assert type(result.numpy()) is np.ndarray
        np.testing.assert_allclose(result.numpy(), np.asarray(f(pb.asarray(x))))


@pytest.mark.parametrize("x", [np.ma.masked_array([1.0, 2.0], [0, 1]), np.asmatrix([[1.0, 2.0], [3.0, 4.0]])], ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
def test_arrays_that_compute_in_their_own_way_are_not_compiled(x, dynamic):
    f = lambda x: x * x
    compiled = pb.compile(f, backend="numpy", dynamic=dynamic)
    compiled(np.ones(x.shape))
    with pytest.warns(UserWarning, match="runs without being compiled"):
        result = compiled(x)
    assert type(result) is type(x) and result.tolist() == f(x).tolist()
    with pytest.raises(pb.aot.UnsupportedTypeError, match="how it computes"):
        pb.compile(f, backend="numpy", fallback="raise")(x)


@pytest.mark.parametrize("f", [lambda x: pb.layer_norm(x, [3]), lambda x: pb.std(x) * x, lambda x: pb.softmax(x, 0)])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_gradients_at_arrays_of_another_byte_order(f, backend):
    values = np.array([0.5, -1.0, 2.0])
    swapped = pb.asarray(values.astype(values.dtype.newbyteorder())).requires_grad_()
    plain = pb.tensor(values, requires_grad=True)
    weights = pb.tensor([1.0, 2.0, -3.0])
    (found,) = pb.autograd.grad((pb.compile(f, backend=backend, fallback="raise")(swapped) * weights).sum(), swapped)
    (wanted,) = pb.autograd.grad((f(plain) * weights).sum(), plain)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-14)


def test_a_captured_tensor_that_is_only_returned_is_returned_itself():
    kept = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    compiled = compile(lambda x: (x * 2, kept, kept[:2]), backend="numpy", fallback="raise")
    for _ in range(2):
        _, whole, part = compiled(pb.ones(2))
        assert whole is kept and part._is_view() and part.tolist() == [1.0, 2.0]
        (gradient,) = pb.autograd.grad(part.sum(), kept)
        assert gradient.tolist() == [1.0, 1.0, 0.0]
    alone = compile(lambda x: (x * 2, kept), backend="numpy", fallback="raise")
    assert alone(pb.ones(2))[1] is kept and alone(pb.ones(2))[1] is kept
    kept.requires_grad_(False)
    assert alone(pb.ones(2))[1] is kept and not kept.requires_grad


def test_the_flag_of_an_argument_may_be_set_unless_it_is_or_has_a_view():
    def f(x, y):
        return x.requires_grad_() * y

    compiled = compile(f, backend="numpy", fallback="raise")
    for _ in range(2):
        x = pb.ones(3)
        assert compiled(x, pb.ones(3)).requires_grad and x.requires_grad
    for x, y in ((pb.ones(4)[:3], pb.ones(3)), ((base := pb.ones(3)), base[:])):
        with pytest.raises(aot.AliasError, match="is a view or has views"):
            compile(f, backend="numpy", fallback="raise")(x, y)
