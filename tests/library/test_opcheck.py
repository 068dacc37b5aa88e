"""Each test of `opcheck` finds the operator that fails it, and no other test complains about that operator."""

import ctypes
import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.library import custom_op, get_ctx, opcheck

_count = itertools.count()
TESTS = ["test_schema", "test_autograd_registration", "test_fake", "test_aot_dispatch_dynamic",
         "test_aot_dispatch_static", "test_determinism", "test_gradcheck", "test_gradgradcheck", "test_linear",
         "test_vmap"]  # fmt: skip
# What fails the first of these fails the second too.
FOLLOWS = {"test_gradcheck": {"test_gradgradcheck"}, "test_aot_dispatch_static": {"test_aot_dispatch_dynamic"}}


def operator(fn, **options):
    made = custom_op(f"opcheck::op{next(_count)}", fn, mutates_args=(), **options)
    made.register_fake(lambda x, *others: pb.empty_like(x))
    return made


def save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def cube(x: np.ndarray) -> np.ndarray:
    return x**3


def good():
    made = operator(cube)
    made.register_autograd(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=save)
    return made


def leaf(dtype="float64"):
    return pb.tensor(np.array([1.0, 2.0, 3.0], dtype), requires_grad=True)


def writes_through_a_pointer():
    def f(x: np.ndarray) -> np.ndarray:
        out = x**3
        x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[1] += 1
        return out

    made = operator(f)
    return made, (pb.zeros(3),), "x is not defined as mutable but was mutated"


def keeps_its_result():
    kept = np.zeros(3)

    def f(x: np.ndarray) -> np.ndarray:
        kept[...] = x
        return kept

    return operator(f), (pb.ones(3),), "the same memory for two calls"


def has_no_formula():
    return operator(cube), (leaf("float32"),), "does not have an autograd kernel"


def has_a_wrong_fake_shape():
    made = good()
    made.register_fake(lambda x: pb.empty(7))
    return made, (leaf(),), "Shapes .* are not equal"


def has_a_fake_that_knows_the_sample():
    made = good()
    made.register_fake(lambda x: pb.empty(3))
    return made, (leaf(),), "Shapes .* are not equal"


def has_wrong_strides():
    made = operator(lambda x: x, schema="(Tensor x) -> Tensor")
    made.register_kernel("cpu", lambda x: pb.asarray(np.asfortranarray(x.numpy() * 2)))
    return made, (pb.ones((2, 3)),), "Stride mismatch"


def leaves_its_bounds():
    def f(x: np.ndarray) -> np.ndarray:
        return np.flatnonzero(x)

    made = operator(f)
    made.register_fake(lambda x: pb.empty(get_ctx().new_dynamic_size(max=2), dtype=pb.int64))
    return made, (pb.ones(6),), "outside of the bounds"


def has_a_fake_that_lies_for_four():
    made = good()
    made.register_fake(lambda x: pb.empty(9) if x.shape[0] == 4 else pb.empty_like(x))
    return made, (leaf(),), "float64\\[4\\] for output 0, and float64\\[9\\] was promised"


def has_a_fake_that_makes_up_a_number():
    def f(x: np.ndarray) -> tuple[np.ndarray, int]:
        return x**3, int(np.argmax(x))

    made = operator(f)
    made.register_fake(lambda x: (pb.empty_like(x), 0))
    made.register_autograd(lambda ctx, g, _: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=save)
    return made, (leaf(),), "returned 2 for output 1, and the graph was made with 0"


def has_a_formula_that_looks_at_values():
    made = operator(cube)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g if x.sum() > 0 else x * 0

    made.register_autograd(backward, setup_context=save)
    return made, (leaf(),), "a truth value is wanted of a traced tensor"


def has_a_formula_that_counts():
    made = operator(cube)
    count = itertools.count(1)

    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g * next(count)

    made.register_autograd(backward, setup_context=save)
    return made, (leaf("float32"),), "Gradients are different"


def draws():
    generator = np.random.default_rng(0)

    def f(x: np.ndarray) -> np.ndarray:
        return x + generator.random(x.shape)

    return operator(f), (pb.ones(3),), "differs between two runs"


def is_off_by_a_factor():
    made = good()
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] ** 2 * g, setup_context=save)
    return made, (leaf(),), ""


def disagrees_forward():
    made = good()
    made.register_jvp(lambda ctx, t: ctx.saved_tensors[0] * t)
    return made, (leaf(),), ""


def is_constant_in_second_order():
    made = operator(cube)

    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0].detach() ** 2 * g

    made.register_autograd(backward, setup_context=save)
    return made, (leaf(),), ""


def is_not_linear():
    made = operator(cube)
    made.register_jvp(linear=True)
    return made, (pb.ones(3),), "not linear in all arguments"


def has_a_wrong_batching_rule():
    made = good()
    made.register_vmap(lambda info, in_dims, x: (2 * x**3, in_dims[0]))
    return made, (leaf(),), "differs from a loop"


FAILING = [
    ("test_schema", writes_through_a_pointer),
    ("test_schema", keeps_its_result),
    ("test_autograd_registration", has_no_formula),
    ("test_fake", has_a_wrong_fake_shape),
    ("test_fake", has_a_fake_that_knows_the_sample),
    ("test_fake", has_wrong_strides),
    ("test_fake", leaves_its_bounds),
    ("test_aot_dispatch_dynamic", has_a_fake_that_lies_for_four),
    ("test_aot_dispatch_static", has_a_fake_that_makes_up_a_number),
    ("test_aot_dispatch_static", has_a_formula_that_looks_at_values),
    ("test_aot_dispatch_static", has_a_formula_that_counts),
    ("test_determinism", draws),
    ("test_gradcheck", is_off_by_a_factor),
    ("test_gradgradcheck", is_constant_in_second_order),
    ("test_linear", is_not_linear),
    ("test_vmap", has_a_wrong_batching_rule),
]


@pytest.mark.parametrize("test, make", FAILING, ids=[make.__name__ for _, make in FAILING])
@pytest.mark.filterwarnings("ignore")
def test_a_test_finds_the_operator_that_fails_it(test, make):
    made, args, message = make()
    found = opcheck(made, args, test_utils="ALL", raise_exception=False)
    failed = {name for name, result in found.items() if result != "SUCCESS"}
    assert test in failed
    assert failed - {test} <= FOLLOWS.get(test, set())
    if message:
        with pytest.raises(Exception, match=message):
            raise found[test]


@pytest.mark.filterwarnings("ignore")
def test_forward_and_reverse_are_compared():
    made, args, _ = disagrees_forward()
    assert opcheck(made, args, raise_exception=False)["test_gradcheck"] != "SUCCESS"


def test_there_is_a_failing_operator_for_every_test():
    assert {test for test, _ in FAILING} == set(TESTS) == set(opcheck(good(), (leaf(),), test_utils="ALL"))


def test_the_arguments_are_not_touched():
    x = leaf()
    opcheck(good(), (x,), test_utils="ALL")
    assert x.tolist() == [1.0, 2.0, 3.0] and x.grad is None and x._version == 0


def test_sharing_and_counting():
    def shares(x: np.ndarray) -> np.ndarray:
        return x

    def twice(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = x + 1
        return y, y

    for fn, message in [(shares, "not defined to alias output but was aliasing"), (twice, "Outputs alias")]:
        made = custom_op(f"opcheck::op{next(_count)}", fn, mutates_args=())
        with pytest.raises(pb.library.OpCheckError, match=message):
            opcheck(made, (pb.ones(3),), test_utils="test_schema")
    made = custom_op(f"opcheck::op{next(_count)}", cube, mutates_args=())
    with pytest.raises(pb.library.OpCheckError, match="no fake impl"):
        opcheck(made, (pb.ones(3),), test_utils="test_faketensor")
