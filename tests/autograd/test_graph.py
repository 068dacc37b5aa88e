"""`autograd.graph` and `autograd.profiler` beyond the conformance cases: who keeps what alive, and for how long."""

import contextlib
import copy
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import (
    _unsafe_preserve_version_counter,
    _unsafe_set_version_counter,
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    queue_callback,
    register_multi_grad_hook,
    report_overwrites,
    save_on_cpu,
    saved_tensors_hooks,
)
from pullback.autograd.profiler import observers, record_function
from pullback.core.state import NORMAL, switch
from pullback.errors import AutogradError
from pullback.testing import assert_close

grad = pb.autograd.grad


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def constant(value):
    return pb.tensor(np.array(value, dtype=float))


def code_of(function, *args, **kwargs):
    with pytest.raises(AutogradError) as caught:
        function(*args, **kwargs)
    return caught.value.code


# Hooks on saved values


def test_one_pair_of_hooks_may_be_entered_again_and_nested():
    packs, x = [], leaf([2.0])
    hooks = saved_tensors_hooks(lambda t: (packs.append(1), t)[1], lambda t: t)
    with hooks, hooks:
        x.sin()
    with hooks:
        x.sin()
    x.sin()
    assert len(packs) == 2


def test_hooks_end_with_their_block_even_if_it_fails():
    x, packs = leaf([2.0]), []
    with pytest.raises(ZeroDivisionError), saved_tensors_hooks(lambda t: packs.append(1), lambda t: t):
        raise ZeroDivisionError
    x.sin().backward()
    assert packs == []


def test_disabled_hooks_refuse_save_on_cpu_too():
    with disable_saved_tensors_hooks("not now"), pytest.raises(RuntimeError, match="not now"), save_on_cpu():
        pass


def test_save_on_cpu_hides_outer_hooks_and_closes_no_cycle():
    packs = []
    gc.collect()
    gc.disable()
    try:
        with saved_tensors_hooks(lambda t: (packs.append(1), t)[1], lambda t: t), save_on_cpu():
            y = leaf([1.0]).exp()
        gone = weakref.ref(y.grad_fn)
        del y
        assert gone() is None and packs == []
    finally:
        gc.enable()


def test_a_twin_of_a_leaf_leads_to_the_leaf_after_its_graph_is_gone():
    x = leaf([3.0])
    with saved_tensors_hooks(lambda t: t.detach().numpy().copy(), pb.asarray):
        y = x * x
    twin = y.grad_fn._saved_self
    assert twin is not x and twin.is_leaf
    del y
    gc.collect()
    (twin * 5).backward()
    assert_close(x.grad, [5.0])


# Mutation of saved values


def test_a_value_that_nobody_wrote_is_not_copied():
    with allow_mutation_on_saved_tensors():
        h = leaf([1.0, 2.0]) * 1
        y = h * h
        assert y.grad_fn._saved_self._data is h._data


def test_one_copy_serves_everything_that_saved_the_same_version():
    x, c = leaf([3.0, 3.0]), constant([1.0, 2.0])
    with allow_mutation_on_saved_tensors():
        first, second = x * c, x * c
        c.add_(1)
        kept = [y.grad_fn._saved_other for y in (first, second)]
        third = x * c
        c.add_(1)
        assert np.shares_memory(kept[0].numpy(), kept[1].numpy())
        later = third.grad_fn._saved_other
        assert not np.shares_memory(kept[0].numpy(), later.numpy())
        assert_close(kept[0], [1.0, 2.0])
        assert_close(later, [2.0, 3.0])


def test_nothing_is_copied_for_values_that_are_gone_or_elsewhere():
    x, c, d = leaf([3.0, 3.0]), constant([1.0, 2.0]), constant([1.0, 2.0, 3.0, 4.0])
    with report_overwrites() as report:
        y = x * c
        del y
        c.add_(1)
        y = x * d[:2]
        d[2:].add_(1)
        assert y.grad_fn._saved_other is not None
    assert report == []


def test_the_copy_dies_when_its_node_has_run():
    x, c = leaf([3.0]), constant([2.0])
    y = (x * c).sum()
    kept = weakref.ref(c._data)
    c.add_(1)
    assert kept() is not None
    y.backward()
    assert kept() is None
    assert_close(x.grad, [2.0])


def test_writes_through_unrelated_objects_on_the_same_memory_are_covered():
    memory = np.array([1.0, 2.0, 3.0, 4.0])
    x, c = leaf([3.0, 3.0]), pb.asarray(memory[1:3])
    other = pb.asarray(np.frombuffer(memory.data)[2:])
    with allow_mutation_on_saved_tensors():
        y = (x * c).sum()
        other.add_(10)
        y.backward()
    assert_close(x.grad, [2.0, 3.0])


def test_writes_through_data_are_neither_counted_nor_preserved():
    x, c = leaf([1.0]), constant([2.0])
    with allow_mutation_on_saved_tensors():
        first = x * c
        c.data.add_(1)
        second = x * c
        c.data.add_(1)
        assert c._version == 0
        assert [y.grad_fn._saved_other.item() for y in (first, second)] == [4.0, 4.0]


def test_strided_neighbours_do_not_count_as_overlap():
    x, c = leaf([3.0, 3.0]), constant([1.0, 2.0, 3.0, 4.0])
    with report_overwrites() as report:
        y = (x * c[::2]).sum()
        c[1::2].add_(10)
    assert report == []
    y.backward()
    assert_close(x.grad, [1.0, 3.0])


def test_of_many_values_those_are_kept_that_are_written():
    x, cs = leaf([2.0]), [constant([float(k)]) for k in range(300)]
    with report_overwrites() as report:
        ys = [x * c for c in cs]
        for c in cs[::3]:
            c.add_(1000)
        assert len(report) == 100
        values = [y.grad_fn._saved_other.item() for y in ys]
    assert values == [float(k) for k in range(300)]


def test_second_derivatives_are_taken_at_the_values_before_the_write():
    a = leaf([2.0])
    with allow_mutation_on_saved_tensors():
        b = a.clone()
        y = b * b * b
        b.mul_(10)
        (first,) = grad(y, a, create_graph=True)
        b.mul_(10)
        (second,) = grad(first, a)
    assert_close(first.detach(), [12.0])
    assert_close(second, [12.0])


def test_values_may_be_read_outside_of_their_block():
    x = leaf([2.0])
    block = allow_mutation_on_saved_tensors()
    with block:
        y = x * x
    y.backward()
    with block:
        z = x * x
    z.backward()
    assert_close(x.grad, [8.0])


def test_the_policy_is_that_of_the_thread_that_writes():
    x, c = leaf([2.0]), constant([3.0])

    @pb.autograd.overwrite_policy("raise")
    def write():
        c.add_(1)

    y = x * c
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert code_of(y.backward) == "VERSION"
    c.add_(1)
    assert code_of(y.backward) == "VERSION"


# Hooks on several gradients


def test_a_multi_grad_hook_keeps_no_graph_alive():
    gc.collect()
    gc.disable()
    try:
        a = leaf([1.0])
        b = a * 2
        register_multi_grad_hook((a, b), lambda gradients: None)
        gone = weakref.ref(b.grad_fn)
        del b
        assert gone() is None
    finally:
        gc.enable()


def test_a_multi_grad_hook_on_leaves_outlives_their_accumulators():
    a, b, calls = leaf([1.0]), leaf([1.0]), []
    register_multi_grad_hook((a, b), lambda gradients: calls.append([g.item() for g in gradients]))
    for factor in (2.0, 3.0):
        (a * factor + b).backward()
    assert calls == [[2.0, 1.0], [3.0, 1.0]]


def test_a_multi_grad_hook_is_called_as_soon_as_the_last_gradient_is_there():
    a, order = leaf([1.0]), []
    b = a * 2
    register_multi_grad_hook((b,), lambda gradients: order.append("all"))
    a.register_hook(lambda g: order.append("a"))
    b.sum().backward()
    assert order == ["all", "a"]


def test_a_refused_multi_grad_hook_leaves_nothing_behind():
    a, calls = leaf([1.0]), []
    with pytest.raises(AutogradError):
        register_multi_grad_hook((a, constant([1.0])), lambda gradients: calls.append(1))
    (a * 2).backward()
    assert calls == []


def test_gradients_given_to_a_multi_grad_hook_are_read_only():
    a, codes = leaf([1.0]), []
    register_multi_grad_hook((a,), lambda gradients: codes.append(code_of(gradients[0].mul_, 2)))
    register_multi_grad_hook((a,), lambda gradient: codes.append(code_of(gradient.mul_, 2)), mode="any")
    (a * 2).backward()
    assert codes == ["READONLY_GRAD", "READONLY_GRAD"]


def test_a_hook_that_fails_ends_the_pass():
    def fail(gradients):
        raise KeyError("here")

    a = leaf([1.0])
    register_multi_grad_hook((a,), fail)
    with pytest.raises(KeyError, match="here"):
        (a * 2).backward()


def test_an_undefined_gradient_is_known_at_the_end_of_the_pass():
    class Half(pb.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, None

    a, b, order = leaf([1.0]), leaf([1.0]), []
    register_multi_grad_hook((a, b), lambda gradients: order.append([g if g is None else g.item() for g in gradients]))
    a.register_hook(lambda g: queue_callback(lambda: order.append("callback")))
    Half.apply(a, b).backward()
    assert order == [[1.0, None], "callback"]


# Versions by hand


def test_a_version_set_by_hand_invalidates_what_was_saved_before():
    x, c = leaf([2.0]), constant([3.0])
    y = x * c
    _unsafe_set_version_counter((c,), (7,))
    assert c._version == 7
    assert code_of(y.backward) == "VERSION"
    with pytest.raises(ValueError):
        _unsafe_set_version_counter((c,), (1, 2))


def test_preserved_versions_are_restored_after_an_error_and_for_one_tensor():
    x, c = leaf([2.0]), constant([3.0])
    y = x * c
    with pytest.raises(ZeroDivisionError), _unsafe_preserve_version_counter(c):
        c.add_(1)
        raise ZeroDivisionError
    assert c._version == 0
    y.backward()


def test_versions_belong_to_tensors():
    with pytest.raises(TypeError):
        increment_version([1.0])


# Policies


def test_switches_work_as_call_block_and_decorator():
    x = pb.tensor(np.zeros((3, 2)).T, requires_grad=True)

    def strides():
        x.grad = None
        (x * constant(np.ones((2, 3)))).sum().backward()
        return x.grad.strides

    own = strides()
    with pb.autograd.enforce_grad_layout_policy(False):
        lifted = strides()
    assert lifted != own
    assert strides() == own
    assert pb.autograd.enforce_grad_layout_policy(False)(strides)() == lifted
    assert strides() == own
    with pb.autograd.set_multithreading_enabled(False):
        assert strides() == own


# Observers


def test_observers_are_listed_and_removed_and_fast_paths_come_back():
    events = []

    def observe(*event):
        events.append(event)

    assert len(observers) == 0
    observers.append(observe)
    try:
        assert observe in observers and list(observers) == [observe] and len(observers) == 1
        assert switch.normal is None
        with record_function("outer"):
            leaf([1.0]).sin()
        record_function("inner")(lambda: None)()
    finally:
        observers.clear()
    assert len(observers) == 0 and switch.normal is NORMAL
    assert [(kind, name) for kind, name, *_ in events] == [
        ("begin", "outer"), ("forward", "sin"), ("end", "outer"), ("begin", "inner"), ("end", "inner"),
    ]  # fmt: skip
    with pytest.raises(ValueError):
        observers.remove(observe)


def test_a_function_is_observed_under_the_number_of_its_node():
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    events = []
    observers.append(lambda *event: events.append(event))
    try:
        y = Double.apply(leaf([1.0]))
        y.backward()
        Double.apply(constant([1.0]))
    finally:
        observers.clear()
    number = y.grad_fn._sequence_nr()
    assert [kind for kind, name, n, _ in events if n == number] == ["forward", "backward"]
    assert ("forward", "Double", -1) in [event[:3] for event in events]


# Contexts that are left too often, and modes put on functions

CONTEXTS = {
    "saved_tensors_hooks": lambda: saved_tensors_hooks(lambda t: t, lambda t: t),
    "disable_saved_tensors_hooks": lambda: disable_saved_tensors_hooks("no"),
    "save_on_cpu": save_on_cpu,
    "allow_mutation_on_saved_tensors": allow_mutation_on_saved_tensors,
    "no_grad": pb.no_grad,
    "enable_grad": pb.enable_grad,
    "inference_mode": pb.inference_mode,
    "dual_level": pb.autograd.forward_ad.dual_level,
    "set_multithreading_enabled": lambda: pb.autograd.set_multithreading_enabled(True),
}


@pytest.mark.parametrize("make", CONTEXTS.values(), ids=CONTEXTS.keys())
def test_leaving_a_context_that_was_not_entered_says_so(make):
    context = make()
    assert code_of(context.__exit__, None, None, None) == "EXIT_WITHOUT_ENTER"
    with context:
        pass
    assert code_of(context.__exit__, None, None, None) == "EXIT_WITHOUT_ENTER"


@pytest.mark.parametrize(
    "decorate",
    [pb.inference_mode, lambda f: pb.inference_mode(mode=f), lambda f: pb.inference_mode()(f),
     lambda f: pb.inference_mode(True)(f), lambda f: pb.inference_mode(mode=True)(f)],
)  # fmt: skip
def test_every_spelling_of_inference_mode_decorates(decorate):
    assert decorate(pb.is_inference_mode_enabled)() is True
    assert not pb.is_inference_mode_enabled()


# Every way to write, where saved values may be overwritten

ZERO = np.zeros(3)
WRITES = {
    "unary out=": lambda b: pb.sin(pb.zeros(3), out=b),
    "binary out=": lambda b: pb.add(pb.zeros(3), 0.0, out=b),
    "reduction out=": lambda b: pb.sum(pb.zeros((2, 3)), 0, out=b),
    "product out=": lambda b: pb.matmul(pb.zeros((3, 3)), pb.zeros(3), out=b),
    "itself out=": lambda b: pb.multiply(b, 0.0, out=b),
    "np ufunc out=": lambda b: np.add(pb.zeros(3), 0.0, out=b),
    "np function out=": lambda b: np.cumsum(pb.zeros(3), out=b),
    "ufunc.at": lambda b: np.subtract.at(b, [0, 1, 2], 1.0),
    "copyto": lambda b: np.copyto(b, ZERO),
    "method": lambda b: b.mul_(0),
    "operator": lambda b: b.__isub__(1.0),
    "index": lambda b: b.__setitem__(slice(None), ZERO),
    "index arrays": lambda b: b.__setitem__([0, 1, 2], ZERO),
    "view": lambda b: b[1:].zero_(),
    "compiled": lambda b: pb.compile(lambda b: b.mul_(0.0))(b),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_saved_value_is_kept_whoever_overwrites_it(write):
    x = leaf([1.0, 2.0, 3.0])
    with allow_mutation_on_saved_tensors():
        b = x * 1
        square = (b**2).sum()
        with pb.no_grad():
            write(b)
        square.backward()
    assert_close(x.grad, [2.0, 4.0, 6.0])


# Copies


@pytest.mark.parametrize("take", [lambda b: b[0], lambda b: b.T, lambda b: b.reshape(-1), lambda b: b[1:, ::2]])
def test_a_leaf_that_is_a_view_can_be_deep_copied(take):
    view = take(constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    view.requires_grad_()
    (view * 2).sum().backward()
    twin = copy.deepcopy(view)
    assert twin.is_leaf and twin.requires_grad and not twin._is_view()
    assert_close(twin, view)
    assert_close(twin.grad, view.grad)


def test_a_view_of_what_requires_grad_is_not_deep_copied():
    base = constant([1.0, 2.0])
    view = base[:1]
    base.requires_grad_()
    assert code_of(copy.deepcopy, view) == "DEEPCOPY_NONLEAF"


# What nodes show of what they keep

SAVED = {
    "stack": (lambda x: pb.stack([x, x], 1), {"dim": 1}),
    "concat": (lambda x: pb.concatenate([x, x], 1), {"dim": 1}),
    "sum": (lambda x: x.sum(1), {"dim": (1,), "keepdim": False, "self_sym_sizes": (2, 3)}),
    "amax": (lambda x: x.amax(1, keepdims=True), {"dim": (1,), "keepdim": True}),
    "cumsum": (lambda x: x.cumsum(-1), {"dim": 1}),
    "softmax": (lambda x: pb.softmax(x, 0), {"dim": 0}),
    "permute": (lambda x: x.permute(1, 0), {"dims": (1, 0)}),
    "view": (lambda x: x.reshape(6), {"size": (6,), "self_sym_sizes": (2, 3)}),
    "expand": (lambda x: x.expand(4, 2, 3), {"size": (4, 2, 3)}),
    "unsqueeze": (lambda x: x.unsqueeze(1), {"dim": 1}),
    "diagonal": (lambda x: x.diagonal(), {"offset": 0, "dim1": 0, "dim2": 1}),
    "pow": (lambda x: x**3, {"exponent": 3}),
    "roll": (lambda x: x.roll(1, 0), {"dims": (0,)}),
    "tril": (lambda x: x.tril(1), {"diagonal": 1}),
}


@pytest.mark.parametrize("function, expected", SAVED.values(), ids=SAVED.keys())
def test_a_node_shows_parameters_of_its_operator_also_after_release(function, expected):
    node = function(leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).grad_fn
    for _ in range(2):
        assert {name: getattr(node, f"_saved_{name}") for name in expected} == expected
        node.release()
    assert not hasattr(node, "_saved_nonsense")


def test_a_node_shows_operands_and_results_by_torch_s_names():
    x, y = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[5.0, 6.0], [7.0, 8.0]])
    product = x @ y
    assert product.grad_fn._saved_self is x and product.grad_fn._saved_mat2 is y
    assert (x * y).grad_fn._saved_other is y
    assert_close(pb.exp(x).grad_fn._saved_result, pb.exp(x))
    assert (x * 2).grad_fn._saved_other == 2


@pytest.mark.parametrize("index, places", [
    (np.s_[:, [0, 1]], (None, [0, 1])), (np.s_[[0, 1]], ([0, 1],)), (np.s_[..., [1]], (None, [1])),
    (np.s_[[0, 1], [1, 0]], ([0, 1], [1, 0])), (np.s_[None, :, [0]], (None, [0])),
])  # fmt: skip
def test_a_node_shows_the_arrays_of_an_index(index, places):
    parts = index if isinstance(index, tuple) else (index,)
    index = tuple(pb.tensor(part) if isinstance(part, list) else part for part in parts)
    node = leaf([[1.0, 2.0], [3.0, 4.0]])[index].grad_fn
    found = node._saved_indices
    assert [None if each is None else each.tolist() for each in found] == list(places)
    assert [each is None for each in node._raw_saved_indices] == [each is None for each in places]
    assert leaf([[1.0, 2.0]]).topk(1).values.grad_fn._saved_indices.tolist() == [[1]]


LISTED = {
    "product": (lambda x: x * x, {"self", "other"}),
    "number": (lambda x: x * 2, {"other"}),
    "result": (pb.exp, {"result"}),
    "reduction": (lambda x: x.amax(1), {"self", "result", "dim", "keepdim"}),
    "index": (lambda x: x[:, pb.tensor([0])], {"indices", "template", "distinct"}),
    "gather": (lambda x: x.topk(1)[0], {"indices", "dim", "distinct"}),
    "clip": (lambda x: x.clip(0, 1), {"self", "min", "max"}),
    "in place": (lambda x: (x * 1).mul_(x), {"self", "other"}),
}


@pytest.mark.parametrize("function, names", LISTED.values(), ids=LISTED.keys())
def test_dir_of_a_node_lists_what_it_shows(function, names):
    node = function(leaf([[1.0, 2.0], [3.0, 4.0]])).grad_fn
    listed = {name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")}
    assert listed == names
    assert all(hasattr(node, name) for name in dir(node) if "saved_" in name)


def test_a_saved_value_shows_what_is_kept_and_its_hook():
    x = leaf([1.0, 2.0])
    handle = (x * x).grad_fn._raw_saved_self
    assert handle.data is x and handle.unpack_hook is None

    def unpack(packed):
        return packed[1]

    with saved_tensors_hooks(lambda t: ("kept", t), unpack):
        y = x * x
    handle = y.grad_fn._raw_saved_self
    assert handle.data == ("kept", x) and handle.unpack_hook is unpack
    assert handle.unpack_hook(handle.data) is x
    e = pb.exp(x)
    handle = e.grad_fn._raw_saved_result
    assert handle.data.tolist() == e.tolist() and handle.data.grad_fn is None
    handle.register_hooks(lambda t: t.numpy(), lambda a: pb.asarray(a))
    assert isinstance(handle.data, np.ndarray)
    e.sum().backward()
    assert handle.data is None and handle.unpack_hook is None


# Anomaly mode


def through(function):
    """Where anomaly mode says that the forward call was made, for a gradient that is nan."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        with pytest.raises(AutogradError) as error, pb.autograd.detect_anomaly():
            function(leaf([0.0, 1.0])).sum().backward()
    assert error.value.code == "ANOMALY_NAN"
    return "".join(str(each.message) for each in caught)


def written(x):
    y = x * 1
    y[:1].mul_(pb.log(y[1:] * 0))
    return y


class Nan(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * np.nan


ANOMALIES = {
    "operator": lambda x: pb.log(x * 0),
    "write to a view": written,
    "Function": Nan.apply,
    "compiled": pb.compile(lambda x: pb.log(x * 0), backend="numpy"),
    "compiled Function": pb.compile(Nan.apply, backend="numpy"),
    "checkpoint": lambda x: pb.checkpoint(lambda x: pb.log(x * 0), x),
}


@pytest.mark.parametrize("function", ANOMALIES.values(), ids=ANOMALIES.keys())
def test_anomaly_mode_knows_where_every_kind_of_node_was_made(function):
    text = through(function)
    assert "Traceback of the forward call" in text and "function(leaf([0.0, 1.0]))" in text


def test_a_node_hook_that_an_unpack_hook_registers_runs_in_the_same_pass():
    def unpack(packed):
        node = pb.autograd.graph.current_node()
        node.register_hook(lambda inputs, outputs: tuple(None if g is None else g / 2 for g in inputs))
        return packed

    for function in (lambda x: x.exp(), lambda x: x.tanh() + x, lambda x: pb.var(x, axis=0)):
        x = pb.tensor([[0.5, 1.0], [2.0, -1.0]], requires_grad=True)
        (plain,) = pb.autograd.grad(function(x).sum(), x)
        with pb.autograd.graph.saved_tensors_hooks(lambda value: value, unpack):
            out = function(x).sum()
        (hooked,) = pb.autograd.grad(out, x)
        linear = 1.0 if function(x).grad_fn.name().startswith("Add") else 0.0
        assert_close(hooked - linear, (plain - linear) / 2)


def test_a_flag_set_later_does_not_reach_into_a_graph():
    """What was a constant when it was recorded stays one there, with and without hooks on saved values."""
    hooks = pb.autograd.graph.saved_tensors_hooks(lambda value: value, lambda value: value)
    for mode in (contextlib.nullcontext(), hooks):
        x, c = pb.tensor([2.0, 3.0], requires_grad=True), pb.tensor([5.0, 7.0])
        with mode:
            y = (x * c).sum()
        c.requires_grad_()
        (g,) = pb.autograd.grad(y, x, create_graph=True)
        assert not g.requires_grad


@pytest.mark.parametrize("hooked", [False, True])
def test_a_gradient_that_was_given_is_not_the_memory_of_grad(hooked):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    if hooked:
        x.register_post_accumulate_grad_hook(lambda leaf: None)
    given = pb.tensor([5.0, 6.0])
    x.backward(given)
    given.mul_(0)
    assert x.grad.tolist() == [5.0, 6.0]


def test_leaves_that_get_the_same_gradient_do_not_share_its_memory():
    x, y = (pb.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    for leaf in (x, y):
        leaf.register_post_accumulate_grad_hook(lambda leaf: None)
    ((x + y) * pb.tensor([2.0, 3.0])).sum().backward()
    x.grad.zero_()
    assert y.grad.tolist() == [2.0, 3.0]


def test_a_product_with_a_constant_goes_to_the_leaf_at_once():
    x, c = pb.tensor(2.0, requires_grad=True), pb.tensor(3.0)
    (x * c).backward()
    (c * x).backward()
    assert x.grad.item() == 6.0 and c.grad is None


def test_anomaly_mode_looks_into_arrays_of_other_libraries():
    strict = pytest.importorskip("array_api_strict")
    x = pb.foreign(strict.asarray([0.0, 4.0]))
    whole = pb.foreign(strict.asarray([1, 2]))
    x.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pb.autograd.detect_anomaly():
            (x * whole).sum().backward()
            with pytest.raises(AutogradError, match="SqrtBackward0' returned nan"):
                pb.where(x > 1, pb.sqrt(x), pb.zeros_like(x)).sum().backward()
    assert x.grad.numpy().tolist() == [1.0, 2.0]
