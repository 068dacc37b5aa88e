"""The engine: one backward pass from start to end.

Read from top to bottom: `run_pass` prepares the pass, `_prepare` finds what has to run, `_loop` visits nodes from
the newest to the oldest, `_visit` is what happens at one node. Accumulators run as soon as their last gradient is in.

Gradients are payloads while nobody differentiates the pass itself, and Tensors with `create_graph`; the formulas
are the same. Nodes of the elementwise fast path have a formula of their own shape (`pull`), which the loop calls
directly; whatever is unusual about a node sends it through `_visit`, which alone defines what a visit means.
"""

from __future__ import annotations

import contextvars
import heapq
import sys
import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np

from pullback.core.reports import INFO, report
from pullback.core.state import change, current, next_stamp, observers, open_levels, switch
from pullback.core.threads import sums
from pullback.errors import InternalError
from pullback.payloads.devices import pending_streams, settle_streams
from pullback.tape.accumulate import AccumulateGrad, Delivery, whole_of
from pullback.tape.anomaly import check_nan, warn_about_origin
from pullback.tape.entries import LIST, ONE, OWN, SOLE, Entries, add_new, hand_on, validated
from pullback.tape.hook_calls import (
    call_user,
    run_node_post_hooks,
    run_node_pre_hooks,
    run_post_accumulate_hooks,
    run_tensor_hooks,
)
from pullback.tape.input_metadata import conform
from pullback.tape.node import FreshLeaf, Node
from pullback.tape.task import GraphTask, task_variable
from pullback.tensors.tensor import Leaf, Tensor

ndarray = np.ndarray
getrefcount = sys.getrefcount

# Nested passes use the interpreter's stack; after this many on one thread the next one gets a thread of its own.
_MOST_NESTED = 30


def _references_when_exclusive() -> int:
    for _, value in [(None, np.zeros(1))]:
        return getrefcount(value)
    raise InternalError("a list of one has an element")


# The reference count, in `visit_leaves`, of an array that nobody holds but the engine.
_EXCLUSIVE = _references_when_exclusive()


class _Native:
    """`_prepare` and `_loop` in native code, once there is some: `due` is called after so many nodes."""

    __slots__ = ("due", "left", "loop", "prepare")

    def __init__(self) -> None:
        self.prepare: Any = None
        self.loop: Any = None
        self.left = 0  # nodes
        self.due: Callable[[], None] = lambda: None


native = _Native()


def run_pass(
    roots: list[tuple[Node, int]],
    gradients: list[Any],
    keep_graph: bool,
    create_graph: bool,
    accumulate_into: set[Node] | None = None,
    targets: list[tuple[Node, int]] | None = None,
) -> list[Any]:
    """Send `gradients` from `roots` through the graph and return what arrived at `targets`.

    Without targets and `accumulate_into` every reachable leaf accumulates; with `accumulate_into` only those nodes.
    """
    task = GraphTask(roots, keep_graph, create_graph)
    if task.depth and task.depth % _MOST_NESTED == 0:
        return _on_new_thread(task, gradients, accumulate_into, targets)
    return _run(task, gradients, accumulate_into, targets)


def _run(task: GraphTask, gradients: list[Any], accumulate_into: Any, targets: Any) -> list[Any]:
    outer = task_variable.get()
    try:
        task_variable.set(task)  # inside: Ctrl-C may arrive as soon as it returns
        entries = _prepare(task, accumulate_into, targets)
        previous = change(grad=task.create_graph) if task.as_tensors and current().grad is not task.create_graph else {}
        try:
            with np.errstate(all="ignore"):
                _loop(task, gradients, entries)
            if task.delivery.sums:
                task.delivery.finish()
        except Exception:
            task.delivery.finish()  # as in torch, leaves that a pass has finished with keep their gradients
            raise
        except BaseException:
            task.delivery.take_back()
            raise
        finally:
            if previous:
                change(**previous)
        if task.callbacks:
            _run_callbacks(task)
    finally:
        task_variable.set(outer)
        if pending_streams:
            settle_streams()
    return task.captured


def _run_callbacks(task: GraphTask) -> None:
    task.current_node = None
    for callback in task.callbacks:  # the list may grow while it is read
        call_user(task.create_graph, callback)


def _on_new_thread(task: GraphTask, gradients: list[Any], accumulate_into: Any, targets: Any) -> list[Any]:
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.append((context.run(_run, task, gradients, accumulate_into, targets), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=work, name="pullback-backward")
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def _prepare(task: GraphTask, accumulate_into: set[Node] | None, targets: Any) -> Entries:
    """Decide which nodes run, and count for each node how many gradients it has to wait for."""
    entries: Entries = {}
    if targets is not None or accumulate_into is not None:
        for index, (node, number) in enumerate(targets or ()):
            task.targets.setdefault(node, []).append((number, index))
        task.captured = [None] * len(targets or ())
        if accumulate_into is None and all(type(node) is FreshLeaf and not node.next for node in task.targets):
            # A function of the arguments of a transform: all ways lead to these.
            if _count(task, entries) == len([node for node in task.targets if node in entries]):
                return entries
            entries = {}
        _restrict(task, accumulate_into or set())
    _count(task, entries)
    return entries


def _count(task: GraphTask, entries: Entries) -> int:
    """Make the entries of the nodes that run; returns how many of them have nothing behind them."""
    execute, visit = task.execute, task.visit
    if visit is None and native.prepare is not None:
        ends: int = native.prepare(tuple([root for root, _ in task.roots]), entries)
        return ends
    ends = 0
    found: list[tuple[Node | None, ...]] = [tuple([root for root, _ in task.roots])]
    for successors in found:  # the list grows while it is read
        if not any(successors):
            ends += 1
        for successor in successors:
            if successor in entries:
                entry = entries[successor]
                if entry is SOLE:
                    entries[successor] = [2, None, ONE if successor.num_outputs == 1 else LIST]  # type: ignore[union-attr]
                else:
                    entry[0] += 1
            elif successor is not None and (visit is None or successor in visit):
                entries[successor] = SOLE
                if execute is None or successor in execute:
                    found.append(successor.next)
    native.left -= len(entries)
    if native.left < 0:
        native.due()
    return ends


def _restrict(task: GraphTask, accumulate_into: set[Node]) -> None:
    """Only nodes on a path to a target run. A node that is itself the last target is visited but does not run; an
    accumulator that is asked for does."""
    wanted = accumulate_into | set(task.targets)
    # An edge leads from a newer node to an older one, so what is older than every target cannot lead to any.
    task.floor = floor = min((node.seq for node in wanted), default=0)
    found = {root for root, _ in task.roots}
    above: dict[Node, list[Node]] = {}  # the nodes whose edges lead to a node
    pending = list(found)
    for node in pending:  # the list grows while it is read
        for behind in node.next:
            if behind is not None and behind.seq >= floor:
                if behind in above:
                    above[behind].append(node)
                    continue
                above[behind] = [node]
                if behind not in found:
                    found.add(behind)
                    pending.append(behind)
    leads: set[Node] = set()  # the nodes that lead to a target through their edges
    pending = [node for node in wanted if node in above]
    for node in pending:
        for parent in above.get(node, ()):
            if parent not in leads:
                leads.add(parent)
                pending.append(parent)
    accumulators = {node for node in accumulate_into if type(node) is AccumulateGrad}
    task.execute = leads | {node for node in accumulators if node in found}
    task.visit = task.execute | {node for node in wanted if node in found}
    if len(task.roots) == 1:
        task.visit.add(task.roots[0][0])  # its gradient is given, so its hooks see it even if it leads to no target


def _loop(task: GraphTask, gradients: list[Any], entries: Entries) -> None:
    keep, create = task.keep_graph, task.as_tensors
    visit, targets = task.visit, task.targets
    modes = current()
    plain = not create and not observers and not modes.anomaly and modes.watch is None
    general = _visit if modes.watch is None else _visit_watched
    arrived: Any = gradients
    successors: tuple[Any, ...] = tuple([node for node, _ in task.roots])
    numbers: tuple[int, ...] | None = tuple([number for _, number in task.roots])
    if plain and native.loop is not None:
        # path: native pass
        native.loop(task, entries, gradients, successors, numbers, visit, targets, keep, general)
        return
    ready: list[tuple[int, int, Node, Any]] = []
    leaves: list[tuple[AccumulateGrad, Any]] = []
    find, push, add = entries.get, heapq.heappush, sums.add
    while True:
        # Hand what has arrived to the nodes behind. The first that becomes ready is kept at hand: in a chain it is
        # always the next one to run.
        node: Any = None
        position = 0
        for gradient in arrived:
            successor = successors[position]
            position += 1
            entry = find(successor)
            if entry is not SOLE:
                if entry is None:
                    continue
                if gradient is not None:
                    if entry[2] is OWN and type(gradient) is ndarray:
                        add(entry[1], gradient, entry[1])
                    elif entry[1] is None and entry[2] is ONE:
                        entry[1] = gradient
                    else:
                        add_new(entry, successor, 0 if numbers is None else numbers[position - 1], gradient, create)
                remaining = entry[0] - 1
                if remaining:
                    entry[0] = remaining
                    continue
                gradient, entry[1] = entry[1], None
            elif numbers is not None:
                gradient = at_output(successor, numbers[position - 1], gradient)
            if type(successor) is AccumulateGrad:
                leaves.append((successor, gradient))
            elif node is None:
                node, at_hand = successor, gradient
            else:
                push(ready, (-successor.seq, next_stamp(), successor, gradient))
        arrived = gradient = None
        if leaves:
            visit_leaves(task, leaves, plain, general)
            leaves.clear()
        if ready:
            if node is None:
                _, _, node, at_hand = heapq.heappop(ready)
            elif -ready[0][0] > node.seq:
                _, _, node, at_hand = heapq.heapreplace(ready, (-node.seq, next_stamp(), node, at_hand))
        elif node is None:
            return
        successors = node.next
        if (
            plain
            and node.is_fast
            and node.rare is None
            and type(at_hand) is ndarray
            and (visit is None or (node not in targets and _leads_nowhere_else(node, visit)))
        ):
            # path: compiled formula
            arrived = node.pull(at_hand, keep)
            at_hand = numbers = None
        else:
            box = [at_hand]
            at_hand = None
            if plain:
                arrived, successors, numbers = visit_one(task, entries, node, box, general)
            else:
                arrived, numbers = general(task, node, box if node.is_boxed else box.pop()), node.next_nr
            box = None  # type: ignore[assignment]  # leaves ask whether anybody holds what they are given


def visit_one(task: GraphTask, entries: Entries, node: Node, box: list[Any], general: Any) -> tuple[Any, Any, Any]:
    """A node whose compiled formula is not to be called just so, in a pass that nobody watches: what it makes of the
    gradient in the box, where that goes, and to which outputs there."""
    visit = task.visit
    if type(node) is FreshLeaf and node.rare is None and not node.next:
        # path: gradient of an argument
        for _, index in task.targets.get(node, ()):
            task.captured[index] = box[0]
        return (), (), None
    if (
        type(box[0]) is node.pulls
        and node.rare is None
        and (visit is None or (node not in task.targets and _leads_nowhere_else(node, visit)))
    ):
        # path: compiled formula on arrays of another library
        return node.pull(box.pop(), task.keep_graph), node.next, None
    is_simple = (
        (node.rare is None or not node.rare.has_hooks) and node not in task.targets and type(box[0]) is not Tensor
    )
    if (
        is_simple
        and node.has_parts
        and node.rare is None
        and type(box[0]) is ndarray
        and (visit is None or _leads_nowhere_else(node, visit))
    ):
        found = hand_on(entries, node, box[0], task.keep_graph, task.targets, task.visit)
        if found is not None:
            return found
    if node.is_boxed:
        return general(task, node, box), node.next, node.next_nr
    return (_visit_plainly if is_simple else general)(task, node, box.pop()), node.next, node.next_nr


def visit_leaves(task: GraphTask, leaves: list[tuple[AccumulateGrad, Any]], plain: bool, general: Any) -> None:
    """Let accumulators that have all their gradients run, in the order in which they became ready."""
    execute = task.execute
    for accumulator, gradient in leaves:
        if (
            plain
            and accumulator.rare is None
            and type(gradient) is ndarray
            and (execute is None or accumulator in execute)
            and accumulator.is_bare()
        ):
            is_ours = getrefcount(gradient) == _EXCLUSIVE
            if is_ours and gradient.base is not None:
                gradient = whole_of(gradient)
            meta = accumulator.variable._meta
            if meta is not None and meta.grad is not None:
                task.delivery.sums.append((accumulator, gradient))
                continue
            task.delivery.replaced.append((accumulator, None))
            if not (is_ours and accumulator.adopt(gradient)):
                accumulator.accumulate(gradient, False, is_ours)
        else:
            general(task, accumulator, gradient)


def at_output(node: Node, number: int, gradient: Any) -> Any:
    """The only gradient that comes to a node, as `_gradients_of_outputs` understands it."""
    if node.num_outputs == 1 or (number == 0 and gradient is not None):
        return gradient
    slots = [None] * node.num_outputs
    slots[number] = gradient
    return slots


def _gradients_of_outputs(node: Node, arrived: Any) -> tuple[Any, ...]:
    """What has arrived, for each output of the node; a gradient that is not in a list is that of output 0."""
    if type(arrived) is list:
        return tuple(arrived)
    return (arrived,) if node.num_outputs == 1 else (arrived, *(None,) * (node.num_outputs - 1))


def _leads_nowhere_else(node: Node, visit: set[Node]) -> bool:
    """Does this pass want the gradient of every input of the node?"""
    return all(successor is None or successor in visit for successor in node.next)


def _visit_plainly(task: GraphTask, node: Node, arrived: Any) -> tuple[Any, ...]:
    """`_visit` where nobody watches: no hooks, no capture, no anomaly mode, no graph of the pass itself."""
    if task.execute is not None and node not in task.execute:
        return (None,) * len(node.next)
    task.current_node = node
    # path: plain visit
    gradients = _gradients_of_outputs(node, arrived)
    visit = task.visit
    if visit is None:
        wanted = tuple([successor is not None for successor in node.next])
    else:
        wanted = tuple([successor is not None and successor in visit for successor in node.next])
    results = validated(node, node.evaluate(gradients, False, wanted), False, wanted)
    if node.rare is not None:  # the hook of a saved value gave the node a hook while its formula ran
        results = run_node_post_hooks(node, results, gradients, False)
    if not task.keep_graph:
        node.release()
    return results


def _visit_watched(task: GraphTask, node: Node, arrived: Any) -> tuple[Any, ...]:
    """`_visit` where somebody wants to know when it begins and ends."""
    modes = current()
    watch: Any = modes.watch
    is_plain = task.visit is None and not (task.as_tensors or observers or modes.anomaly)
    mark = watch.begin("backward", node.name())
    try:
        if is_plain and node.is_fast and node.rare is None and type(arrived) is ndarray:  # as `_loop` does
            return node.pull(arrived, task.keep_graph)
        return _visit(task, node, arrived)
    finally:
        watch.end(mark, node)


def _visit(task: GraphTask, node: Node, arrived: Any) -> tuple[Any, ...]:
    """One node: hooks of its outputs, captures, its formula, its own hooks. Returns what goes to the next nodes.

    What comes to a node that is boxed is in a list of one. It is taken out here, and given to the formula in a list.
    """
    create = task.as_tensors
    task.current_node = node
    gradients: Any = _gradients_of_outputs(node, arrived.pop() if node.is_boxed else arrived)
    if isinstance(node, AccumulateGrad) and gradients[0] is not None:
        gradients = (conform(gradients[0], node.spec.shape, node.grad_dtype_of(0)),)  # type: ignore[union-attr]
    gradients = run_tensor_hooks(node, gradients, create)
    for number, index in task.targets.get(node, ()):
        task.captured[index] = gradients[number]
    nothing = (None,) * len(node.next)
    if task.execute is not None and node not in task.execute:
        return nothing
    gradients = run_node_pre_hooks(node, gradients, create)
    if isinstance(node, AccumulateGrad):
        if not create and node.rare is None and type(gradients[0]) is ndarray and not node.is_waited_for():
            task.delivery.give(node, gradients[0], False)
        else:
            if not node.is_waited_for():
                task.delivery.note(node)
            if node.accumulate(gradients[0], create, False):
                run_post_accumulate_hooks(node, create)
        run_node_post_hooks(node, (), gradients, create)
        return nothing
    wanted = tuple(task.visits(successor) for successor in node.next)
    modes = current()
    if node.is_boxed and not (node.rare is not None and node.rare.post_hooks):
        gradients = list(gradients)
    try:
        results = node.evaluate(gradients, create, wanted)
        results = validated(node, results, create, wanted)
    except BaseException:
        if modes.anomaly:
            warn_about_origin(node)
        report(f"{node.name()} raised in a backward pass", "autograd", INFO)
        raise
    results = run_node_post_hooks(node, results, gradients, create)
    if not task.keep_graph:
        node.release()
    if modes.anomaly and modes.check_nan:
        check_nan(node, results, gradients)
    if observers:
        for observer in tuple(observers):
            observer("backward", node.name(), node.seq, threading.get_ident())
    return results


# A whole pass in one step: a single node takes the gradient of a scalar, and only leaves are behind it.
#
# That is what `loss.backward()` does if `loss` comes from a compiled function. Here is the engine's way through such a
# pass without what it needs for larger ones. Whatever is unusual is left to the engine, which alone defines what a pass
# means; a test compares the two.

def _without_warnings() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


# Where NumPy warns of nothing. A copy of it is entered in a tenth of the time of `np.errstate`, and nothing that runs
# there looks at any other variable of its context.
_QUIET = _without_warnings()

# What the gradient of a scalar begins with. Formulas may return it as it is, so it cannot be written.
_ones: dict[Any, Any] = {}


def goes_to_leaves(root: Any) -> bool:
    """Is this the result of a node whose pass may be a short one?"""
    return isinstance(root, Tensor) and isinstance(root._node, Node) and root._node.goes_to_leaves


def pass_at_once(root: Tensor, keep: bool) -> bool:
    """`root.backward()` for a result that goes to leaves; False if that is for the engine to do."""
    node = root._node
    if not _is_plain(root):
        return False
    for leaf in node.next:
        if leaf is not None and (leaf.rare is not None or not leaf.is_bare()):
            return False
    _accumulate(node.next, _pulled(root, keep))
    return True


def gradients_at_once(root: Tensor, inputs: list[Any], keep: bool) -> list[Any] | None:
    """What arrives at `inputs` in a pass from a result that goes to leaves; None if that is for the engine to do."""
    if not _is_plain(root):
        return None
    leaves = root._node.next
    places = []
    for x in inputs:
        marker = x._node if type(x) is Tensor else None
        leaf = marker.accumulator() if type(marker) is Leaf and marker.accumulator is not None else None
        if leaf not in leaves or leaf is None or leaf.rare is not None or not leaf.is_bare():
            return None
        places.append(leaves.index(leaf))
    gradients = _pulled(root, keep)
    return [gradients[place] for place in places]


def _is_plain(root: Tensor) -> bool:
    """A real number without hooks, in normal modes, and nobody who watches."""
    spec, modes = root._spec, current()
    return (
        (modes is switch.normal or modes is switch.no_grad)
        and root._node.rare is None
        and root._extra is None
        and not spec.shape
        and spec.is_real
        and not open_levels
    )


def _pulled(root: Tensor, keep: bool) -> tuple[Any, ...]:
    # path: pass at once
    dtype = root._spec.dtype
    gradients: tuple[Any, ...] = _QUIET.copy().run(root._node.pull, one(dtype), keep)
    return gradients


def one(dtype: Any) -> Any:
    """The gradient of a scalar with respect to itself, which nobody may write to."""
    found = _ones.get(dtype)
    if found is None:
        found = _ones[dtype] = np.ones((), dtype)
        found.setflags(write=False)
    return found


def _accumulate(leaves: tuple[Any, ...], gradients: Any) -> None:
    """Give each leaf its gradient, which becomes `.grad` itself if nobody else holds it."""
    position = 0
    delivery = Delivery()
    try:
        for gradient in gradients:
            leaf = leaves[position]
            position += 1
            if leaf is None or gradient is None:
                continue
            is_ours = sys.getrefcount(gradient) == _EXCLUSIVE_WHEN_POPPED
            delivery.give(leaf, gradient, is_ours)
        delivery.finish()
    except BaseException:
        delivery.take_back()
        raise


def _references_when_popped() -> int:
    for value in (np.zeros(1),):
        return sys.getrefcount(value)
    raise InternalError("a tuple of one has an element")


# The reference count, in `_accumulate`, of an array that nobody holds but the gradients.
_EXCLUSIVE_WHEN_POPPED = _references_when_popped()
