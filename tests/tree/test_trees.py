"""`pb.tree`: parameters taken apart, measured, put into one vector, and parted into what is trained and what is not."""

import collections

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

Pair = collections.namedtuple("Pair", "left right")


def model():
    return {"layers": [Pair(pb.arange(6.0).reshape(2, 3), pb.zeros(3)), Pair(pb.ones((3, 1)), pb.ones(1))], "n": 7}


def test_paths_name_keys_positions_and_fields():
    assert pb.tree.paths(model()) == ["layers/0/left", "layers/0/right", "layers/1/left", "layers/1/right", "n"]
    assert pb.tree.paths({"a/b": 1, "100%": (2,)}) == ["100%25/0", "a%2Fb"]
    assert pb.tree.paths(3) == [""]


def test_sizes_bytes_and_summary():
    tree = {"w": pb.ones((2, 3), dtype="float32"), "b": np.zeros(3), "scale": 2.0, "name": "x", "none": None}
    assert pb.tree.size(tree) == 10
    assert pb.tree.nbytes(tree) == 24 + 24 + 8
    lines = pb.tree.summary(tree).splitlines()
    assert lines[0].split() == ["path", "shape", "dtype", "bytes"]
    assert lines[-1].split() == ["total", "10", "56"]
    assert ["name", "str"] in [line.split() for line in lines]


def test_a_tree_becomes_one_vector_and_back():
    tree = {"w": pb.arange(4.0).reshape(2, 2), "b": pb.tensor([9.0], dtype="float32"), "empty": pb.zeros((0, 2))}
    vector, unravel = pb.tree.ravel(tree)
    assert_close(vector, [9.0, 0.0, 1.0, 2.0, 3.0])
    again = unravel(vector)
    assert pb.tree.all_close(again, tree)
    assert again["b"].dtype == np.float32 and again["empty"].shape == (0, 2)
    with pytest.raises(ValueError, match="length 5"):
        unravel(pb.ones(4))


def test_ravel_is_differentiable_both_ways():
    def loss(tree):
        vector, unravel = pb.tree.ravel(tree)
        return (unravel(vector**2)["w"] * pb.tensor([1.0, 10.0])).sum()

    slopes = pb.grad(loss)({"w": pb.tensor([2.0, 3.0]), "b": pb.tensor(1.0)})
    assert_close(slopes["w"], [4.0, 60.0])
    assert_close(slopes["b"], 0.0)
    hessian = pb.hessian(lambda v: (pb.tree.ravel({"v": v})[0] ** 3).sum())(pb.tensor([1.0, 2.0]))
    assert_close(hessian, [[6.0, 0.0], [0.0, 12.0]])


@pytest.mark.parametrize("other", [pb.arange(3), pb.ones(3, dtype=complex)], ids=["integers", "complex"])
def test_ravel_refuses_what_would_not_come_back(other):
    with pytest.raises(TypeError, match="do not fit into one vector"):
        pb.tree.ravel({"a": pb.ones(2), "b": other})
    with pytest.raises(TypeError, match="the leaf name is a str"):
        pb.tree.ravel({"a": pb.ones(2), "name": "x"})


def test_an_empty_tree_is_an_empty_vector():
    vector, unravel = pb.tree.ravel({})
    assert vector.shape == (0,) and unravel(vector) == {}


def test_trees_are_close_if_structure_shapes_and_numbers_are():
    tree = {"a": pb.ones(2), "name": "x"}
    assert pb.tree.all_close(tree, {"a": np.ones(2), "name": "x"})
    assert not pb.tree.all_close(tree, {"a": np.ones(2), "name": "y"})
    assert not pb.tree.all_close(tree, {"a": np.ones(3), "name": "x"})
    assert not pb.tree.all_close(tree, {"a": pb.tensor([1.0, 1.001]), "name": "x"})
    assert pb.tree.all_close(tree, {"a": pb.tensor([1.0, 1.001]), "name": "x"}, atol=0.01)
    assert not pb.tree.all_close([1.0], (1.0,))
    assert not pb.tree.all_close([np.nan], [np.nan]) and pb.tree.all_close([np.nan], [np.nan], equal_nan=True)


def test_reduce_goes_through_the_leaves_in_order():
    assert pb.tree.reduce(lambda text, leaf: text + leaf, {"b": "2", "a": ("0", "1")}) == "012"
    assert pb.tree.reduce(max, {}, 0) == 0
    with pytest.raises(TypeError):
        pb.tree.reduce(max, {})


def test_cast_changes_real_floating_point_only():
    tree = {"x": pb.ones(2), "a": np.ones(2), "n": pb.arange(2), "z": pb.ones(1, dtype=complex)}
    tree = pb.tree.cast(tree, "float32")
    assert {key: str(value.dtype) for key, value in tree.items()} == {
        "x": "float32", "a": "float32", "n": "int64", "z": "complex128"
    }  # fmt: skip
    with pytest.raises(TypeError, match="real floating-point"):
        pb.tree.cast(tree, complex)


def test_requires_grad_is_set_on_tensors_and_refused_for_arrays():
    tree = {"w": pb.ones(2), "n": pb.arange(2), "scale": 2.0}
    assert pb.tree.requires_grad_(tree) is tree
    assert tree["w"].requires_grad and not tree["n"].requires_grad
    assert not pb.tree.detach(tree)["w"].requires_grad
    pb.tree.requires_grad_(tree, False)
    assert not tree["w"].requires_grad
    with pytest.raises(TypeError, match=r"the leaf a/0 is a NumPy array.*pb\.tree\.map"):
        pb.tree.requires_grad_({"a": [np.ones(2)]})


def test_a_frozen_part_takes_no_gradient_and_comes_back():
    tree = model()
    trained, frozen = pb.tree.partition(tree, lambda path, leaf: path.startswith("layers/1"))
    assert sorted(trained) == ["layers/1/left", "layers/1/right"]

    def loss(trained, frozen):
        (w, b), (v, c) = pb.tree.merge(trained, frozen)["layers"]
        return ((pb.ones(2) @ w + b) @ v + c).sum()

    slopes = pb.grad(loss)(trained, frozen)
    assert_close(slopes["layers/1/left"], [[3.0], [5.0], [7.0]])
    assert_close(pb.compile(loss)(trained, frozen), loss(trained, frozen))
    assert pb.tree.all_close(pb.tree.merge(trained, frozen), tree)
    with pytest.raises(ValueError, match="the rest goes with the leaves"):
        pb.tree.merge({"layers/1/left": 1}, frozen)
    with pytest.raises(ValueError, match="same path"):
        pb.tree.partition({1: 2.0, "1": 3.0}, lambda path, leaf: True)


def test_transforms_have_short_names():
    for name in ("grad", "value_and_grad", "jacrev", "jacfwd", "hessian", "jvp", "vjp", "vmap"):
        assert getattr(pb, name) is getattr(pb.func, name)


def test_vmap_takes_the_names_that_jax_has_for_axes():
    x = pb.arange(6.0).reshape(2, 3)
    assert_close(pb.vmap(lambda v: v * 2, in_axes=1, out_axes=1)(x), x * 2)
    assert_close(pb.vmap(lambda v, c: v * c, in_axes=(0, None))(x, pb.tensor(3.0)), x * 3)
    with pytest.raises(TypeError, match="another name for in_dims, and both were given"):
        pb.vmap(pb.sin, in_dims=1, in_axes=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'in_axis'"):
        pb.vmap(pb.sin, in_axis=1)
