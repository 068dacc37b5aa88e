"""The table of §7.4, row by row and column by column.

Every row makes a view of a base of shape (4, 2). Where the view lies in its base is read from the same view of
`arange`, so that each expectation is a mask over the base. The columns:

    a  in-place in grad mode, base requires grad        d  read in grad mode after base, sibling or self changed
    b  in-place, nothing requires grad                  e  the same read under no_grad
    c  in-place under no_grad                           f  read, unchanged
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, g, it, ng, raises

SHAPE = (4, 2)


def scatter_rows(c, q):
    """Five times the gradient of `x[:2]`, so that the Function's own backward is recognized."""
    return pb.concat([q * 5, pb.zeros((2, 2))])


slice_function = Fn(lambda c, x: x[:2], scatter_rows)
identity_function = Fn(lambda c, x: x, lambda c, q: q * 5)
two_output_function = Fn(lambda c, x: (x[:2], x * 2), lambda c, q, r: scatter_rows(c, q) + r * 2)


def under_no_grad(b):
    with ng():
        return b[:2]


def under_inference(b):
    with pb.inference_mode():
        return b[:2]


@dataclass(frozen=True)
class Row:
    make: Callable
    code: str | None = None  # the error of columns a (and d, where the view is tracked by a Function)
    constant: bool = False  # columns d and f: no gradient flows
    factor: float = 1.0  # column f: what the gradient is multiplied by on the way to the base


DEFAULT_ROWS = {
    "slice": Row(lambda b: b[:2]),
    "strided slice": Row(lambda b: b[1::2]),
    "integer index": Row(lambda b: b[1]),
    "transpose": Row(lambda b: b.T),
    "reshape": Row(lambda b: b.reshape(8)),
    "expand_dims": Row(lambda b: pb.expand_dims(b, 0)),
    "diagonal": Row(lambda b: pb.diagonal(b)),
    "view of a view": Row(lambda b: b.T[1][1:3]),
    "tensor_split": Row(lambda b: pb.tensor_split(b, 2)[0]),
    "hsplit": Row(lambda b: pb.hsplit(b, 2)[1]),
    "vsplit": Row(lambda b: pb.vsplit(b, 2)[1]),
    "split": Row(lambda b: b.split(2)[1]),
    "chunk": Row(lambda b: b.chunk(2)[0]),
    "unbind": Row(lambda b: b.unbind()[3]),
    "iteration": Row(lambda b: list(b)[2]),
}
FUNCTION_ROWS = {
    "function returning a view": Row(slice_function, "VIEW_CUSTOM", factor=5.0),
    "function returning its input": Row(identity_function, "VIEW_CUSTOM", factor=5.0),
    "function with two outputs": Row(lambda b: two_output_function(b)[0], "VIEW_MULTI", factor=5.0),
    "view of a function's view": Row(lambda b: slice_function(b)[:1], "VIEW_CUSTOM", factor=5.0),
    "view of one of two outputs": Row(lambda b: two_output_function(b)[0][:1], "VIEW_MULTI", factor=5.0),
}
CONSTANT_ROWS = {
    "no_grad": Row(under_no_grad, "VIEW_NO_GRAD", constant=True),
    "inference": Row(under_inference, "VIEW_INFERENCE", constant=True),
    "view of a no_grad view": Row(lambda b: under_no_grad(b)[:1], "VIEW_NO_GRAD", constant=True),
    "view of an inference view": Row(lambda b: under_inference(b)[:1], "VIEW_INFERENCE", constant=True),
}
DETACHED_ROWS = {
    "detach": Row(lambda b: b.detach()[:2], constant=True),
    "data": Row(lambda b: b.data[:2], constant=True),
}
ROWS = {**DEFAULT_ROWS, **FUNCTION_ROWS, **CONSTANT_ROWS, **DETACHED_ROWS}
TRACKED_ROWS = {**DEFAULT_ROWS, **FUNCTION_ROWS, **CONSTANT_ROWS}


def each(rows):
    return pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in rows.items()])


def start():
    """Values 1 to 8: the leaf, and an interior base that requires grad."""
    x = L(np.arange(1.0, 9.0).reshape(SHAPE))
    return x, x * 1


def mask_of(row):
    """1 at the elements of the base that the view shows, 0 elsewhere."""
    positions = array(row.make(C(np.arange(8.0).reshape(SHAPE)))).astype(int)
    mask = np.zeros(8)
    mask[positions.ravel()] = 1.0
    return mask.reshape(SHAPE)


def values():
    return np.arange(1.0, 9.0).reshape(SHAPE)


def shown(row, base_values):
    """What the view of a row shows of a base with these values."""
    return array(row.make(C(base_values)))


# Column a


@each(DEFAULT_ROWS)
def test_a_tracked_in_place_on_a_default_view_is_recorded(row):
    x, b = start()
    v = row.make(b)
    v.mul_(3)
    scale = 1 + 2 * mask_of(row)
    assert b._version == v._version == 1
    assert it(b) == (values() * scale).tolist()
    assert it(v) == shown(row, values() * scale).tolist()
    assert it(g(b.sum(), x, retain_graph=True)[0]) == scale.tolist()
    assert it(g(v.sum(), x)[0]) == (3 * mask_of(row)).tolist()


@each({**FUNCTION_ROWS, **CONSTANT_ROWS})
def test_a_tracked_in_place_on_any_other_view_is_refused_before_the_write(row):
    x, b = start()
    v = row.make(b)
    version, node = b._version, b.grad_fn
    with raises(row.code):
        v.mul_(3)
    assert b._version == version and b.grad_fn is node
    assert it(b) == values().tolist()
    assert it(g(b.sum(), x)[0]) == np.ones(SHAPE).tolist()


@each(DETACHED_ROWS)
def test_a_view_of_a_detached_tensor_has_its_own_history(row):
    x, b = start()
    v, s = row.make(b), L(3.0)
    v.mul_(s)
    assert v.requires_grad
    assert it(g(v.sum(), s)[0]) == shown(row, values()).sum()
    assert it(b) == (values() * (1 + 2 * mask_of(row))).tolist()
    assert it(g(b.sum(), x)[0]) == np.ones(SHAPE).tolist()


# Column b


@each(ROWS)
def test_b_in_place_with_nothing_requiring_grad_is_allowed(row):
    base = C(values())
    v = row.make(base)
    v.add_(1)
    assert it(base) == (values() + mask_of(row)).tolist()
    assert v.requires_grad is False and base.requires_grad is False
    assert v.grad_fn is None and base.grad_fn is None


# Column c


@each(ROWS)
def test_c_in_place_under_no_grad_is_allowed_and_untracked(row):
    x, b = start()
    v = row.make(b)
    node = b.grad_fn
    with ng():
        v.mul_(3)
    assert b.grad_fn is node
    assert it(b) == (values() * (1 + 2 * mask_of(row))).tolist()
    assert it(g(b.sum(), x)[0]) == np.ones(SHAPE).tolist()


@each(TRACKED_ROWS)
def test_c_in_place_under_no_grad_bumps_the_version_of_the_base(row):
    _, b = start()
    v = row.make(b)
    with ng():
        v.mul_(3)
    assert b._version == v._version == 1


# Columns d and e


def change_base(b, v):
    b.mul_(3)
    return np.full(SHAPE, 3.0), np.full(SHAPE, 3.0)


def change_sibling(b, v):
    b.reshape(8)[:6].mul_(3)
    factor = np.array([3.0] * 6 + [1.0] * 2).reshape(SHAPE)
    return factor, factor


def change_self_untracked(b, v):
    with ng():
        v.mul_(3)
    return None, np.ones(SHAPE)


CHANGES = pytest.mark.parametrize("change", [change_base, change_sibling, change_self_untracked])


def after(row, change, b, v):
    """The values of the base and the derivative of each of its elements after a change."""
    value_factor, derivative = change(b, v)
    if value_factor is None:
        value_factor = 1 + 2 * mask_of(row)
    return values() * value_factor, derivative


@CHANGES
@each(DEFAULT_ROWS)
def test_d_a_default_view_rebuilds_its_history(row, change):
    x, b = start()
    v = row.make(b)
    base_values, derivative = after(row, change, b, v)
    result = v * 2
    assert it(result) == (shown(row, base_values) * 2).tolist()
    assert it(g(result.sum(), x)[0]) == (2 * mask_of(row) * derivative).tolist()


@CHANGES
@each(FUNCTION_ROWS)
def test_d_a_view_from_a_function_cannot_be_read(row, change):
    _, b = start()
    v = row.make(b)
    change(b, v)
    with raises(row.code):
        _ = v * 2
    with raises(row.code):
        _ = v.grad_fn
    with raises(row.code):
        _ = v.is_leaf


@CHANGES
@each({**CONSTANT_ROWS, **DETACHED_ROWS})
def test_d_a_constant_view_stays_readable(row, change):
    _, b = start()
    v = row.make(b)
    base_values, _ = after(row, change, b, v)
    result = v * 2
    assert it(result) == (shown(row, base_values) * 2).tolist()
    assert v.requires_grad is False and result.requires_grad is False


@CHANGES
@each(ROWS)
def test_e_every_view_can_be_read_under_no_grad(row, change):
    _, b = start()
    v = row.make(b)
    base_values, _ = after(row, change, b, v)
    with ng():
        result = v * 2
    assert it(result) == (shown(row, base_values) * 2).tolist()
    assert result.requires_grad is False


@each(FUNCTION_ROWS)
def test_an_unreadable_view_still_prints(row):
    _, b = start()
    v = row.make(b)
    b.mul_(3)
    assert "grad_fn=<Invalid>" in repr(v)


# Column f


@each({**DEFAULT_ROWS, **FUNCTION_ROWS})
def test_f_an_unchanged_view_is_tracked(row):
    x, b = start()
    v = row.make(b)
    assert v.requires_grad
    assert it(v) == shown(row, values()).tolist()
    assert it(g((v * 2).sum(), x)[0]) == (2 * row.factor * mask_of(row)).tolist()


@each({**CONSTANT_ROWS, **DETACHED_ROWS})
def test_f_an_unchanged_constant_view_carries_no_gradient(row):
    _, b = start()
    v = row.make(b)
    assert v.requires_grad is False
    assert v.grad_fn is None and v.is_leaf
    assert (v * 2).requires_grad is False


# Other bases


@each(DEFAULT_ROWS)
def test_on_a_leaf_base_a_default_view_is_a_view_of_a_leaf(row):
    x = L(values())
    v = row.make(x)
    with raises("VIEW_OF_LEAF_INPLACE"):
        v.mul_(3)
    assert it(x) == values().tolist() and x._version == 0


@each({**FUNCTION_ROWS, **CONSTANT_ROWS})
def test_on_a_leaf_base_the_other_views_keep_their_own_code(row):
    x = L(values())
    v = row.make(x)
    with raises(row.code):
        v.mul_(3)
    assert it(x) == values().tolist() and x._version == 0


def test_on_a_leaf_base_writing_the_base_itself_is_refused():
    x = L(values())
    with raises("LEAF_INPLACE"):
        x.mul_(3)


@each(DEFAULT_ROWS)
def test_on_a_leaf_base_a_default_view_survives_an_untracked_update_of_the_leaf(row):
    x = L(values())
    v = row.make(x)
    with ng():
        x.mul_(3)
    assert it(v) == shown(row, values() * 3).tolist()
    assert it(g((v * 2).sum(), x)[0]) == (2 * mask_of(row)).tolist()


@each(DEFAULT_ROWS)
def test_on_a_constant_base_an_rg_operand_is_recorded(row):
    base, s = C(values()), L(3.0)
    v = row.make(base)
    v.mul_(s)
    assert base.requires_grad and v.requires_grad
    assert it(g(base.sum(), s)[0]) == (values() * mask_of(row)).sum()


@each(CONSTANT_ROWS)
def test_on_a_constant_base_an_rg_operand_is_refused_for_views_made_in_other_modes(row):
    base = C(values())
    v = row.make(base)
    with raises(row.code):
        v.mul_(L(3.0))
    assert it(base) == values().tolist()


@pytest.mark.parametrize("name", ["function returning a view", "function returning its input"])
def test_on_a_constant_base_an_rg_operand_is_refused_for_views_from_functions(name):
    base = C(values())
    v = FUNCTION_ROWS[name].make(base)
    with raises("VIEW_CUSTOM"):
        v.mul_(L(3.0))
    assert it(base) == values().tolist()
