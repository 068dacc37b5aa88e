"""A function run eagerly and compiled, by both backends, call after call: with other values, shapes, flags, layouts and
modes, in other threads, and after what it captures was changed. Compared are results, gradients, second derivatives,
arguments and captures afterwards, and errors."""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import pullback as pb

from . import shrink
from .compare import difference, looseness, precision, shown
from .known import is_known
from .program import Call, Disagreement, Input, Program, scope
from .world import World, numbers
from .writing import Writer


@dataclass
class Seen:
    """What a caller sees of one call."""

    error: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


class Compiled:
    """Compiled against eager."""

    name = "compiled"

    def draw(self, seed: int) -> Program:
        return self.drawn(random.Random(f"compiled {seed}"))

    def drawn(self, rng: random.Random) -> Program:
        while True:
            writer = Writer(rng, World(rng))
            writer.draw_inputs(rng.choice((1, 2, 2, 3)))
            if rng.random() < 0.5:
                writer.draw_surroundings()
            writer.draw_body(rng.choice((1, 2, 3, 4, 6, 9)))
            result = writer.results()
            if result and writer.body:
                break
        backend = rng.choice(("numpy", "llvm"))
        forms = ["function"] + (["closure", "method"] if writer.around else [])
        calls = [Call(), *(self.other_call(rng, writer) for _ in range(rng.choice((1, 2, 2, 3))))]
        order = rng.choices((0, 1, 2, 3), (1, 5, 2, 0.5))[0]
        options = [("backend", backend)]
        if rng.random() < 0.15:
            options.append(("partitioner", "min_cut"))
        if rng.random() < 0.1:
            options.append(("dynamic", True))
        return Program(self.name, tuple(writer.inputs), tuple(writer.body), tuple(result), tuple(writer.setup),
                       tuple(calls), rng.choice(forms), order, tuple(options))  # fmt: skip

    def other_call(self, rng: random.Random, writer: Writer) -> Call:
        """A call that differs from the first in something."""
        inputs = tuple(replace(each, seed=each.seed + 1) for each in writer.inputs)
        kind = rng.choices(("values", "changes", "shapes", "flags", "layouts", "dtypes"), (3, 4, 3, 2, 1, 0.5))[0]
        before = tuple(writer.change()) if kind == "changes" else ()
        if kind == "shapes":
            lengths = sorted({n for each in inputs for n in each.shape})
            if lengths:
                old, new = rng.choice(lengths), writer.world.length(writer.world.most_elements)
                others = tuple(replace(i, shape=tuple(new if n == old else n for n in i.shape)) for i in inputs)
                if all(int(np.prod(i.shape)) <= writer.world.most_elements for i in others):
                    inputs = others
        elif kind == "flags":
            other = {"leaf": "tensor", "tensor": "leaf", "array": "tensor"}
            inputs = tuple(replace(i, kind=other[i.kind]) if np.dtype(i.dtype).kind in "fc" else i for i in inputs)
        elif kind == "layouts":
            inputs = tuple(replace(each, layout=writer.world.layout()) for each in inputs)
        elif kind == "dtypes":
            inputs = tuple(replace(i, dtype=writer.world.dtype(("float64", "float32", "complex128"))) for i in inputs)
        mode = rng.choices(("", "no_grad", "inference"), (8, 1, 0.5))[0]
        return Call(before, inputs, mode, rng.random() < 0.07, rng.choice((0, 0, 0, 0, 1, 2, 3)))

    def check(self, program: Program) -> Disagreement | None:
        wanted = run(program, compiles=False)
        found = run(program, compiles=True)
        told = compared(program, wanted, found)
        if told is None or is_known(program, told):
            return None
        if told.what == "error" and told.found == "no error" and self.is_unused(program):
            return None
        if told.what.startswith(("values", "gradient", "second", "third")) and not is_stable(program, wanted, found):
            return None
        return told

    def is_unused(self, program: Program) -> bool:
        """Does eager code raise only in what nobody uses? A graph does not compute that."""
        found = run(program, compiles=True)
        others = shrink.without_unused(program), *shrink.with_other_writes(program)
        return any(compared(program, run(other, compiles=False), found) is None for other in others if other != program)

    def smaller(self, program: Program) -> Iterator[Program]:
        yield from shrink.smaller(program)
        for option in program.options:
            if option[0] != "backend":
                yield program.but(options=tuple(each for each in program.options if each != option))

    def count(self, program: Program) -> tuple[int, int]:
        return program.count()


# Running --------------------------------------------------------------------------------------------------------------


def run(program: Program, compiles: bool, nudged: bool = False) -> list[Seen]:
    """What is seen of every call."""
    around = scope()
    definition = program.definition()
    options = {"backend": "numpy"} | dict(program.options)
    threads = pb.get_num_threads()
    seen = []
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if program.form == "method":
                exec(definition, around)
                if compiles:
                    around["Model"].f = pb.compile(around["Model"].f, **options)
                around["SimpleNamespace"] = around["Model"]
                exec("\n".join(program.setup), around)
                if "state" not in around:
                    around["state"] = around["Model"]()
                around["f"] = around["state"].f
            else:
                exec("\n".join((*program.setup, definition)), around)
                if compiles:
                    around["f"] = pb.compile(around["f"], **options)
            for call in program.calls:
                seen.append(called(program, call, around, nudged))
    finally:
        pb.set_num_threads(threads)
    return seen


def called(program: Program, call: Call, around: dict[str, Any], nudged: bool) -> Seen:
    """What is seen of one call."""
    seen = Seen()
    try:
        exec("\n".join(call.before), around)
    except Exception as error:
        seen.error = f"before: {named(error)}"
        return seen
    if call.threads:
        pb.set_num_threads(call.threads)
    given = program.arguments(call)
    arguments = {each.name: made(each, nudged) for each in given}
    captured = dict(tensors_around(around))

    def do() -> None:
        try:
            with mode(call.mode):
                result = around["f"](*arguments.values())
            note_results(seen, result)
        except Exception as error:
            seen.error = f"call: {named(error)}"
        else:
            try:
                note_gradients(seen, result, {**arguments, **captured}, program.order)
            except Exception as error:
                seen.error = f"backward: {named(error)}"

    if call.in_thread:
        thread = threading.Thread(target=do)
        thread.start()
        thread.join()
    else:
        do()
    if not seen.error.startswith("call"):
        for name, value in (*arguments.items(), *tensors_around(around)):
            seen.facts[f"{name} afterwards"] = copied(value)
    return seen


def made(given: Input, nudged: bool) -> Any:
    value = given.array()
    if nudged and value.dtype.kind in "fc" and value.size:
        with np.errstate(all="ignore"):
            drawn = np.random.default_rng(given.seed).uniform(-8, 8, value.shape)
            moved = (value * (1 + np.finfo(value.dtype).eps * drawn)).astype(value.dtype)
        flags = value.flags.writeable
        value = moved if not flags else value
        if flags:
            value[...] = moved
    if given.kind == "array":
        return value
    tensor: Any = pb.asarray(value)
    return tensor.requires_grad_() if given.kind == "leaf" else tensor


def mode(name: str) -> Any:
    return {"no_grad": pb.no_grad, "inference": pb.inference_mode, "enable_grad": pb.enable_grad}.get(
        name, nullcontext
    )()


def named(error: Exception) -> str:
    code = getattr(error, "code", None)
    return f"{type(error).__name__} {code or ''}: {str(error)[:300]}"


def tensors_around(around: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tensors and arrays that a function finds around itself."""
    state, box = around.get("state"), around.get("box") or {}
    found = {name: around.get(name) for name in ("w", "constant", "number")}
    found |= {f"state.{name}": value for name, value in vars(state).items()} if state is not None else {}
    inner = getattr(state, "inner", None)
    found |= {f"state.inner.{name}": value for name, value in vars(inner).items()} if inner is not None else {}
    found |= {f"box[{name!r}]": value for name, value in box.items() if name != "all"}
    found |= {f"box['all'][{k}]": value for k, value in enumerate(box.get("all", ()))}
    yield from ((name, value) for name, value in found.items() if isinstance(value, (pb.Tensor, np.ndarray)))


def copied(value: Any) -> Any:
    if isinstance(value, pb.Tensor):
        return (value.requires_grad, value.detach().numpy().copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def leaves_of(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for each in result for leaf in leaves_of(each)]
    return [result]


def note_results(seen: Seen, result: Any) -> None:
    for number, leaf in enumerate(leaves_of(result)):
        if isinstance(leaf, pb.Tensor):
            seen.facts[f"values of result {number}"] = leaf.detach().numpy().copy()
            seen.facts[f"requires_grad of result {number}"] = leaf.requires_grad
        else:
            seen.facts[f"values of result {number}"] = leaf


def note_gradients(seen: Seen, result: Any, tensors: dict[str, Any], order: int) -> None:
    """Derivatives up to an order, by `autograd.grad`; of order 0, the gradients that `backward()` leaves behind."""
    roots = [x for x in leaves_of(result) if isinstance(x, pb.Tensor) and x.requires_grad and x.dtype.kind in "fc"]
    named_leaves = {n: x for n, x in tensors.items() if isinstance(x, pb.Tensor) and x.requires_grad and x.is_leaf}
    if not roots or not named_leaves:
        return
    leaves = list(named_leaves.values())
    if not order:
        pb.autograd.backward(roots, weights(roots, "positive", 9))
        note_arrays(seen, "gradient", {name: leaf.grad for name, leaf in named_leaves.items()})
        return
    for done, what in enumerate(("gradient", "second derivative", "third derivative")[:order], 1):
        seeds = weights(roots, "positive", 9) if done == 1 else weights(roots, "unit", 9 + done)
        found = pb.autograd.grad(roots, leaves, seeds, allow_unused=True, create_graph=done < order)
        note_arrays(seen, what, dict(zip(named_leaves, found, strict=True)))
        roots = [g for g in found if g is not None and g.requires_grad]
        if not roots:
            return


def weights(roots: list[Any], values: str, seed: int) -> list[Any]:
    return [pb.asarray(numbers(x.shape, x.dtype.newbyteorder("=").name, values, seed)) for x in roots]


def note_arrays(seen: Seen, what: str, found: dict[str, Any]) -> None:
    for name, gradient in found.items():
        seen.facts[f"{what} of {name}"] = None if gradient is None else gradient.detach().numpy().copy()


# Comparing ------------------------------------------------------------------------------------------------------------


def compared(program: Program, wanted: list[Seen], found: list[Seen]) -> Disagreement | None:
    """The first difference."""
    where = f"compiled by {program.option('backend')}"
    inexact = [
        each.dtype for call in program.calls for each in program.arguments(call) if np.dtype(each.dtype).kind in "fc"
    ]
    loose = max(precision(*[np.zeros((), dtype) for dtype in inexact]), looseness((*program.setup, *program.body)))
    for number, (eager, other) in enumerate(zip(wanted, found, strict=True)):
        place = f"{where}, call {number + 1}"
        if eager.error or other.error:
            if errors_agree(eager.error, other.error):
                if eager.error.startswith("call"):
                    return None  # what is left behind by an error is anybody's guess
                continue
            return Disagreement(place, "error", eager.error or "no error", other.error or "no error")
        for name in {**eager.facts, **other.facts}:
            a, b = eager.facts.get(name), other.facts.get(name)
            if (a is None or b is None) and ("derivative" in name or name.startswith("gradient")):
                a, b = (None if x is not None and not np.any(x) else x for x in (a, b))  # zeros may be absent
            what = difference(a, b, loose)
            if what is not None:
                kind = what if name.startswith("values") or "afterwards" in name else name.split(" of ")[0]
                return Disagreement(place, f"{kind} of {name.split(' of ')[-1]}", shown(a), shown(b))
    return None


def errors_agree(eager: str, other: str) -> bool:
    """May the compiled function raise this where eager code raises that?"""
    if not eager:
        return False
    if not other:
        # A compiled forward keeps copies of its own, and a graph knows no order of writes.
        return eager.startswith("backward: AutogradError")
    return eager.split(":")[0] == other.split(":")[0]


def is_stable(program: Program, wanted: list[Seen], found: list[Seen]) -> bool:
    """Is the difference far from what eager code makes of inputs that differ in the last digits?"""
    moved = run(program, compiles=False, nudged=True)
    for eager, other, nudged in zip(wanted, found, moved, strict=True):
        for name, value in eager.facts.items():
            if difference(value, other.facts.get(name)) is not None:
                near, far = distance(value, nudged.facts.get(name)), distance(value, other.facts.get(name))
                return far > 100 * near or (np.isinf(far) and not np.isinf(near))
    return True


def distance(a: Any, b: Any) -> float:
    """The largest difference of elements; infinite if these cannot be compared."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        a, b = a[-1], b[-1]
    if a is None or b is None or np.shape(a) != np.shape(b):
        return float("inf")
    a, b = np.asarray(a, complex), np.asarray(b, complex)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)):
        return float("inf")
    return float(np.abs(a[finite] - b[finite]).max()) if finite.any() else 0.0
