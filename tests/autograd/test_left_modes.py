"""Context managers that user code inside of the machinery enters and does not leave: nothing stays in force."""

import warnings

import pytest

import pullback as pb
from pullback.autograd import graph
from pullback.core.state import current


def detect_anomaly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pb.autograd.detect_anomaly()


MODES = {
    "no_grad": pb.no_grad,
    "enable_grad": pb.enable_grad,
    "inference_mode": pb.inference_mode,
    "detect_anomaly": detect_anomaly,
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "save_on_cpu": graph.save_on_cpu,
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("no hooks here"),
    "overwrite_policy": lambda: pb.autograd.overwrite_policy("raise"),
    "allow_mutation": graph.allow_mutation_on_saved_tensors,
}


def in_force():
    return current(), pb.autograd.get_overwrite_policy()


def enters(mode):
    mode.__enter__()


def enters_twice(mode):
    mode.__enter__()
    mode.__enter__()


def enters_and_leaves(mode):
    with mode:
        pass


def leaves_one_of_two(mode):
    mode.__enter__()
    with mode:
        pass


def tensor_hook(run):
    y = pb.tensor([1.0, 2.0], requires_grad=True) * 2
    y.register_hook(lambda g: run())
    return y.sum().backward


def custom_backward(run):
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            run()
            return g * 2

    return Double.apply(pb.tensor([1.0], requires_grad=True)).sum().backward


@pytest.mark.parametrize("place", [tensor_hook, custom_backward])
@pytest.mark.parametrize("act", [enters, enters_twice, enters_and_leaves, leaves_one_of_two])
@pytest.mark.parametrize("make", MODES.values(), ids=MODES)
def test_a_mode_that_a_hook_enters_again_ends_with_its_block(make, act, place):
    before, mode = in_force(), make()
    backward = place(lambda: act(mode))
    with mode:
        inside = in_force()
        backward()
        assert in_force() == inside
    assert in_force() == before
    with mode:  # it can be used again
        pass
    assert in_force() == before


def test_a_pack_hook_that_enters_its_own_object_again():
    depth = []

    def pack(tensor):
        depth.append(tensor)
        if len(depth) < 3:
            hooks.__enter__()
        return tensor

    hooks = graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    before = in_force()
    with hooks:
        pb.tensor([1.0], requires_grad=True).exp()
    assert in_force() == before and len(depth) == 1


def test_a_generator_that_a_hook_advances_leaves_its_block_later():
    def steps():
        with pb.autograd.overwrite_policy("raise"):
            yield 1
        yield 2

    generator = steps()
    before = in_force()
    tensor_hook(lambda: next(generator) and None)()
    assert in_force() == before and next(generator) == 2 and in_force() == before


def test_blocks_may_be_left_out_of_turn():
    first, second = pb.no_grad(), pb.autograd.overwrite_policy("raise")
    before = in_force()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert pb.is_grad_enabled() and pb.autograd.get_overwrite_policy().policy == "raise"
    second.__exit__(None, None, None)
    assert in_force() == before
