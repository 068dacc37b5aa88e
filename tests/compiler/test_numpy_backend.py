"""The NumPy backend by hand: source that reads well, memory used again, writes, control flow, custom operators."""

from __future__ import annotations

import gc
import traceback
import tracemalloc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.numpy_source import compile_numpy
from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.graph.interpret import evaluate
from pullback.graph.ir import Program, array_type, type_of
from pullback.library._call import TENSOR, Call
from tests.compiler.graphs import Builder, same_bits

F64 = np.dtype(np.float64)


def typed(*shape):
    return array_type(shape, F64)


def body_of(compiled):
    """The statements of the function, without comments."""
    text = compiled.source.partition("def forward")[2]
    return [line.split("  #")[0].strip() for line in text.splitlines()[1:] if line.strip()]


def test_the_source_has_one_statement_per_node():
    b = Builder(np.ones((3, 4)), np.ones((4, 2)))
    x, w = b.inputs
    hidden = b("tanh", b("matmul", x, w))
    b.output(b("sum", b("multiply", hidden, 2.0), axis=(0,), keepdims=False, dtype=None))
    assert body_of(compile_numpy(b.program)) == [
        "matmul = args_0.dot(args_1)",
        "tanh = np.tanh(matmul, matmul)",
        "multiply = np.multiply(tanh, two, tanh)",
        "output_0 = np.add.reduce(multiply, 0)",
        "return (output_0,)",
    ]


def test_comments_give_types_and_what_is_written_over():
    b = Builder(np.ones((3, 2), np.float32))
    b.output(b("exp", b("negative", b.inputs[0])))
    assert "# f32[3,2], over negative" in compile_numpy(b.program).source


def test_names_that_the_function_does_not_define_are_explained_above_it():
    b = Builder(np.ones((3, 2)))
    x = b("multiply", b.inputs[0], b.constant(np.ones((3, 2))))
    b.output(b("softmax", b("multiply", x, 2.0), axis=(1,)))
    head = compile_numpy(b.program).source.partition("def forward")[0].split("\n")[:3]
    assert head == ["# constant: a constant f64[3,2]", "# two: float64 2.0", "# softmax: the kernel of `softmax`"]


def test_slices_are_subscripts():
    b = Builder(np.ones((3, 4)))
    b.output(b("_basic_index", b.inputs[0], index=(slice(1, None), None, slice(None, None, -2), ...)))
    assert "args_0[1:, None, ::-2]" in compile_numpy(b.program).source


def test_a_broadcast_that_a_product_does_by_itself_is_not_made():
    b = Builder(np.ones(()), np.ones((3, 4)))
    g, x = b.inputs
    b.output(b("multiply", b("broadcast_to", g, shape=(3, 4)), x))
    assert body_of(compile_numpy(b.program)) == ["output_0 = args_0 * args_1", "return (output_0,)"]


def test_a_kernel_whose_result_is_laid_out_otherwise_than_its_type_says():
    """Types of results that kernels make are what shape rules say; nothing but outputs' layouts relies on them."""
    program = Program("forward")
    x = program.add_input(typed(3, 4), "args[0]")
    attrs = {"template": (slice(None), "array", 1), "distinct": False}
    cube = program.add_input(typed(2, 4, 2), "args[1]")
    places = program.add_input(array_type((3,), np.dtype(np.int64)), "args[2]")
    rows = program.add(registry["_index"], (cube, places), attrs, [typed(2, 3)]).result
    repeated = array_type((2, 2, 3), F64, (0, 24, 8))
    wide = program.add(registry["broadcast_to"], (rows,), {"shape": (2, 2, 3)}, [repeated])
    product = program.add(registry["matmul"], (rows, x), {}, [typed(2, 4)])
    for value in (rows, wide.result, product.result):
        program.add_output(value, f"output[{len(program.outputs)}]")
    random = np.random.default_rng(0)
    arrays = random.normal(size=(3, 4)), random.normal(size=(2, 4, 2)), np.array([2, 0, 3])
    assert not arrays[1][:, arrays[2], 1].flags.c_contiguous
    outputs = compile_numpy(program).flat(*arrays)
    assert outputs[0].flags.c_contiguous
    for out, wanted in zip(outputs, evaluate(program, arrays), strict=True):
        assert same_bits(out, wanted)


def test_a_value_that_is_read_later_is_not_written_over():
    b = Builder(np.ones(5))
    first = b("exp", b.inputs[0])
    b.output(b("multiply", b("sin", first), first))
    source = compile_numpy(b.program).source
    assert "np.sin(exp)" in source and "np.multiply(sin, exp, sin)" in source


def test_a_view_keeps_its_base_from_being_written_over():
    b = Builder(np.ones((2, 3)))
    first = b("exp", b.inputs[0])
    row = b("_basic_index", first, index=(0, ...))
    b.output(b("add", b("sin", first), row))
    assert "np.sin(exp)" in compile_numpy(b.program).source


def test_memory_of_a_value_that_died_before_is_used_again():
    b = Builder(np.arange(6.0).reshape(2, 3))
    total = b("sum", b("exp", b.inputs[0]), axis=(0, 1), keepdims=False, dtype=None)
    b.output(b("multiply", b.inputs[0], total))
    compiled = compile_numpy(b.program)
    assert "np.multiply(args_0, sum_2, exp)" in compiled.source
    assert same_bits(compiled.flat(b.arrays[b.inputs[0]])[0], b.expected()[0])


def test_updates_write_in_place_where_the_base_is_free_and_copy_where_it_is_not():
    row = ViewStep(registry["_basic_index"], {"index": (0, ...)})
    b = Builder(np.ones((2, 3)))
    first = b("exp", b.inputs[0])
    second = b.update(first, 5.0, row)
    b.output(second, b.update(b.inputs[0], 7.0, row))
    compiled = compile_numpy(b.program)
    assert "output_0 = exp" in body_of(compiled) and "output_1 = args_0.copy()" in body_of(compiled)
    x = b.arrays[b.inputs[0]]
    for out, wanted in zip(compiled.flat(x), b.expected(), strict=True):
        assert same_bits(out, wanted)
    assert (x == 1).all()


def test_a_long_chain_needs_the_memory_of_two_arrays():
    b = Builder(np.ones(1 << 17))
    x = b.inputs[0]
    for k in range(12):
        view = b("_basic_index", x, index=(slice(None, None, -1), ...))
        x = b("sin", b("add", x, view)) if k % 2 else b("cumsum", b("exp", x), axis=0, dtype=None, reverse=False)
    b.output(b("sum", x, axis=(0,), keepdims=False, dtype=None))
    run, array = compile_numpy(b.program).flat, np.ones(1 << 17)
    run(array)
    tracemalloc.start()
    run(array)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.1 * array.nbytes


def test_constants_and_inputs_are_returned_as_copies():
    b = Builder(np.ones(3))
    constant = b.constant(np.arange(3.0))
    b.output(constant, b.inputs[0])
    x = np.ones(3)
    first = compile_numpy(b.program)
    out, own = first.flat(x)
    out += 1
    assert not np.shares_memory(own, x)
    assert same_bits(first.flat(x)[0], np.arange(3.0))


def test_what_is_saved_for_backward_is_handed_over_as_it_is():
    program = Program("forward")
    value = program.add_input(typed(3), "args[0]")
    program.add_output(value, "saved[0]")
    x = np.ones(3)
    assert compile_numpy(program).flat(x)[0] is x


def test_the_same_value_twice_gives_two_arrays_and_fresh_says_otherwise():
    b = Builder(np.ones(3))
    y = b("exp", b.inputs[0])
    b.output(y, y)
    one, two = compile_numpy(b.program).flat(np.ones(3))
    assert not np.shares_memory(one, two)
    one, two = compile_numpy(b.program, fresh=()).flat(np.ones(3))
    assert one is two


def test_missing_gradients_are_none():
    b = Builder(np.ones(3))
    b.output(None, b("exp", b.inputs[0]))
    assert compile_numpy(b.program).flat(np.ones(3))[0] is None


def test_the_boxed_call_empties_its_list_and_lets_inputs_go():
    b = Builder(np.ones(4096), np.ones(4096))
    x, y = b.inputs
    seen = []

    @pb.library.custom_op("compiler_test::watch", mutates_args=())
    def watch(x: np.ndarray) -> np.ndarray:
        gc.collect()
        seen.append(alive())
        return x * 2

    first = b("add", x, y)
    node = b.program.add(watch.op, (first,), {"call": call_of(watch, 1)}, [typed(4096)])
    b.output(node.result)
    box = [np.ones(4096), np.ones(4096)]
    alive = weakref.ref(box[0])
    (out,) = compile_numpy(b.program)(box)
    assert box == [] and seen == [None]
    assert (out == 4).all()


def call_of(definition, count):
    """The record of a call with so many arrays."""
    return Call(definition, tuple((TENSOR, k) for k in range(count)), {})


def test_stores_read_inputs_as_they_were():
    program = Program("forward")
    x, y = (program.add_input(typed(2), f"args[{k}]") for k in range(2))
    program.add("store", (x, y), {}, [])
    program.add("store", (y, x), {}, [])
    program.add_output(program.add(registry["exp"], (x,), {}, [typed(2)]).result, "output[0]")
    a, b = np.zeros(2), np.ones(2)
    (out,) = compile_numpy(program).flat(a, b)
    assert (a == 1).all() and (b == 0).all() and (out == 1).all()


# Control flow.


def branch(op, number):
    program = Program("branch")
    x = program.add_input(typed(3), "x")
    program.add_output(program.add(registry[op], (x, number), {}, [typed(3)]).result if op else x, "result[0]")
    return program


@pytest.mark.parametrize("predicate", [True, False])
def test_cond(predicate):
    program = Program("forward")
    chosen = program.add_input(array_type((), np.dtype(bool)), "args[0]")
    x = program.add_input(typed(3), "args[1]")
    attrs = {"true": branch("multiply", 3.0), "false": branch(None, 0)}
    node = program.add("cond", (chosen, x), attrs, [typed(3)])
    program.add_output(node.result, "output[0]")
    array = np.arange(3.0)
    (out,) = compile_numpy(program).flat(np.array(predicate), array)
    assert same_bits(out, array * 3 if predicate else array)
    assert not np.shares_memory(out, array)


def halving():
    condition, body = Program("condition"), Program("body")
    x, low, _ = (condition.add_input(typed(), name) for name in ("x", "low", "kept"))
    goes_on = condition.add(registry["greater"], (x, low), {}, [array_type((), np.dtype(bool))])
    condition.add_output(goes_on.result, "go")
    x, low, _ = (body.add_input(typed(), name) for name in ("x", "low", "kept"))
    body.add_output(body.add(registry["multiply"], (x, 0.5), {}, [typed()]).result, "x")
    body.add_output(low, "low")
    program = Program("forward")
    operands = [program.add_input(typed(), f"args[{k}]") for k in range(3)]
    attrs = {"condition": condition, "body": body, "carried": 2}
    node = program.add("while_loop", operands, attrs, [typed(), typed()])
    for value in node.results:
        program.add_output(value, f"output[{value.index}]")
    return program


@pytest.mark.parametrize("start", [100.0, 0.5])
def test_while_loop(start):
    program = halving()
    arrays = [np.array(start), np.array(1.0), np.array(0.0)]
    compiled = compile_numpy(program)
    outputs = compiled.flat(*arrays)
    for out, wanted in zip(outputs, evaluate(program, tuple(arrays)), strict=True):
        assert same_bits(out, wanted)
        assert not any(np.shares_memory(out, x) for x in arrays)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 4])
def test_scan(reverse, length):
    body = Program("body")
    carry, item, scale = (body.add_input(typed(*shape), "x") for shape in [(2,), (), (2,)])
    total = body.add(registry["add"], (carry, item), {}, [typed(2)]).result
    body.add_output(total, "carry")
    body.add_output(body.add(registry["multiply"], (total, scale), {}, [typed(2)]).result, "y")
    program = Program("forward")
    operands = [program.add_input(typed(*shape), "x") for shape in [(2,), (length,), (2,)]]
    attrs = {"body": body, "carried": 1, "scanned": 1, "length": length, "reverse": reverse}
    node = program.add("scan", operands, attrs, [typed(2), typed(length, 2)])
    for value in node.results:
        program.add_output(value, f"output[{value.index}]")
    arrays = [np.arange(2.0), np.arange(float(length)), np.array([2.0, 3.0])]
    outputs = compile_numpy(program).flat(*arrays)
    for out, wanted in zip(outputs, evaluate(program, tuple(arrays)), strict=True):
        assert same_bits(out, wanted)
        assert type_of(out) == type_of(wanted)
        assert not any(np.shares_memory(out, x) for x in arrays)


def test_errors_show_the_line_of_the_source():
    b = Builder(np.ones((2, 3)))
    b.output(b("matmul", b.inputs[0], b("permute_dims", b.inputs[0], axes=(1, 0))))
    with pytest.raises(ValueError):
        try:
            compile_numpy(b.program).flat(np.ones((2, 3, 4)))
        except ValueError:
            assert "output_0 = args_0.dot(permute_dims)" in traceback.format_exc()
            raise
