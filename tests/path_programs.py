"""Programs that go the special ways, at sizes where they are taken, each compared with the plain way.

The plain way is eager code with the fast paths shut, and NumPy alone: what `eager/record.py` and the engine define.
`tests/test_paths.py` runs all of them in one process that counts, as `python -m tests.path_programs` does.
"""

from __future__ import annotations

from tests import paths

if __name__ == "__main__" and not paths.is_counting():
    paths.install()

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import array_api_strict
import numpy as np

import pullback as pb
from pullback.core.state import switch
from pullback.eager import large, segments, small
from pullback.eager.native_tape import tape


class Program(NamedTuple):
    """A function of arrays, the shapes of its arguments, the ways that it is there for, and those that it goes once at
    most: what native code does by itself no line of Python counts, but that Python does not do it is seen."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    paths: tuple[str, ...]
    run: Callable[[Callable[..., Any], list[Any]], Any]
    instead_of: tuple[str, ...]


PROGRAMS: dict[str, Program] = {}


def program(
    *shapes: tuple[int, ...], paths: str, run: Any, instead_of: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a program; `paths` and `instead_of` are names with commas between them."""

    def declared(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        assert name not in PROGRAMS
        others = tuple(filter(None, instead_of.split(", ")))
        PROGRAMS[name] = Program(function, shapes, tuple(paths.split(", ")), run, others)
        return function

    return declared


# Ways to run.


@contextmanager
def plain() -> Iterator[None]:
    """The plain way."""
    before = pb.set_native_eager(False)
    switch.open()
    try:
        yield
    finally:
        switch.close()
        pb.set_native_eager(before)


def tensors(arrays: list[Any]) -> list[Any]:
    return [pb.tensor(x.copy(), requires_grad=x.dtype.kind in "fc") for x in arrays]


def gradients(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """The values, and the gradients of their sum."""
    args = tensors(arrays)
    out = f(*args)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    total = 0
    for each in outs:
        total = total + (pb.real(each * each.conj()) if each.is_complex() else each).sum()
    leaves = [x for x in args if x.requires_grad]
    return [each.detach().numpy() for each in outs] + [g.numpy() for g in pb.autograd.grad(total, leaves)]


def eagerly(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    return gradients(f, arrays)


def backwards(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """With gradients in `.grad`, and the value as it is."""
    args = tensors(arrays)
    out = f(*args)
    out.backward()
    return [out.detach().numpy(), *(x.grad.numpy() for x in args)]


def elsewhere(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """The same on arrays of another library."""
    args = [pb.foreign(array_api_strict.asarray(x), requires_grad=True) for x in arrays]
    out = f(*args)
    out.backward()
    return [out.detach().numpy(), *(x.grad.numpy() for x in args)]


def natively(calls: int = 1, **options: Any) -> Any:
    def run(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
        compiled = pb.compile(f, backend="llvm", fallback="raise", **options)
        for _ in range(calls - 1):
            gradients(compiled, arrays)
        return gradients(compiled, arrays)

    return run


def with_gradient_inside(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """Value and gradients, computed by one graph."""
    positions = tuple(range(len(arrays)))
    both = lambda *args: pb.func.grad_and_value(lambda *args: _total(f(*args)), positions)(*args)
    found, value = pb.compile(both, backend="llvm", fallback="raise")(*map(pb.tensor, arrays))
    return [value.numpy(), *(g.numpy() for g in found)]


def _total(out: Any) -> Any:
    return sum(each.sum() for each in (out if isinstance(out, (tuple, list)) else (out,)))


def value_and_gradients(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """The same by the plain way."""
    args = tensors(arrays)
    value = _total(f(*args))
    return [value.detach().numpy(), *(g.numpy() for g in pb.autograd.grad(value, args))]


def compiled_backwards(calls: int = 1) -> Any:
    def run(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
        compiled = pb.compile(f, backend="llvm", fallback="raise")
        for _ in range(calls - 1):
            backwards(compiled, arrays)
        return backwards(compiled, arrays)

    return run


def from_disk(backend: str) -> Any:
    """The second of two functions that share a directory."""

    def run(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            pb.aot.set_cache_dir(folder)
            try:
                for _ in range(2):
                    found = gradients(pb.compile(f, backend=backend, fallback="raise"), arrays)
            finally:
                pb.aot.set_cache_dir(None)
        return found

    return run


def once(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """A function that does everything itself and returns arrays."""
    return [np.asarray(x.detach().numpy() if hasattr(x, "detach") else x) for x in f(*arrays)]


# Eager code.


@program((8,), (8,), paths="eager elementwise, eager direct, compiled formula, adopted gradient", run=backwards)
def elementwise(x: Any, y: Any) -> Any:
    return (pb.sin(x) * y + 2.5 * x).sum()


@program(
    (8,), (8,), paths="call on arrays of another library, compiled formula on arrays of another library", run=elsewhere
)
def of_another_library(x: Any, y: Any) -> Any:
    return (pb.sin(x) * y + 2.5 * x).sum()


@program((4, 5), (5, 3), paths="eager direct", run=eagerly)
def a_product(x: Any, y: Any) -> Any:
    return (x @ y)[1:]


@program((4, 5), (4, 5), paths="eager direct, remembered parameters", run=eagerly)
def choices_and_sums(x: Any, y: Any) -> Any:
    joined = pb.concat([pb.where(x > y, x, y), pb.clip(x, 0.2, 0.8)], axis=1)
    return joined.sum(axis=-1) + pb.amax(joined, axis=1) + pb.max_with_indices(joined, -1)[0]


@program((4, 4), (4,), paths="inner loop of linalg, inner loop of a triangle", run=eagerly)
def systems(x: Any, y: Any) -> Any:
    matrix = x @ x.T + 4 * pb.eye(4)
    return pb.linalg.solve(matrix, y) + pb.cholesky_solve(y[:, None], pb.linalg.cholesky(matrix))[:, 0]


@program((6,), (6,), paths="eager without recording", run=once)
def without_recording(x: Any, y: Any) -> Any:
    with pb.no_grad():
        return (pb.sin(pb.tensor(x)) * pb.tensor(y) * 2.0,)


@program((4, 6), paths="light view", run=eagerly)
def a_view_of_a_view(x: Any) -> Any:
    return (x[1:][:, 2:] * 2).reshape(-1)[1:]


@program((3, 4), paths="read part, gradient of a part", run=eagerly)
def elements_in_a_loop(x: Any) -> Any:
    total = x[0, 0] * x[1, 2]
    for k in range(4):
        total = total + x[1, k] * x.T[k][2] + x[[0, 0, 2], [k, k, 1]].sum()
    return total


@program((5,), (3,), paths="write part, write view, write moved on", run=eagerly)
def writes_to_parts(x: Any, y: Any) -> Any:
    h = x * 1
    h[0] = 2.0
    h[1:4] = y
    h[1:3] *= 3.0
    h[2:] -= y
    h[:3] /= y
    h[::-1][:2] = h[0] * 2
    return h


@program((5,), (2, 2), paths="write places, write moved on", run=eagerly)
def writes_to_places(x: Any, y: Any) -> Any:
    h = x * 1
    h[np.array([0, 3])] = y[0]
    h[np.array([1, 1])] = y[1]
    h[:4][np.array([True, False, True, False])] = y[0] * 2
    return h


@program((3, 3), paths="plain visit", run=eagerly)
def several_results(x: Any) -> Any:
    q, r = pb.linalg.qr(x)
    return q + r


@program((4, 300), (5, 6), paths="scan slice by slice, running products by a shortcut", run=eagerly)
def scans(x: Any, y: Any) -> Any:
    return pb.cumsum(x, 0).sum() * pb.cumprod(y, 1)


@program((5, 40), paths="recurrence slice by slice", run=eagerly)
def products_with_zeros(x: Any) -> Any:
    return pb.cumprod(x * (x > 0.3), 0)


@program((7,), paths="plain body, gradient of an argument", run=once)
def a_gradient_in_a_transform(x: Any) -> Any:
    return (pb.func.grad(lambda x: (pb.exp(x) * x).sum())(pb.tensor(x)),)


@program((7,), paths="elementwise in a transform", run=once)
def a_gradient_in_a_gradient(x: Any) -> Any:
    return (pb.func.grad(lambda x: pb.func.grad(lambda y: (pb.exp(y) * y * x).sum())(x).sum())(pb.tensor(x)),)


@program((7,), (7,), paths="eager duals", run=once)
def a_tangent(x: Any, t: Any) -> Any:
    return pb.func.jvp(lambda x: pb.tanh(x) * x / 3.0, (pb.tensor(x),), (pb.tensor(t),))


@pb.library.custom_op("tests::cubed_on_a_path", mutates_args=())
def cubed(x: np.ndarray) -> np.ndarray:
    return x**3


cubed.register_fake(lambda x: pb.empty_like(x))
cubed.register_autograd(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
                        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))  # fmt: skip


@program((6,), paths="custom operator", run=eagerly)
def a_custom_operator(x: Any) -> Any:
    return cubed(x) * 2


@program((6,), (6,), paths="plain write, plain slice write", run=once)
def writes_without_gradients(x: Any, y: Any) -> Any:
    a, b = pb.tensor(x.copy()), pb.tensor(y)
    a.mul_(b)
    a += 2.0
    a[1:3] = 4.0
    a[4:6] = b[4:6].clone()
    return (a,)


@program((5,), paths="adopted write", run=eagerly)
def writes_with_gradients(x: Any) -> Any:
    y = x * 1
    z = y * y
    y *= z
    y += 1.0
    return y + z


@program((5,), paths="written regions", run=eagerly)
def a_filled_array(x: Any) -> Any:
    h = pb.zeros(5) + 0 * x
    for k in range(4):
        h[k + 1] = h[k] * 0.9 * h[k] + x[k]
    return h


def _of_a_row(row: Any) -> Any:
    return cubed(row) + pb.digitize(row, np.array([0.3, 0.6]))


@program((3, 6), paths="one example after the other, custom operator one example after the other", run=once)
def operators_without_a_batching_rule(x: Any) -> Any:
    before = pb.func.set_vmap_fallback("silent")
    try:
        return (pb.func.vmap(_of_a_row)(pb.tensor(x)),)
    finally:
        pb.func.set_vmap_fallback(before)


@program((100, 500), paths="pieces", run=eagerly)
def a_softmax_of_some_rows(x: Any) -> Any:
    return pb.softmax(x, axis=1) * x


@program((300, 500), paths="pieces on threads", run=eagerly)
def a_softmax_of_many_rows(x: Any) -> Any:
    return pb.softmax(x, axis=1) * x


def warmed(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """As often as it takes until native code pays."""
    for _ in range(40):
        gradients(f, arrays)
    return gradients(f, arrays)


@program((600_000,), (600_000,), paths="large kernel, large gradient, large choice, large formula", run=warmed)
def large_arrays(x: Any, y: Any) -> Any:
    chosen = pb.where(y > 0, pb.sin(x) * pb.tanh(y), x)
    return chosen + pb.nn.softplus(x) + pb.exp(-x * x) + pb.nn.sigmoid(y) + pb.nn.relu(x)


def whatever_it_costs(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """Segments are made at the first call and are not timed: whether they pay depends on what else the machine does."""
    before = segments._price.seconds, segments._TRIALS, large.IMPORT_SECONDS
    segments._price.seconds, segments._TRIALS, large.IMPORT_SECONDS = 0.0, 0, 0.0
    try:
        gradients(f, arrays)
        return gradients(f, arrays)
    finally:
        segments._price.seconds, segments._TRIALS, large.IMPORT_SECONDS = before


@program((128, 256), paths="adopted view", run=backwards)
def a_large_reshape(x: Any) -> Any:
    return pb.sin(x.reshape((256, 128))).sum()


@program((128, 256), (256, 128), paths="transposed gradient in strips", run=backwards)
def a_large_transpose(x: Any, y: Any) -> Any:
    return (x.T * y).sum()


@program((900, 900), paths="large segment, large segment backward", run=whatever_it_costs)
def large_rows(x: Any) -> Any:
    return pb.log_softmax(x, axis=1) + pb.std(x, axis=1, keepdims=True)


def made_often(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """Kinds of calls are made native at the second one, whether that pays or not."""
    before = small.CALLS, small._WORTH, large.IMPORT_SECONDS
    small.CALLS, small._WORTH, large.IMPORT_SECONDS = 2, math.inf, 0.0
    try:
        for _ in range(4):
            gradients(f, arrays)
        return gradients(f, arrays)
    finally:
        small.CALLS, small._WORTH, large.IMPORT_SECONDS = before


@program((11, 13), paths="small segment, small segment backward", run=made_often)
def small_rows(x: Any) -> Any:
    return pb.log_softmax(x, axis=1) + pb.std(x, axis=1, keepdims=True)


def on_a_native_tape(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    tape.load()
    try:
        return gradients(f, arrays)
    finally:
        tape.functions = None
        tape.reset()


@program(
    (5, 6), run=on_a_native_tape, paths="native pass, native call, native direct call, native call at once, "
    "native call of known parameters, object code that is shipped",
)  # fmt: skip
def small_chain(x: Any) -> Any:
    return pb.sin(x * x) * x[0] + x.sum() + (x @ x.T).sum()


@program(
    (40,), paths="native pass, native formula", run=on_a_native_tape,
    instead_of="gradient of a part, plain visit, compiled formula",
)  # fmt: skip
def elements_on_a_native_tape(x: Any) -> Any:
    total = x[0] * x[1]
    for k in range(2, 40):
        total = total + x[k] * x[k - 1]
    return total


def on_several_paths(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="numpy")
    for _ in range(8):
        found = [gradients(compiled, [x * sign for x in arrays]) for sign in (1, -1)]
    return [each for call in found for each in call]


def eagerly_with_both_signs(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    return [each for sign in (1, -1) for each in gradients(f, [x * sign for x in arrays])]


@program((5,), paths="one of several paths, joined arms", run=on_several_paths)
def a_way_by_sign(x: Any) -> Any:
    if x.sum() > 0:
        y = pb.sin(x) * 2
    else:
        y = x * x
    return y + x


@program((5,), paths="loop that values end", run=on_several_paths)
def steps_until_it_is_small(x: Any) -> Any:
    y = x * 300.0
    while abs(y).max() > 1:
        y = y * 0.7 + 0.01 * pb.sin(y)
    return y


def of_a_solver(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    for _ in range(3):
        found = backwards(f, arrays)
    return found


@program((2,), paths="callback on numbers", run=of_a_solver)
def a_root(p: Any) -> Any:
    return pb.scipy.optimize.brentq(lambda t: 3 * t + pb.sin(t * p[0]) - p[1], -9.0, 9.0, xtol=1e-14) * p[0]


def on_one_thread(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    before = pb.get_num_threads()
    pb.set_num_threads(1)
    try:
        return warmed(f, arrays)
    finally:
        pb.set_num_threads(before)


@program((600_000,), (600_000,), paths="large kernel with used memory", run=on_one_thread)
def large_differences(x: Any, y: Any) -> Any:
    return x - y - x - y


# Compiled calls.


@program((9,), paths="short call, pass at once, native entry, quick code, own linker", run=compiled_backwards(3))
def a_loss(x: Any) -> Any:
    return (pb.cos(x) * x).sum() * 0.703125


@program((9,), paths="good code later, native sinks", run=compiled_backwards(420))
def a_loss_that_is_called_often(x: Any) -> Any:
    return (pb.cosh(x) * x).sum() * 0.453125


def until_another_process_answers(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="llvm", fallback="raise", reroll=False)
    before, end = paths.counts["good code from another process"], time.monotonic() + 60
    while paths.counts["good code from another process"] == before and time.monotonic() < end:
        found = gradients(compiled, arrays)
    return found


@program((50,), paths="good code from another process", run=until_another_process_answers)
def a_long_program(x: Any) -> Any:
    for k in range(20):
        x = pb.sin(x) * (k + 1.5) + pb.exp(-x * x) if k % 2 else pb.tanh(x + x[::-1] * 0.1 * k)
    return x


def with_keywords(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="llvm", fallback="raise")
    for _ in range(3):
        found = gradients(lambda x, y: compiled(x, y=y), arrays)
    return found


@program((5,), (5,), paths="short call with keywords", run=with_keywords)
def an_argument_by_name(x: Any, y: Any) -> Any:
    return pb.sin(x) * y * 0.578125


def many_shapes(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="llvm", fallback="raise")
    for _ in range(2):
        found = [gradients(compiled, [arrays[0][:n]]) for n in range(2, 8)]
    return [each for call in found for each in call]


@program((8,), paths="short call by mark", run=many_shapes)
def many_lengths(x: Any) -> Any:
    return pb.sin(x) * 0.328125


def dynamic(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="llvm", fallback="raise", dynamic=True)
    return [each for n in range(4, 9) for each in gradients(compiled, [arrays[0][:n]])]


def eager_lengths(start: int) -> Any:
    return lambda f, arrays: [each for n in range(start, len(arrays[0]) + 1) for each in gradients(f, [arrays[0][:n]])]


@program((8,), paths="capture for other lengths", run=dynamic)
def one_capture(x: Any) -> Any:
    return pb.sin(x[1:]) * x[:-1]


@program((30, 20), (20,), paths="partition from disk, function from disk, file from disk", run=from_disk("llvm"))
def native_code_from_disk(x: Any, y: Any) -> Any:
    return pb.tanh(x @ y) * 0.828125


@program((3, 4), paths="source from disk", run=from_disk("numpy"))
def source_from_disk(x: Any) -> Any:
    return pb.softmax(x, axis=1) * x


def portably(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    from pullback.compiler.machine import structs

    expected = structs.are_as_expected
    structs.are_as_expected = lambda: False
    try:
        return natively()(f, arrays)
    finally:
        structs.are_as_expected = expected


@program((11,), paths="call by ctypes", run=portably)
def a_call_by_ctypes(x: Any) -> Any:
    return pb.exp(x) * 0.953125


def linked_by_llvm(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    from pullback.compiler.machine import jit
    from pullback.compiler.machine.objects import NotLinked

    def refused(code: bytes, address_of: Any) -> Any:
        raise NotLinked("a test")

    link = jit.link
    jit.link = refused
    try:
        return natively()(f, arrays)
    finally:
        jit.link = link


@program((11,), paths="LLVM's linker", run=linked_by_llvm)
def linked_by_another(x: Any) -> Any:
    return pb.exp(x) * 0.921875


# Loops and kernels.


@program((200, 150), (150, 240), paths="BLAS in blocks, BLAS alone", run=natively())
def a_large_product(x: Any, y: Any) -> Any:
    return pb.sin(x @ y)


@program((2000, 64), (64, 48), (48, 10), paths="tiles", run=natively())
def a_network_of_many_rows(x: Any, v: Any, w: Any) -> Any:
    return pb.logsumexp(pb.tanh(x @ v) @ w, axis=1)


@program((400, 6), (6, 5), paths="columns, thin product", run=natively())
def short_rows(x: Any, w: Any) -> Any:
    return (pb.softmax(pb.tanh(x @ w), axis=1) ** 2).sum(axis=1)


@program((20, 3), (4,), paths="planes", run=with_gradient_inside)
def points_that_move(x: Any, times: Any) -> Any:
    def step(x: Any, t: Any) -> Any:
        d = x[:, None] - x
        near = 1 / ((d * d).sum(axis=2) + 0.5)
        return x + t * (d * near[..., None]).sum(axis=1), near.sum()

    return pb.scan(step, x, times)[1]


@program((40, 30), (30, 35), paths="BLAS", run=natively())
def a_product_of_matrices(x: Any, y: Any) -> Any:
    return pb.sin(x @ y)


@program((1000, 1000), paths="threads, sums in blocks, good code at once", run=natively())
def shared_loops(x: Any) -> Any:
    return pb.exp(pb.sin(x)).sum() + pb.cos(x * x).mean()


@program((200,), paths="inlined, cut at edges", run=natively())
def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@program((40,), (40,), paths="frame of an update, frame in a sum", run=natively())
def the_inside_of_a_row(x: Any, w: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        new = u.clone()
        new[1:-1] = u[1:-1] + w[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
        return new, None

    return pb.scan(step, x, None, 5)[0]


@program((50, 4), paths="assembled sum, written in place", run=natively())
def columns_of_rows(x: Any) -> Any:
    return pb.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2, x[:, 3] * x[:, 0]], axis=1)


@program((6, 12, 12), paths="parts added in place", run=natively())
def steps_of_a_field(x: Any) -> Any:
    spread = x[2, 2:, 1:-1] + x[2, :-2, 1:-1] + x[2, 1:-1, 2:] + x[2, 1:-1, :-2]
    return (spread * x[2, 1:-1, 1:-1] * x[3, 1:-1, 1:-1]).sum()


@program((20, 30), paths="turned", run=natively())
def a_transposed_chain(x: Any) -> Any:
    return (pb.exp(-x.T) * x.T).sum(axis=0)


@program((6, 5), (6, 5), paths="contraction in loops", run=natively())
def a_small_contraction(x: Any, y: Any) -> Any:
    return pb.einsum("ij,ik->jk", x, y) * 2


@program((150, 5), paths="running sum", run=natively())
def running_sums(x: Any) -> Any:
    return pb.cumsum(pb.sin(x), 0) * x


@program((9, 4), paths="scatter", run=natively())
def gathered_rows(x: Any) -> Any:
    return x[np.array([1, 1, 7, 0])] * 3


@program((9, 4), paths="one place in each row", run=natively())
def chosen_in_rows(x: Any) -> Any:
    return pb.nn.cross_entropy(x, pb.tensor(np.array([1, 3, 0, 2, 1, 1, 0, 3, 2])))


@program((12,), paths="loop of a ufunc, expanded operator", run=natively())
def special_functions(x: Any) -> Any:
    return pb.special.j0(x * x + 1) + pb.mean(x)


@program((4, 4), paths="loop of NumPy", run=natively())
def a_decomposition(x: Any) -> Any:
    return pb.linalg.inv(x @ x.T + pb.eye(4))


@program((7,), (7,), paths="complex parts", run=natively())
def complex_numbers(x: Any, y: Any) -> Any:
    z = x + 1j * y
    return pb.abs(pb.exp(z) * z)


@program((30,), (), paths="native scan, stacked together, kernel inside of a loop", run=with_gradient_inside)
def a_scan(x: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = pb.tanh(h * w + pb.sin(x) * h + x)
        return h, h * x

    return pb.scan(step, w * 0.5, x)


def natively_without_gradients(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    return once(pb.compile(f, backend="llvm", fallback="raise"), [pb.tensor(x) for x in arrays])


@program((5,), paths="native while, native cond", run=natively_without_gradients)
def a_while_loop(x: Any) -> Any:
    x = pb.asarray(x)
    step = lambda at: (at[0] * 0.5 + x.sum(), at[1] + 1)
    total, _ = pb.while_loop(lambda at: at[1] < 7, step, (x.sum(), pb.tensor(0)))
    return (pb.cond(total > 0, lambda t: t * 2, lambda t: t - 1, total),)


@program((20,), (), paths="rerolled loop, traced again", run=natively())
def a_python_loop(x: Any, w: Any) -> Any:
    h = x[:3]
    for k in range(120):
        h = pb.tanh(h * w + x[k % 17 : k % 17 + 3] * 0.3 + pb.sin(h))
    return h


@program((3,), (80, 3), paths="gradient of rolled loops", run=natively())
def a_gradient_through_steps(h: Any, x: Any) -> Any:
    for k in range(80):
        h = pb.tanh(h + x[k]) * 0.9 + 0.1 * h
    return h


@program((9, 9), (9,), paths="shared factors", run=with_gradient_inside)
def systems_of_one_matrix(a: Any, b: Any) -> Any:
    a = a + 9 * np.eye(9)
    return pb.linalg.slogdet(a)[1] + pb.linalg.solve(a, b).sum() + pb.linalg.solve(a.T, b)[0]


@program((12, 6), (6,), paths="hoisted invariants", run=natively())
def a_loop_with_invariants(x: Any, w: Any) -> Any:
    return pb.scan(lambda h, row: (pb.tanh(h * pb.exp(w * w) + row), h.sum()), w, x)[1]


@program((3, 2, 4), (5, 4), paths="sums of slices", run=with_gradient_inside)
def a_loop_with_slices_of_weights(w: Any, x: Any) -> Any:
    return pb.scan(lambda h, t: (pb.tanh(h * w[0, 1] + t * w[2, 0]), h * w[1, 1]), x[0], x)


@program((6, 5), (5,), paths="recomputed in loops", run=with_gradient_inside)
def a_loop_that_keeps_what_is_cheap(x: Any, w: Any) -> Any:
    return pb.scan(lambda h, t: (pb.tanh((h + t) * (h - t)) * (h + t) * w, (h + t) * (h + t)), w, x)


@program((40,), paths="update in place", run=natively())
def updates(x: Any) -> Any:
    h = x * 3.0
    h[3:7] = pb.sin(x[:4])
    h[10:20] *= 2.0
    return h * x


@program((40,), paths="list of commands", run=natively(reroll=False))
def many_different_commands(x: Any) -> Any:
    parts = [pb.sin(x[: 40 - k] * (k + 1.0)).sum() * pb.cos(x[k:]).prod() for k in range(38)]
    return pb.stack(parts)


@program((15,), (), paths="fused loops", run=natively())
def a_scan_twice(x: Any, w: Any) -> Any:
    first = pb.scan(lambda h, t: (pb.sin(h * w) * t, h), w, x)[1]
    return first + pb.scan(lambda h, t: (pb.sin(h * w) * t, h * h), w, x)[1]


# What the plain way runs where a program is not compared with itself.
PLAIN: dict[str, Any] = {
    "many_lengths": lambda f, arrays: [each for n in range(2, 8) for each in gradients(f, [arrays[0][:n]])],
    "one_capture": lambda f, arrays: [each for n in range(4, 9) for each in gradients(f, [arrays[0][:n]])],
    "operators_without_a_batching_rule": lambda f, arrays: [
        np.stack([_of_a_row(pb.tensor(x)).numpy() for x in arrays[0]])],
    "a_loss": backwards, "a_loss_that_is_called_often": backwards,
}  # fmt: skip
PLAIN_FOR: dict[Any, Any] = {
    once: once, natively_without_gradients: once, backwards: backwards, elsewhere: backwards, of_a_solver: backwards,
    on_several_paths: eagerly_with_both_signs,
    with_gradient_inside: value_and_gradients,
}  # fmt: skip


def arguments(each: Program) -> list[Any]:
    random = np.random.default_rng(7)
    return [random.uniform(0.1, 1.0, size=shape) for shape in each.shapes]


def difference(name: str) -> tuple[float, dict[str, int]]:
    """The largest relative difference between a program and the plain way, and how often it went which way."""
    each = PROGRAMS[name]
    before = paths.counts.copy()
    found = each.run(each.function, arguments(each))
    gone = {path: paths.counts[path] - before[path] for path in paths.counts}
    with plain():
        run = PLAIN.get(name) or PLAIN_FOR.get(each.run, gradients)
        wanted = run(each.function, arguments(each))
    assert len(found) == len(wanted)
    worst = 0.0
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, name
        worst = max(worst, float(np.max(np.abs(mine - theirs) / (1 + np.abs(theirs)), initial=0.0)))
    return worst, gone


def main() -> None:
    """One line of JSON for each program that `PROGRAMS` has: its name, the difference, and the ways it went."""
    for name in PROGRAMS:
        print(json.dumps([name, *difference(name)]), flush=True)


if __name__ == "__main__":
    main()
