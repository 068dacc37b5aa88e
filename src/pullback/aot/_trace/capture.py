"""Capture: one run of the function on stand-ins; further ones where that shows that it has to be run otherwise."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._guards import leaf_key
from pullback.aot._numbers.attempts import Attempts, static_slots
from pullback.aot._numbers.program import Repeat
from pullback.aot._numbers.stand_in import is_stand_in, name_of, names_type, value_of
from pullback.aot._surroundings.arguments import watch
from pullback.aot._surroundings.containers import Grows
from pullback.aot._surroundings.places import Place
from pullback.aot._surroundings.seer import Seer
from pullback.aot._trace.dry_runs import BeginAgain, Trials
from pullback.aot._trace.kinds import check_arrays, names_for
from pullback.aot._trace.leaves import (
    array_of,
    check_leaves,
    is_array,
    overlapping,
)
from pullback.aot._trace.left_behind import (
    check_gradients,
    check_host_randomness,
    check_modes,
    check_seen,
    guarded_modes,
    host_randomness,
)
from pullback.aot._trace.maker import Maker
from pullback.aot._trace.records import Capture, Options
from pullback.aot._trace.trace import Trace, WrittenAlias
from pullback.aot._tree.instructions import Lost
from pullback.aot._tree.joins import Arms, Pinned, Unjoined, check_apart
from pullback.aot._tree.live import Abandoned, Live
from pullback.aot._tree.sights import Returning
from pullback.aot._tree.taken import Taker, views
from pullback.aot._wrapper import is_wrapped
from pullback.core.pytree import flatten, unflatten
from pullback.core.records import replace
from pullback.core.state import change_grad, current
from pullback.errors import AOTError, AutogradError, TraceError
from pullback.tensors.overwrites import get_policy
from pullback.tensors.tensor import Tensor

_MOST_LOOPS = 8  # of one path
_MOST_JOINS = 8  # traces for the sake of joining arms


def capture(
    function: Callable[..., Any], leaves: list[Any], in_tree: Any, options: Options, *, backward: bool = True,
    watcher: Any = None, numbers: bool = False, is_open_at: Callable[[Any], bool] | None = None,
    arms: Arms | None = None,
) -> Capture:  # fmt: skip
    """Run `function` once on stand-ins for its arguments. It is run again for each group of overlapping arguments of
    which it writes one, where a backward pass that fails has effects (`dry_runs.py`), and where it cannot do with
    stand-ins for numbers. A `watcher` is told what the function asks about sizes that vary. The capture is for these
    very numbers unless `numbers` is true. Values that the function asks for are computed if `is_open_at` is given,
    which says of a place whether too many different ones were found there."""
    check_leaves(unflatten(in_tree, leaves), leaves, "args")
    merged: tuple[tuple[int, ...], ...] = ()
    trials = Trials()
    loops: dict[int, Any] = {}  # that were found, by event
    straight: Capture | None = None  # the capture without the last of them
    is_lost = False  # what was found was none
    growing: set[int] = set()  # lists that the function appends to
    joins = 0  # traces to learn of arms
    # Are there stand-ins for what it takes out of tensors?
    takes_numbers = not names_type(getattr(function, "__code__", None))
    attempts = Attempts(leaves, static_slots(function, in_tree, len(leaves), options.static) if numbers else None)
    while True:
        trace = Trace(options.captures, merged)
        trace.watcher, trace.growing = watcher, growing
        if is_open_at is not None:
            trace.live = Live(trace, trace.real_inputs, is_open_at)
            trace.live.taker = Taker(trace.live, trace) if takes_numbers else None
            trace.live.loops = dict(loops)
            trace.live.arms = arms if takes_numbers else None
        attempts.begin(trace)
        try:
            found = run_traced(trace, function, leaves, in_tree, options, Maker, trials if backward else None)
            if attempts.are_for(found):
                if arms is not None and takes_numbers and not loops and arms.note_changing(trace.live):
                    trials = Trials()  # once more, with these in the graph
                    continue
                if arms is not None and takes_numbers and not loops and joins < _MOST_JOINS:
                    joins += 1
                    if arms.learn(trace, trace.live):  # once more, with these joined
                        trials = Trials()
                        continue
                loop = None if trace.live is None or is_lost else trace.live.found_loop(max(loops, default=-1) + 1)
                if loop is None or len(loops) == _MOST_LOOPS:
                    return found
                straight, loops, trials = found, {**loops, loop.event: loop}, Trials()  # once more, with a loop
                continue
            trials = Trials()
        except Grows as grows:
            growing, trials = {*growing, id(grows.container)}, Trials()
        except Pinned:
            assert arms is not None
            arms.changing = None
            straight, loops, trials = None, {}, Trials()
        except Unjoined as unjoined:
            if arms is not None:
                arms.refuse(unjoined.key)
            straight, loops, trials = None, {}, Trials()
        except Lost:
            is_lost = True
            if straight is not None:
                return straight
        except WrittenAlias as written:
            merged, trials = (*merged, written.group), Trials()
        except BeginAgain:
            pass
        except (Repeat, Exception) as error:
            if straight is not None:
                return straight
            if trace.live is not None and takes_numbers and not isinstance(error, AOTError):
                takes_numbers, trials = False, Trials()
                continue
            if not attempts.goes_on_after(error, trace):
                if trace.live is not None and trace.live.events and not isinstance(error, AOTError):
                    raise Abandoned from error
                raise
            trials = Trials()
        finally:
            trace.close()


def run_traced(
    trace: Trace, function: Callable[..., Any], leaves: list[Any], in_tree: Any, options: Options, make: type[Maker],
    trials: Trials | None,
) -> Capture:  # fmt: skip
    """Run the function in this trace; `make` turns what it leaves into a capture, with gradients if there are `trials`
    to find out where they come from."""
    has_numbers = trace.host is not None and bool(trace.host.given)
    is_taking = trace.live is not None and trace.live.taker is not None
    own_names = {} if trace.live is None else {"print": trace.live.effects.print}
    if is_taking:
        own_names.update(views(), range=trace.live.counters.range, len=trace.live.lengths.len)
    own_names.update({"len": trace.watcher.len} if trace.watcher is not None else {})
    own_names.update(names_for(trace, leaves))
    trace.rolls = options.reroll
    seer = trace.seer = Seer(trace.seen, trace.look_at, has_numbers, own_names, is_taking)
    seer.growing, seer.effects = trace.growing, None if trace.live is None else trace.live.effects
    if trace.live is not None and trace.live.arms is not None:
        seer.returning = functools.partial(Returning.around, trace.live)
    try:
        return _run_seeing(seer, trace, function, leaves, in_tree, options, make, trials)
    except BaseException as error:
        begins_again = isinstance(error, Repeat) or (has_numbers and not isinstance(error, AOTError))
        if options.side_effects == "trace" and not begins_again:
            seer.store()
        raise
    finally:
        seer.close()


def _run_seeing(
    seer: Seer, trace: Trace, function: Callable[..., Any], leaves: list[Any], in_tree: Any, options: Options,
    make: type[Maker], trials: Trials | None,
) -> Capture:  # fmt: skip
    arrays = {slot: leaf for slot, leaf in enumerate(leaves) if is_input(leaf)}
    real = {slot: array_of(leaf) for slot, leaf in arrays.items() if is_array(leaf) and not is_wrapped(leaf)}
    groups = [group for group in overlapping(real) if len({id(leaves[slot]) for slot in group}) > 1]
    host = trace.host
    numbers = {} if host is None else host.given
    with trace.running():
        trace.add_inputs(arrays, groups, len(leaves))
        given = [
            trace.given(slot) if slot in arrays
            else numbers[slot] if slot in numbers else seer.see(leaf, f"args[{slot}]")
            for slot, leaf in enumerate(leaves)
        ]  # fmt: skip
        args, kwargs = unflatten(in_tree, given)
        watch(seer, args, kwargs)
        before = guarded_modes()
        grad_before = current().grad
        drawn = host_randomness()
        try:
            result = seer.see(function, getattr(function, "__name__", "the function"))(*args, **kwargs)
            grad_after = current().grad
        finally:
            change_grad(grad_before)
            seer.finish()
        trace.check_refusals()
        if trace.live is not None:
            result = trace.live.ended(result)
            trace.live.rewind()
        check_modes(before)
        check_host_randomness(drawn, options.side_effects == "refuse", function)
        effects = [] if trace.live is None else list(trace.live.effects.given)
        if options.side_effects == "refuse":
            seer.check_draws()
            effects += seer.writes(result)
        result = seer.with_own_containers(result)
        if effects:
            result = (result, [value for _, value in effects])
        outs, out_tree = flatten(result)
        check_leaves(result, outs, "output")
        outs = [trace.lifted(leaf) if isinstance(leaf, Tensor) else seer.back(leaf) for leaf in outs]
        taken = {k: leaf for k, leaf in enumerate(outs) if is_stand_in(leaf) and leaf._host.is_live}
        outs = [leaf.as_tensor() if k in taken else leaf for k, leaf in enumerate(outs)]
        returned = {k: name_of(leaf) for k, leaf in enumerate(outs) if is_stand_in(leaf)}
        outs = [value_of(leaf) for leaf in outs]
        check_arrays(trace, outs)
        check_gradients(trace, outs)
        if trace.live is not None:
            check_apart(trace, trace.live, outs)
        outcomes = None if trace.live is None else trace.live.outcomes()
        if outcomes is not None or seer.catches:  # before anything is written, it has to be the right path
            options = replace(options, keep_input_mutations=False)
        trace.settle(outs)
        maker = _made(make, trace, outs, options)
        maker.outcomes = outcomes
        maker.meta.grad_enabled_mutation = grad_after if grad_after is not grad_before else None
        captured = maker.finish(out_tree, trials)
        if options.side_effects == "refuse":
            check_seen(trace, seer)
        else:
            seer.store()
        captured.places = [
            *seer.places, *(Place("tensor", x, None, leaf_key(x), seer.texts[id(x)]) for x in trace.unused)
        ]  # fmt: skip
        captured.seen = [*captured.meta.captures, *trace.unused, *(array for array, _, _ in seer.arrays)]
        captured.unhooked = [primal.slots[0] for primal in trace.inner if primal.slots]
        captured.places += [
            Place("hooks", primal.original, None, None, f"the hooks of {primal.desc.expr()}")
            for primal in trace.inner if isinstance(primal.original, Tensor) and not primal.slots
        ]  # fmt: skip
        if trace.overwrite_policy is not None:  # something was written over that the backward pass reads
            captured.places.append(Place("policy", get_policy, None, get_policy(), "the overwrite policy"))
            captured.overwrites = list(trace.overwrites)
        captured.texts = {id(x): seer.texts[id(x)] for x in captured.meta.captures if id(x) in seer.texts}
        captured.in_tree = in_tree
        captured.effects = tuple(action for action, _ in effects)
        captured.taken = {k: isinstance(leaf._value, np.generic) for k, leaf in taken.items()}
        captured.events = () if outcomes is None else tuple(trace.live.events)
        captured.joined = () if trace.live is None else tuple(trace.live.joined)
        captured.looks_at_lengths = trace.live is not None and trace.live.lengths.is_looked_at
        if host is not None:
            captured.numbers = host.closed()
            used = host.used.union(*(slots for _, slots in returned.values()))
            captured.numbers.outputs = {k: name for k, (name, _) in returned.items()}
            captured.unused_numbers = tuple(slot for slot in host.given if slot not in used)
        captured.literals = {slot: leaf for slot, leaf in enumerate(leaves) if not is_input(leaf)}
        return captured


def _made(make: type[Maker], trace: Trace, outs: list[Any], options: Options) -> Maker:
    try:
        return make(trace, outs, options)
    except AutogradError as error:  # eager code raises it when somebody asks for the history, and not before
        raise TraceError(
            f"a result or an argument has lost its history: {error.what}",
            why="what its history is decides what is compiled",
            fix="return a .detach() of it, or do not write to what it is a view of",
        ) from error


def is_input(leaf: Any) -> bool:
    """Does this leaf become an input of the graph? Arrays do, and descriptions of arrays."""
    return is_array(leaf) or hasattr(leaf, "is_array_spec")
