"""Conformance cases 172 to 179: captures of functions whose tensors have payloads of their own."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from tests.conformance.aot import VARIANTS
from tests.conformance.wrappers import (
    ONES,
    PARTIAL,
    REPLICATE,
    A,
    B,
    Coercing,
    Mesh,
    Nested,
    TwoPart,
    Y,
    after,
    check,
    contents,
    inputs_of,
    leaf,
    meshes,
    nested,
    shard,
    spread,
    two,
)

VARIANT = pytest.mark.parametrize("variant", list(VARIANTS))


def outputs_of(graph: aot.Graph) -> list[str]:
    return [desc.expr() for desc in graph.output_descs]


# TwoPart. ------------------------------------------------------------------------------------------------------------


def product(x: pb.Tensor, y: pb.Tensor) -> pb.Tensor:
    return x * y


def product_args() -> Any:
    return leaf(two(A, B)), leaf(pb.tensor(Y))


@VARIANT
def test_172_a_product_with_a_plain_tensor(variant: str) -> None:
    """Every part is an input of the graph, and the gradient of the plain tensor is a TwoPart as well."""
    check(product, product_args, lambda out, _: out.backward(ONES), variant)
    args = product_args()
    VARIANTS[variant](product)(*args).backward(ONES)
    assert type(args[0].grad._data) is TwoPart and type(args[1].grad._data) is TwoPart


def test_172_the_graph_has_plain_arrays_only() -> None:
    joint = aot.joint_graph(product, *product_args())
    assert inputs_of(joint.graph) == [
        "args[0].a", "args[0].b", "args[1]", "tangent(output[0]).a", "tangent(output[0]).b",
    ]  # fmt: skip
    assert outputs_of(joint.graph) == [
        "output[0].a", "output[0].b", "grad(args[0]).a", "grad(args[0]).b", "grad(args[1]).a", "grad(args[1]).b",
    ]  # fmt: skip
    assert aot.Graph.from_text(joint.graph.to_text()) == joint.graph
    assert joint.signature.user_inputs == ["args[0]", "args[1]"]
    assert joint.signature.backward.gradients_to_user_inputs == {"grad(args[0])": "args[0]", "grad(args[1])": "args[1]"}
    traced = aot.trace(product, *product_args())
    assert contents(traced.eval(*product_args())[0]) == contents(product(*product_args()))


def test_172_the_metadata_says_how_payloads_are_made() -> None:
    meta = aot.collect_metadata(lambda x, y: (x * y, y + 1), *product_args())
    whole, plain = meta.subclass_inp_meta
    assert (whole.flat_tensor_start_idx, whole.arg_count, whole.original_subclass_type) == (0, 2, TwoPart)
    assert [part.unwrapped_idx for part in whole.attrs.values()] == [0, 1] and plain.unwrapped_idx == 2
    assert whole.outer_size == (3,) and whole.outer_size_from_attr == "a"
    first, second = meta.subclass_fw_graph_out_meta
    assert list(first.positions()) == [0, 1] and second.unwrapped_idx == 2
    assert meta.output_types == [TwoPart, np.ndarray]
    outer, *parts = meta.traced_tangent_metas[0]
    assert outer.memory_format == "C" and [part.size for part in parts] == [(3,), (3,)]
    safe = meta.make_runtime_safe()
    assert safe.traced_tangents == [] and safe.subclass_inp_meta[0].original_subclass is TwoPart
    again = pickle.loads(pickle.dumps(safe))
    assert again.subclass_tangent_meta[0].create([1, 2]).b == 2


@VARIANT
@pytest.mark.parametrize("uses_it", [True, False])
def test_173_a_write_to_an_input_with_a_history(variant: str, uses_it: bool) -> None:
    def f(x: pb.Tensor, y: pb.Tensor) -> Any:
        x.mul_(y)
        return x * x if uses_it else y * 2

    def make() -> Any:
        x, y = product_args()
        inner = x * 1
        return inner, y, x

    def backward(out: Any, args: Any) -> None:
        (out.sum() + args[0].sum() if uses_it else args[0].sum()).backward(two(1.0, 2.0))

    def run(g: Callable[..., Any]) -> Any:
        return lambda inner, y, x: g(inner, y)

    compiled = VARIANTS[variant](f)
    expected = after(run(f), make, backward)
    for _ in range(3):
        assert after(run(compiled), make, backward) == expected
    info = aot.collect_metadata(f, *make()[:2]).input_info[0]
    assert info.mutation_type.name == "MUTATED_OUT_GRAPH" and info.tracked


@VARIANT
def test_173_a_write_without_a_history_is_a_store(variant: str) -> None:
    def f(x: pb.Tensor, y: pb.Tensor) -> Any:
        x.add_(1)
        return x * y

    def make() -> Any:
        return two(A, B), leaf(pb.tensor(Y))

    check(f, make, lambda out, _: out.backward(ONES), variant)
    graph = aot.trace(f, *make()).graph
    assert [node.op for node in graph.nodes].count("store") == 2
    x, y = make()
    before = x._data.a
    VARIANTS[variant](f)(x, y)
    assert x._data.a is before and before.tolist() == [2.0, 3.0, 4.0]


@VARIANT
def test_173_the_same_tensor_twice_is_written_once(variant: str) -> None:
    def f(x: pb.Tensor, y: pb.Tensor) -> Any:
        x.add_(1)
        return y * 2, x

    def make() -> Any:
        x = two(A, B)
        return x, x

    check(f, make, None, variant)
    x, _ = make()
    assert VARIANTS[variant](f)(x, x)[1] is x


def test_173_parts_that_overlap_are_not_written() -> None:
    shared = np.array(A)
    f = VARIANTS["interpreted"](lambda x, y: x.add_(y))
    first, second = pb.aot.wrap_payload(TwoPart(shared, np.array(B))), pb.asarray(shared)
    f(two(A, B), pb.tensor(A))
    with pytest.raises(aot.AliasError, match="shares"):
        f(first, second)
    with pytest.raises(aot.AliasError, match="shares"):
        f(pb.aot.wrap_payload(TwoPart(shared, shared)), pb.tensor(A))
    assert shared.tolist() == A


@VARIANT
def test_174_views_of_an_intermediate(variant: str) -> None:
    """Two views of an intermediate that is not returned are refused; one is fine, and so are views of a result."""

    def one(x: pb.Tensor) -> Any:
        return (x * 2)[1:]

    def of_result(x: pb.Tensor) -> Any:
        y = x * 2
        return y, y[1:]

    def several(x: pb.Tensor) -> Any:
        y = x * 2
        return y[1:], y[:2]

    def make() -> Any:
        return (leaf(two(A, B)),)

    ends = two([1.0, 1.0], [2.0, 2.0])
    check(one, make, lambda out, _: out.backward(ends), variant)
    check(of_result, make, lambda outs, _: (outs[0].sum() + outs[1].sum()).backward(two(1.0, 2.0)), variant)
    check(of_result, make, lambda outs, _: outs[0].mul_(3), variant)
    with pytest.raises(aot.AliasError, match="outputs 0, 1 are views of one intermediate"):
        VARIANTS[variant](several)(*make())
    assert contents(pb.compile(lambda x: (x * 2)[1:])(*make())) == contents(one(*make()))


@VARIANT
def test_174_views_of_an_input(variant: str) -> None:
    def f(x: pb.Tensor) -> Any:
        return x[1:], x, x.detach()

    def backward(outs: Any, args: Any) -> None:
        outs[0].backward(two([1.0, 1.0], [2.0, 2.0]))
        with pb.no_grad():
            outs[2].mul_(2)

    check(f, lambda: (leaf(two(A, B)),), backward, variant)
    x = two(A, B)
    view, same, detached = VARIANTS[variant](f)(x)
    assert same is x and np.shares_memory(view._data.a, x._data.a) and np.shares_memory(detached._data.b, x._data.b)
    assert view._base is x


@VARIANT
@pytest.mark.parametrize("through", [(0,), (1,), (0, 1)])
def test_175_backward_through_one_of_two_results(variant: str, through: tuple[int, ...]) -> None:
    def f(x: pb.Tensor, y: pb.Tensor, z: pb.Tensor) -> Any:
        return x * y, pb.sin(x) + z

    def make() -> Any:
        return leaf(two(A, B)), leaf(pb.tensor(Y)), leaf(two(B, A))

    def backward(outs: Any, _: Any) -> None:
        pb.autograd.backward([outs[k] for k in through], [ONES for _ in through])

    expected = check(f, make, backward, variant)
    assert (expected[1][-1] is None) is (0 not in through)
    assert (expected[2][-1] is None) is (1 not in through)


@VARIANT
def test_176_a_gradient_of_another_kind_is_refused(variant: str) -> None:
    out = VARIANTS[variant](product)(*product_args())
    with pytest.raises(aot.AOTError) as caught:
        out.backward(pb.ones(3))
    text = str(caught.value)
    assert "output[0]" in text and "plain array" in text and "TwoPart" in text
    assert "test_aot_wrappers.py" in caught.value.location
    out = VARIANTS[variant](product)(*product_args())
    with pytest.raises(aot.AOTError, match="meta 'other'"):
        out.backward(two(A, B, tag="other"))
    second = VARIANTS[variant](lambda x, y: (x * y, x + y))(*product_args())[1]
    with pytest.raises(aot.AOTError, match=r"gradient of output\[1\]"):
        second.backward(pb.ones(3))
    plain = VARIANTS[variant](lambda x, y: (x * y, y * 2))(*product_args())[1]
    with pytest.raises(aot.AOTError, match="plain array was expected"):
        plain.backward(ONES)


@VARIANT
def test_176_a_gradient_can_be_coerced(variant: str) -> None:
    def make() -> Any:
        return leaf(two(A, B, Coercing)), leaf(pb.tensor(Y))

    args = make()
    VARIANTS[variant](product)(*args).backward(two([1, 1, 1], [2, 2, 2], Coercing, "other"))
    expected = make()
    product(*expected).backward(two([1, 1, 1], [2, 2, 2], Coercing))
    assert [contents(x.grad) for x in args] == [contents(x.grad) for x in expected]


# Shards. -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def mesh() -> Any:
    made = Mesh(2)
    yield made
    meshes.pop(id(made), None)


SQUARE, OTHER = [[1.0, 2.0], [3.0, 4.0]], [[0.5, 1.0], [-1.0, 2.0]]


@VARIANT
def test_177_gradients_of_a_product_of_shards(variant: str, mesh: Mesh) -> None:
    """`shard(0) @ replicate` is spread like the first, and the gradient of the second is a partial sum."""

    def f(a: pb.Tensor, b: pb.Tensor) -> Any:
        return a @ b

    def make() -> Any:
        return leaf(spread(SQUARE, mesh, shard(0))), leaf(spread(OTHER, mesh, REPLICATE))

    tangent = spread([[1.0, 2.0], [0.5, 1.0]], mesh, shard(0))
    (_, _, _, _, first), (_, _, _, _, second), (out, *_) = check(f, make, lambda out, _: out.backward(tangent), variant)
    assert (out[1], first[1], second[1]) == (shard(0), shard(0), PARTIAL)
    assert inputs_of(aot.joint_graph(f, *make()).graph)[:2] == ["args[0].local", "args[1].local"]
    assert mesh.log == []


@VARIANT
def test_177_the_gradient_of_a_partial_sum_is_replicated(variant: str, mesh: Mesh) -> None:
    def f(a: pb.Tensor, b: pb.Tensor) -> Any:
        return a @ b

    def make() -> Any:
        return leaf(spread(SQUARE, mesh, shard(1))), leaf(spread(OTHER, mesh, shard(0)))

    tangent = spread([[1.0, 2.0], [0.5, 1.0]], mesh, REPLICATE)
    (_, _, _, _, first), (_, _, _, _, second), (out, *_) = check(f, make, lambda out, _: out.backward(tangent), variant)
    assert (out[1], first[1], second[1]) == (PARTIAL, shard(1), shard(0))
    meta = aot.collect_metadata(f, *make())
    assert meta.subclass_tangent_meta[0].meta == REPLICATE
    assert mesh.log == []  # what the gradient looks like is found out without communication


@VARIANT
def test_177_gradients_are_redistributed_where_that_is_possible(variant: str, mesh: Mesh) -> None:
    def make() -> Any:
        return (leaf(spread(SQUARE, mesh, shard(0))),)

    compiled = VARIANTS[variant](lambda a: a * 3)
    (x,) = make()
    compiled(x).backward(spread([[1.0], [2.0], [3.0], [4.0]], mesh, shard(1)))
    assert mesh.log == ["all_gather"]
    assert contents(x.grad)[1] == shard(0) and x.grad._data.local.tolist() == [[3.0, 3.0], [6.0, 6.0]]
    with pytest.raises(aot.AOTError, match=r"output\[0\]"):
        compiled(x).backward(pb.ones((4, 2)))


@VARIANT
def test_177_collectives_run_once_and_in_order(variant: str, mesh: Mesh) -> None:
    """They are nodes of the graph, and are neither recomputed nor left out."""

    def f(a: pb.Tensor, b: pb.Tensor, c: pb.Tensor) -> Any:
        pb.cos(a @ b)  # nobody wants it, but the others take part in it
        return pb.sin(c @ (a @ b))

    def make() -> Any:
        a, b, c = spread(SQUARE, mesh, shard(1)), spread(OTHER, mesh, shard(0)), spread(OTHER, mesh, shard(0))
        return leaf(a), leaf(b), leaf(c)

    tangent = spread([[1.0, 2.0], [0.5, 1.0], [2.0, 0.0], [1.0, 3.0]], mesh, REPLICATE)
    check(f, make, lambda out, _: out.backward(tangent), variant)
    mesh.log.clear()
    out = f(*make())
    forward = list(mesh.log)
    out.backward(tangent)
    everything = list(mesh.log)
    compiled = VARIANTS[variant](f)
    mesh.log.clear()
    out = compiled(*make())
    assert mesh.log == forward == ["all_reduce", "all_gather", "all_reduce"]
    out.backward(tangent)
    assert mesh.log == everything


@VARIANT
def test_178_a_shard_written_in_place(variant: str, mesh: Mesh) -> None:
    def f(a: pb.Tensor, b: pb.Tensor) -> Any:
        a.mul_(b)
        return a @ b

    def make() -> Any:
        x, b = leaf(spread(SQUARE, mesh, REPLICATE)), leaf(spread(OTHER, mesh, REPLICATE))
        return x * 1, b, x

    def run(g: Callable[..., Any]) -> Any:
        return lambda inner, b, x: g(inner, b)

    tangent = spread([[1.0, 2.0], [0.5, 1.0]], mesh, REPLICATE)
    compiled = VARIANTS[variant](f)
    expected = after(run(f), make, lambda out, args: (out + args[0]).backward(tangent))
    for _ in range(3):
        assert after(run(compiled), make, lambda out, args: (out + args[0]).backward(tangent)) == expected


# Rows. ---------------------------------------------------------------------------------------------------------------

ROWS = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]


@VARIANT
def test_179_offsets_are_passed_through(variant: str) -> None:
    def f(a: pb.Tensor) -> Any:
        return a * 2

    tangent = nested([[1.0, 1.0], [2.0], [3.0, 3.0, 3.0]])
    check(f, lambda: (leaf(nested(ROWS)),), lambda out, _: out.backward(tangent), variant)
    x = leaf(nested(ROWS))
    out = VARIANTS[variant](f)(x)
    assert out._data.values.tolist() == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert np.shares_memory(out._data.offsets, x._data.offsets)
    out.backward(tangent)
    assert type(x.grad._data) is Nested and x.grad._data.offsets.tolist() == [0, 2, 3, 6]
    joint = aot.joint_graph(f, x).graph
    assert inputs_of(joint)[2:] == ["tangent(output[0]).values", "tangent(output[0]).offsets"]
    assert joint.inputs[3] is not joint.inputs[1]
    assert outputs_of(joint)[2:] == ["grad(args[0]).values", "grad(args[0]).offsets"]


@VARIANT
@pytest.mark.parametrize("through", [0, 1])
def test_179_offsets_are_there_also_where_a_gradient_is_not(variant: str, through: int) -> None:
    def f(a: pb.Tensor) -> Any:
        return a * 2, pb.sin(a)

    tangent = nested([[1.0, 1.0], [2.0], [3.0, 3.0, 3.0]])
    check(f, lambda: (leaf(nested(ROWS)),), lambda outs, _: outs[through].backward(tangent), variant)
