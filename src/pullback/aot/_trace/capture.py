"""Capture: one run of the function becomes metadata and one graph, joint if gradients are wanted.

inputs     [merged bases] [array leaves by slot] [captures] [tangents]
outputs    [values of inputs that the runtime writes] [outputs] [intermediate bases] [a gradient per input]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.aot import _later
from pullback.aot._guards import leaf_key
from pullback.aot._metadata import (
    OWN,
    InputAliasInfo,
    MutationType,
    OutputType,
    ViewAndMutationMeta,
)
from pullback.aot._numbers.attempts import Attempts, static_slots
from pullback.aot._numbers.program import Program, Repeat
from pullback.aot._numbers.stand_in import is_stand_in, name_of, names_type, value_of
from pullback.aot._surroundings.arguments import watch
from pullback.aot._surroundings.containers import Grows
from pullback.aot._surroundings.places import Place
from pullback.aot._surroundings.seer import Seer
from pullback.aot._trace.analysis import Outputs, input_info
from pullback.aot._trace.dry_runs import BeginAgain, Trials
from pullback.aot._trace.higher import Stops, stops_of
from pullback.aot._trace.joint import Roots, add_backward, separate_from_backward
from pullback.aot._trace.kinds import check_arrays, names_for
from pullback.aot._trace.leaves import (
    Steps,
    alias_error,
    array_of,
    base_of_group,
    check_leaves,
    is_array,
    memory_of,
    overlapping,
    same_steps,
)
from pullback.aot._trace.left_behind import (
    check_gradients,
    check_host_randomness,
    check_modes,
    check_seen,
    guarded_modes,
    host_randomness,
)
from pullback.aot._trace.trace import Primal, Trace, WrittenAlias
from pullback.aot._tree.joins import Arms, Pinned, Returning, Unjoined, check_apart
from pullback.aot._tree.live import Abandoned, Event, Live
from pullback.aot._tree.loops import Lost
from pullback.aot._tree.taken import Taker, views
from pullback.aot._wrapper import check_plain, is_wrapped
from pullback.core.pytree import flatten, unflatten
from pullback.core.records import Record, field, replace
from pullback.core.state import change_grad, current
from pullback.declare.op import registry
from pullback.errors import AliasError, AOTError, AutogradError, TraceError
from pullback.graph import reroll
from pullback.graph.descriptors import (
    CapturedAOTInput,
    DummyAOTOutput,
    GradAOTOutput,
    InputMutationAOTOutput,
    IntermediateBaseAOTOutput,
    NumberAOTInput,
    PlainAOTInput,
    PlainAOTOutput,
    SyntheticBaseAOTInput,
    ViewBaseAOTInput,
)
from pullback.graph.graph import Graph
from pullback.graph.ir import FORWARD, ArrayType, Value, root_of, type_of
from pullback.payloads.traced import TracedArray
from pullback.tape.history import grad_fn, is_leaf, requires_grad
from pullback.tensors.overwrites import get_policy
from pullback.tensors.tensor import Leaf, Tensor
from pullback.tensors.views import view_of

_ALLOWED = {
    "captures": ("lift", "error", "constant"), "higher_order": ("retrace", "error"),
    "side_effects": ("trace", "refuse"),
}  # fmt: skip

_MOST_LOOPS = 8  # of one path
_MOST_JOINS = 8  # traces for the sake of joining arms


class Options(Record, frozen=True):
    """What a capture can be told."""

    keep_input_mutations: bool = True
    captures: str = "lift"
    static_inputs: tuple[int, ...] = ()
    strict: bool = False
    higher_order: str = "retrace"
    dynamic: bool = False
    joint_pass: Callable[[Graph], Graph] | None = None
    static: tuple[int | str, ...] = ()  # arguments, by position or name, of which captures are for the very numbers
    side_effects: str = "trace"  # of the function on Python objects: they happen while tracing, or are refused
    live: bool = False  # answer those who ask for values, with those of the call: aot/_tree
    reroll: bool = True  # make loops of what Python loops left in the graph: graph/reroll

    def __post_init__(self) -> None:
        for name, allowed in _ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}")


class GraphInput(Record):
    """One array that the compiled graph takes: where it comes from, and what happens to it."""

    desc: Any
    slot: int | None  # the leaf slot, None for captures and merged bases
    capture: Tensor | None
    members: tuple[int, ...]  # of a merged group
    info: InputAliasInfo
    wants_grad: bool
    type: ArrayType
    steps: Steps = field(default_factory=dict)  # from the base of a merged group to its members
    number: int | None = None  # of a value that is computed of numbers: its position among those

    def has_base_of(self, leaves: list[Any]) -> bool:
        """Do the members of the group lie in their base as they did when the function was captured?"""
        try:
            root, steps = base_of_group({slot: leaves[slot] for slot in self.members})
        except AliasError:
            return False
        is_same_leaf = not isinstance(root, Tensor) or is_leaf(root) is self.info.is_leaf
        return is_same_leaf and type_of(memory_of(root)) == self.type and same_steps(steps, self.steps)


class Capture(Record):
    """What is known of one captured call."""

    graph: Graph
    meta: ViewAndMutationMeta
    inputs: list[GraphInput]
    out_tree: Any
    num_forward_outputs: int
    is_training: bool
    groups: tuple[tuple[int, ...], ...] = ()
    members: dict[int, InputAliasInfo] = field(default_factory=dict)
    # By number: inputs in whose memory eager code saves values for backward, with the size of the largest of these.
    inputs_read_later: dict[int, int] = field(default_factory=dict)
    inputs_read_live: frozenset[int] = frozenset()  # inputs whose values count that they have in the backward pass
    stops: Stops = field(default_factory=Stops)  # what has no history inside
    outputs_read_later: dict[int, int] = field(default_factory=dict)  # the same for outputs of the forward part
    in_tree: Any = None
    literals: dict[int, Any] = field(default_factory=dict)  # the leaves that are no inputs of the graph, by slot
    has_own_formulas: bool = False  # custom Functions were called
    flat: Capture | None = None  # the same for the arrays that payloads are made of: _wrapper/capture.py
    wrapping: Any = None  # and how those make up the payloads
    met: dict[Any, Any] = field(default_factory=dict)  # arguments that are captured as well, by descriptor
    at_other_sizes: Any = None  # where lengths vary, makes captures between which each of them differs
    places: list[Place] = field(default_factory=list)  # where the function has found what it was not given
    seen: list[Any] = field(default_factory=list)  # the tensors and arrays that it found there
    overwrites: list[Any] = field(default_factory=list)  # values that backward reads and the function wrote over
    unhooked: list[int] = field(default_factory=list)  # slots of arguments of which the function computes gradients
    texts: dict[int, str] = field(default_factory=dict)  # by id: what captured tensors are called
    numbers: Program = field(default_factory=Program)  # what is done with numbers before the graph runs
    unused_numbers: tuple[int, ...] = ()  # slots of numbers on which nothing depends
    taken: dict[int, bool] = field(default_factory=dict)  # results that are numbers: is this one of NumPy's?
    effects: tuple[Callable[[Any], None], ...] = ()  # if any, the result is one with their values: aot/_tree/effects.py
    joined: tuple[Event, ...] = ()  # decisions of the function that are part of the graph
    events: tuple[Event, ...] = ()  # what the function was told of values; their outcomes are the first output

    def payload_of(self, position: int, values: Sequence[Any]) -> Any:
        """The payload of a result, made of the values that the graph returns; None for plain results."""
        return None if self.wrapping is None else self.wrapping.payload_of(position, values)


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
    own_names.update({**views(), "range": trace.live.counters.range} if is_taking else {})
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


class Maker:
    """Turns a trace whose function has returned into a capture."""

    def __init__(self, trace: Trace, outs: list[Any], options: Options) -> None:
        check_plain(outs)
        self.trace, self.outs, self.options = trace, outs, options
        self.infos = {id(p): input_info(trace, p, options.keep_input_mutations) for p in trace.primals}
        self._check_groups()
        self._check_flags()
        groups = {slot: number for number, group in enumerate(trace.merged) for slot in group}
        self.members = {slot: self._member_info(p, slot, groups.get(slot)) for slot, p in trace.members.items()}
        self.blank = blank = InputAliasInfo(
            is_leaf=False, requires_grad=False, keep_input_mutations=options.keep_input_mutations
        )
        self.outputs = Outputs(trace, outs)
        self.stand_ins = {id(primal.tensor) for primal in (*trace.members.values(), *trace.primals)}
        self.outcomes: Value | None = None  # what the function was told of values
        self.borrowed: list[int] = []  # outputs that are copies of values computed for somebody else
        self.returned: set[int] = set()  # values that are outputs, by id
        self.handed_out: dict[int, int] = {}  # memory that the caller will see: by root value, the storage it is for
        self.meta = ViewAndMutationMeta(
            input_info=[self.members.get(slot, blank) for slot in range(trace.num_slots)],
            output_info=self.outputs.infos,
            num_intermediate_bases=len(self.outputs.bases),
            keep_input_mutations=options.keep_input_mutations,
            traced_tangents=[], traced_tangents_descs=[], traced_tangent_metas=[],
            base_introduced_by=self.outputs.introduced_by,
            leaf_bases=[number for number, base in enumerate(self.outputs.bases) if grad_fn(base) is None],
            static_input_indices=options.static_inputs,
            alias_groups=list(trace.merged),
            captures=[primal.original for primal in trace.captured],
        )  # fmt: skip

    def _member_info(self, primal: Primal, slot: int, group: int | None) -> InputAliasInfo:
        info = self.infos.get(id(primal))
        if info is None:  # a member of a merged group: what is tracked is the history of the base
            base = next(p for p in self.trace.primals if p.storage is primal.storage)
            found = input_info(self.trace, primal, self.options.keep_input_mutations)
            if found.sets_requires_grad is not None or found.retains_grad:
                raise alias_error({slot: None}, "requires_grad_() or retain_grad() was called on it")
            info = replace(found, tracked=self.infos[id(base)].tracked, sets_requires_grad=None)
            if info.mutates_storage_metadata and info.swapped_to is None:
                raise alias_error({slot: None}, "it was given other memory, while it shares its own with others")
            if found.sets_requires_grad is not None:
                raise alias_error({slot: None}, "its requires_grad was changed, while it shares memory with others")
        first = primal.slots[0]
        return replace(info, alias_group=group, duplicate_of=None if first == slot else first)

    def _check_groups(self) -> None:
        synthetic = [p.storage for p in self.trace.primals if isinstance(p.desc, SyntheticBaseAOTInput)]
        for primal in self.trace.members.values() if synthetic else ():
            if any(primal.storage is each for each in synthetic) and requires_grad(primal.tensor):
                raise alias_error(
                    {slot: None for slot, p in self.trace.members.items() if p.storage is primal.storage},
                    "what is written requires grad, and autograd does not know that they are related",
                )

    def _check_flags(self) -> None:
        """Views of an argument change with its flag; as arguments of their own they would not."""
        bases = {slot: view_of(p.original) for slot, p in self.trace.members.items() if isinstance(p.original, Tensor)}
        for primal in self.trace.primals:
            if self.infos[id(primal)].sets_requires_grad is None or not primal.slots:
                continue
            views = [slot for slot, info in bases.items() if info is not None and info.base is primal.original]
            if views or bases.get(primal.slots[0]) is not None:
                raise AliasError(
                    f"the function changes whether {primal.desc.expr()} requires grad, which is a view or has views",
                    why="the flag of a view depends on that of its base, and they are separate arguments of a graph",
                    fix="change the flag outside of the function, or pass a .copy()",
                )

    # The graph.

    def finish(self, out_tree: Any, trials: Trials | None) -> Capture:
        """Add outputs, tangents and gradients to the graph."""
        trace, graph, meta = self.trace, self.trace.graph, self.meta
        roots = self._roots()
        finals = self._finals()
        for target, stored in self._stores():
            graph.add("store", [target, stored], {}, [])
        for value, desc in finals:
            graph.add_output(value, desc)
        is_training = bool(roots) and trials is not None
        self._let_go_of_retained()
        if roots and trials is not None:
            leaves = self._fresh_leaves()
            may_roll = trace.rolls and reroll.is_long(graph) and not leaves and trials == Trials()
            found = _later.joint_of_loops(trace, meta, roots) if may_roll else None
            if found is None:
                add_backward(trace, meta, roots, leaves, self.options.strict, trials)
            else:
                graph, self.meta = found
                trace.is_replaced = True
                meta = self.meta
            separate_from_backward(graph, self.borrowed)
        inputs = [*self._graph_inputs(), *self._number_inputs(graph, is_training)]
        if trace.has_repetitions:
            graph = graph.dce()
        return Capture(
            graph=graph, meta=meta, inputs=inputs,
            out_tree=out_tree, num_forward_outputs=len(finals), is_training=is_training, groups=trace.merged,
            members=self.members,
            inputs_read_later=self._read_later([primal.storage for primal in trace.primals]),
            inputs_read_live=frozenset(self._read_live()),
            stops=stops_of(trace) if is_training else Stops(), has_own_formulas=trace.has_own_formulas,
            outputs_read_later=self._read_later(self._kept()),
            met={desc: x for desc, x in trace.met.items() if not isinstance(desc, CapturedAOTInput)},
        )  # fmt: skip

    def _finals(self) -> list[tuple[Value | None, Any]]:
        """What the forward part returns."""
        finals: list[tuple[Value | None, Any]] = []
        if self.outcomes is not None:
            finals.append((self.outcomes, DummyAOTOutput(0)))
        for primal in self.trace.primals:
            info = self.infos[id(primal)]
            if info.is_returned:
                value = self._once(self._final(primal) if info.mutates_data else self._own(primal.tensor._data))
                finals.append((value, InputMutationAOTOutput(primal.desc)))
        for position, (out, described) in enumerate(zip(self.outs, self.meta.output_info, strict=True)):
            made: Value | None = None
            if isinstance(out, Tensor):
                made = self._own(out._data) if described.output_type in OWN else out._data.value
                self._note_borrowed(len(finals), out._data, made)
                if described.output_type in OWN and described.duplicate_of is None:
                    made = self._once(made)
            finals.append((made, PlainAOTOutput(position)))
        for base, position in zip(self.outputs.bases, self.outputs.introduced_by, strict=True):
            value = self._own(base._data)
            self._note_borrowed(len(finals), base._data, value)
            finals.append((self._once(value), IntermediateBaseAOTOutput(PlainAOTOutput(position))))
        return finals

    def _kept(self) -> Iterator[Any]:
        """The storages of what the forward part returns, in the same order."""
        if self.outcomes is not None:
            yield None
        for primal in self.trace.primals:
            if self.infos[id(primal)].is_returned:
                yield primal.tensor._data.storage
        for out in (*self.outs, *self.outputs.bases):
            yield out._data.storage if isinstance(out, Tensor) else None

    def _read_later(self, storages: Iterable[Any]) -> dict[int, int]:
        known = self.trace.read_later
        return {number: known[id(each)][1] for number, each in enumerate(storages) if id(each) in known}

    def _read_live(self) -> Iterator[int]:
        """The inputs, by number, that a formula of the user's reads in the backward pass without having saved them."""
        trace = self.trace
        for number, primal in enumerate(trace.primals if trace.has_own_formulas else ()):
            key = id(primal.storage)
            is_written = any(storage is primal.storage and not formula for storage, formula in trace.written)
            if key in trace.read_later and key not in trace.unpacked and not is_written:
                yield number

    def _once(self, value: Value) -> Value:
        """A value as an output. A second output that is the same memory is a view of it: two equal outputs of a graph
        are two arrays."""
        if id(value) in self.returned:
            index = registry["_basic_index"]
            value = self.trace.graph.add(index, [value], {"index": (Ellipsis,)}, [value.type], FORWARD).result
        self.returned.add(id(value))
        return value

    def _note_borrowed(self, index: int, payload: TracedArray, value: Value) -> None:
        """Note an output that is a copy of a value computed for somebody else, where nothing was copied so far."""
        home = self.trace.homes.get(root_of(value))
        if home is not None and home is not payload.storage:
            self.borrowed.append(index)

    def _stores(self) -> list[tuple[Value, Value]]:
        """Inputs that the graph writes, with what: where the runtime does not, or to memory that was swapped away."""
        stores: list[tuple[Value, Value]] = []
        for primal in self.trace.primals:
            info = self.infos[id(primal)]
            is_left_behind = info.mutates_storage_metadata and primal.storage.generation > 0
            if info.mutation_type is MutationType.MUTATED_IN_GRAPH or is_left_behind:
                stores.append((primal.value, self._final(primal)))
        return [(target, value) for target, value in stores if value is not target]

    def _final(self, primal: Primal) -> Value:
        """The last value of an input. It must not be read from memory that another store has changed before."""
        is_moved = self.infos[id(primal)].mutates_metadata and not self.infos[id(primal)].mutates_storage_metadata
        value = primal.tensor._data.value if is_moved else primal.storage.base
        root = root_of(value)
        return self._copied(value) if root.node is None and root is not primal.value else value

    def _copied(self, value: Value) -> Value:
        order = "C" if value.type.strides is None else "K"
        return self.trace.graph.add(registry["copy"], [value], {"order": order}, [value.type], FORWARD).result

    def _own(self, payload: TracedArray) -> Value:
        """The value of an output in memory of its own: not that of an input, a constant or an unrelated output."""
        value, storage = payload.value, payload.storage
        if storage.slot is not None:
            return value
        root = root_of(value)
        owner = self.handed_out.setdefault(id(root), id(storage))
        if root.node is not None and root.node.op != "constant" and owner == id(storage):
            return value
        # The storage gets memory of its own, and a view is taken of that.
        storage.base = self._copied(storage.base)
        storage.generation += 1
        self.handed_out[id(storage.base)] = id(storage)
        return payload.value

    def _number_inputs(self, graph: Graph, is_training: bool) -> list[GraphInput]:
        """The inputs that are computed of numbers. They have no gradient; what the backward pass needs of them is known
        only now. A graph with rolled loops is another one than that of the trace, and has them in their places."""
        host, meta = self.trace.host, self.meta
        if host is None or not host.inputs:
            return []
        if graph is self.trace.graph:
            known = {id(value) for value in (*host.inputs, *(primal.value for primal in self.trace.primals))}
            given = zip(graph.inputs, graph.input_descs, strict=True)
            self.trace.put_inputs([(value, desc) for value, desc in given if id(value) not in known])
        for position in range(len(host.inputs) if is_training else 0):
            graph.add_output(None, GradAOTOutput(NumberAOTInput(position)))
        if meta.gradient_sources:
            meta.gradient_sources = [*meta.gradient_sources, *[0] * len(host.inputs)]
        return [
            GraphInput(NumberAOTInput(position), None, None, (), self.blank, False, value.type, number=position)
            for position, value in enumerate(host.inputs)
        ]

    def _graph_inputs(self) -> list[GraphInput]:
        return [self._graph_input(primal) for primal in self.trace.primals]

    def _graph_input(self, primal: Primal) -> GraphInput:
        is_base = isinstance(primal.desc, (SyntheticBaseAOTInput, ViewBaseAOTInput))
        given = self.trace.members.items() if is_base else ()
        members = [slot for slot, member in given if member.storage is primal.storage]
        return GraphInput(
            desc=primal.desc,
            slot=primal.slots[0] if isinstance(primal.desc, PlainAOTInput) else None,
            capture=primal.original if isinstance(primal.desc, CapturedAOTInput) else None,
            members=tuple(members),
            info=self.infos[id(primal)],
            wants_grad=primal.edge[0] is not None,
            type=primal.value.type,
            steps={slot: self.trace.members[slot].payload.steps for slot in members},
        )

    # Backward.

    def _roots(self) -> Roots:
        """The tensors that gradients may arrive at, with their descriptors, in the order of the tangents."""
        roots: Roots = []
        for primal in self.trace.primals:
            if self.infos[id(primal)].tracked:
                roots.append((primal.tensor, InputMutationAOTOutput(primal.desc)))
        for position, (out, info) in enumerate(zip(self.outs, self.meta.output_info, strict=True)):
            if info.output_type in OWN and info.requires_grad_for_backward and info.duplicate_of is None:
                roots.append((out, PlainAOTOutput(position)))
        for base, position in zip(self.outputs.bases, self.outputs.introduced_by, strict=True):
            if grad_fn(base) is not None:
                roots.append((base, IntermediateBaseAOTOutput(PlainAOTOutput(position))))
        return roots

    def _fresh_leaves(self) -> list[Tensor]:
        """Leaves that were made in the function and are returned."""
        return [
            out for out, info in zip(self.outs, self.meta.output_info, strict=True)
            if isinstance(out, Tensor) and info.output_type is not OutputType.is_input and type(out._node) is Leaf
        ]  # fmt: skip

    def _let_go_of_retained(self) -> None:
        """Gradients that results retain are kept when the compiled function runs, and not in the trace."""
        for tensor in self.trace.retaining:
            node = grad_fn(tensor)
            if node is not None and node.rare is not None:
                node.rare.retained.pop(tensor._nr, None)
            if not any(tensor is out for out in self.outs) and id(tensor) not in self.stand_ins:
                raise TraceError(
                    f"retain_grad() on an intermediate {tensor._spec!r} that is not returned",
                    why="nobody can ask for its gradient after a compiled call",
                    fix="return the tensor, or remove the call",
                )
