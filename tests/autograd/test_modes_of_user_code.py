"""Modes that user code switches inside of the machinery, and does not switch back, end with that code."""

import contextlib
import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.autograd.graph import disable_saved_tensors_hooks, queue_callback, saved_tensors_hooks
from pullback.core.state import in_force, open_levels
from pullback.utils.checkpoint import GraphExecGroup, checkpoint, set_checkpoint_early_stop

kept = []  # context managers that are entered and not left would be closed by the garbage collector otherwise


def entered(context):
    kept.append(context)
    context.__enter__()


CHANGES = {
    "no_grad": lambda: entered(pb.no_grad()),
    "enable_grad": lambda: entered(pb.enable_grad()),
    "set_grad_enabled": lambda: pb.set_grad_enabled(not pb.is_grad_enabled()),
    "inference_mode": lambda: entered(pb.inference_mode()),
    "detect_anomaly": lambda: pb.autograd.set_detect_anomaly(True, check_nan=False),
    "saved_tensors_hooks": lambda: entered(saved_tensors_hooks(lambda t: t, lambda t: t)),
    "disable_saved_tensors_hooks": lambda: entered(disable_saved_tensors_hooks("no")),
    "allow_mutation": lambda: entered(pb.autograd.graph.allow_mutation_on_saved_tensors()),
    "forward mode": lambda: forward_ad._set_fwd_grad_enabled(False),
    "dual_level": forward_ad.enter_dual_level,
    "early_stop": lambda: entered(set_checkpoint_early_stop(False)),
    "group of passes": lambda: entered(GraphExecGroup()),
    "check_gauge": lambda: pb.linalg.check_gauge(False),
}


pb.linalg.check_gauge(True)  # loads the module whose setting it is


def leaf():
    return pb.tensor([1.0, 2.0], requires_grad=True)


def function(change, place):
    def run(where):
        if where == place:
            change()

    class Double(pb.autograd.Function):
        @staticmethod
        def forward(x):
            run("forward")
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            run("setup_context")

        @staticmethod
        def backward(ctx, g):
            run("backward")
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            run("jvp")
            return t * 2

        @staticmethod
        def vmap(info, in_dims, x):
            run("vmap")
            return Double.apply(x), in_dims[0]

    return Double.apply


def applied(place):
    def use(change):
        function(change, place)(leaf()).sum().backward()

    return use


def in_jvp(change):
    pb.func.jvp(function(change, "jvp"), (leaf().detach(),), (pb.ones(2),))


def in_vmap(change):
    pb.func.vmap(function(change, "vmap"))(leaf().detach())


def calling(change):
    def hook(*_):
        change()

    return hook


def tensor_hook(change):
    y = leaf() * 2
    y.register_hook(calling(change))
    y.sum().backward()


def leaf_hook(change):
    x = leaf()
    x.register_hook(calling(change))
    (x * 2).sum().backward()


def node_pre_hook(change):
    y = leaf() * 2
    y.grad_fn.register_prehook(calling(change))
    y.sum().backward()


def node_post_hook(change):
    y = leaf() * 2
    y.grad_fn.register_hook(calling(change))
    y.sum().backward()


def post_accumulate_hook(change):
    x = leaf()
    x.register_post_accumulate_grad_hook(calling(change))
    (x * 2).sum().backward()


def multi_grad_hook(change):
    x = leaf()
    pb.autograd.graph.register_multi_grad_hook([x], calling(change))
    (x * 2).sum().backward()


def callback(change):
    y = leaf() * 2
    y.register_hook(lambda g: queue_callback(calling(change)))
    y.sum().backward()


def pack_hook(change):
    def pack(t):
        change()
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        y = pb.exp(leaf() * 1)
    y.sum().backward()


def unpack_hook(change):
    def unpack(t):
        change()
        return t

    with saved_tensors_hooks(lambda t: t, unpack):
        y = pb.exp(leaf() * 1)
    y.sum().backward()


def hook_of_a_slot(change):
    y = leaf() ** 2
    y.grad_fn._raw_saved_self.register_hooks(lambda t: (calling(change)(), t)[1], lambda t: t)
    y.sum().backward()


def second_run(change):
    runs = []

    def f(x):
        runs.append(x)
        if len(runs) == 2:
            change()
        return pb.sin(x) * 1

    checkpoint(f, leaf(), early_stop=False).sum().backward()


def second_run_under_early_stop(change):
    runs = []

    def f(x):
        runs.append(x)
        if len(runs) == 2:
            entered(pb.enable_grad())
            change()
        return pb.exp(x)

    checkpoint(f, leaf()).sum().backward()


PLACES = {
    "forward": applied("forward"),
    "setup_context": applied("setup_context"),
    "backward": applied("backward"),
    "jvp": in_jvp,
    "vmap": in_vmap,
    "tensor hook": tensor_hook,
    "leaf hook": leaf_hook,
    "node pre-hook": node_pre_hook,
    "node post-hook": node_post_hook,
    "post-accumulate hook": post_accumulate_hook,
    "multi-grad hook": multi_grad_hook,
    "callback": callback,
    "pack hook": pack_hook,
    "unpack hook": unpack_hook,
    "hook of a slot": hook_of_a_slot,
    "second run": second_run,
    "second run, stopped early": second_run_under_early_stop,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_modes_switched_in_user_code_are_restored(place, change):
    before, levels = in_force(), set(open_levels)
    with contextlib.suppress(RuntimeError):  # a second run in other modes may say so
        place(change)
    assert all(one is other for one, other in zip(in_force(), before))
    assert open_levels == levels


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_modes_switched_by_one_hook_do_not_reach_the_next(change):
    seen = []
    y = leaf() * 2
    y.register_hook(lambda g: seen.append(in_force()))
    y.register_hook(calling(change))
    y.register_hook(lambda g: seen.append(in_force()))
    y.sum().backward()
    assert all(one is other for one, other in zip(*seen))


@pytest.mark.parametrize("place", ["tensor hook", "unpack hook", "backward", "second run"])
def test_modes_are_restored_when_user_code_fails(place):
    def change():
        pb.set_grad_enabled(False)
        entered(pb.inference_mode())
        raise KeyError(place)

    before = in_force()
    with pytest.raises(KeyError):
        PLACES[place](change)
    assert all(one is other for one, other in zip(in_force(), before))


def test_a_level_left_open_by_a_hook_is_closed():
    opened = []
    y = leaf() * 2
    y.register_hook(lambda g: opened.append(forward_ad.enter_dual_level()))
    with forward_ad.dual_level() as outer:
        y.sum().backward()
        assert opened == [outer + 1]
        assert forward_ad.enter_dual_level() == outer + 1
        forward_ad.exit_dual_level()


# Custom operators: what their authors register.


def settings():
    """What is in force, without how often something was entered and not left."""
    return [each for each in in_force() if type(each) is not int]


PARTS = ("kernel", "setup", "backward", "backward, recorded", "jvp", "vmap", "fake")


def operator(change, part):
    def run(where):
        if where == part:
            change()

    def kernel(x: np.ndarray) -> np.ndarray:
        run("kernel")
        return x * 2

    def backward(ctx, g):
        run("backward" if not pb.is_grad_enabled() else "backward, recorded")
        return g * 2

    def rule(info, in_dims, x):
        run("vmap")
        return made(x), in_dims[0]

    made = pb.library.custom_op(f"modes_of_user_code::part_{next(numbers)}", mutates_args=())(kernel)
    made.register_autograd(backward, setup_context=lambda ctx, inputs, output: run("setup"))
    made.register_jvp(lambda ctx, t: (run("jvp"), t * 2)[1])
    made.register_vmap(rule)
    made.register_fake(lambda x: (run("fake"), pb.empty(x.shape, dtype=x.dtype))[1])
    return made


numbers = itertools.count()


@pytest.mark.parametrize("change", [CHANGES["inference_mode"], CHANGES["set_grad_enabled"], CHANGES["detect_anomaly"]])
@pytest.mark.parametrize("part", PARTS)
def test_modes_switched_in_a_custom_operator_are_restored(part, change):
    made, before = operator(change, part), settings()
    uses = [
        lambda: made(leaf().detach()),
        lambda: made(leaf()).sum().backward(),
        lambda: pb.autograd.grad(made(leaf()).sum(), [leaf()], create_graph=True, allow_unused=True),
        lambda: made(leaf()).sum().backward(create_graph=True),
        lambda: pb.func.jvp(made, (pb.ones(2),), (pb.ones(2),)),
        lambda: pb.func.vmap(made)(pb.ones(2)),
        lambda: pb.compile(lambda x: made(x).sum(), backend="numpy", fallback="raise")(leaf()).backward(),
    ]
    for use in uses:
        with contextlib.suppress(RuntimeError, NotImplementedError):
            use()
        assert all(one is other for one, other in zip(settings(), before, strict=True))
