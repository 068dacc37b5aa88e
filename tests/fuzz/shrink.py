"""A disagreeing program made small: fewer calls, statements, arguments and operations, shorter and simpler arrays."""

from __future__ import annotations

import ast
import copy
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from .program import Call, Input, Program
from .world import LENGTHS

P = TypeVar("P")


def shrink(
    program: P, smaller: Callable[[P], Iterator[P]], disagrees: Callable[[P], bool], budget: int = 400,
    seconds: float = 60.0,
) -> P:  # fmt: skip
    """A program of which no smaller one disagrees, or the best that tries and time allow."""
    end = time.monotonic() + seconds
    best, seen = program, {repr(program)}
    improved = True
    while improved:
        improved = False
        for candidate in smaller(best):
            text = repr(candidate)
            if text in seen:
                continue
            seen.add(text)
            budget -= 1
            if budget < 0 or time.monotonic() > end:
                return best
            if disagrees(candidate):
                best, improved = candidate, True
                break
    return best


def smaller(program: Program) -> Iterator[Program]:
    """Programs with something less, those that lose most first."""
    yield from with_fewer_calls(program)
    yield from with_fewer_statements(program)
    yield from without_aliases(program)
    for name, least in (("result", 1), ("setup", 0)):
        parts = getattr(program, name)
        if len(parts) > least:
            for position in reversed(range(len(parts))):
                yield program.but(**{name: without(parts, position)})
    for position, given in enumerate(program.inputs):
        if not any(given.name in names_in(text) for text in (*program.body, *program.result)):
            calls = tuple(replace(c, inputs=tuple(i for i in c.inputs if i.name != given.name)) for c in program.calls)
            yield program.but(inputs=without(program.inputs, position), calls=calls)
    if program.form != "function":
        yield program.but(form="function")
    if program.order > 1:
        yield program.but(order=program.order - 1)
    yield from with_shorter_arrays(program)
    yield from with_simpler_arrays(program)
    for name in ("body", "result"):
        parts = getattr(program, name)
        for position, text in enumerate(parts):
            for new in simpler_texts(text):
                yield program.but(**{name: (*parts[:position], new, *parts[position + 1 :])})


def without(parts: tuple[Any, ...], position: int, count: int = 1) -> tuple[Any, ...]:
    return parts[:position] + parts[position + count :]


def names_in(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def without_unused(program: Program) -> Program:
    """The program without statements that make what nobody uses."""
    needed = set().union(set(), *map(names_in, program.result))
    kept: list[str] = []
    for text in reversed(program.body):
        made = made_by(text) or written_by(text)
        if not made or made & needed:
            needed |= names_in(text)
            kept.append(text)
    return program.but(body=tuple(reversed(kept)))


def written_by(text: str) -> set[str]:
    """The variable that a statement writes to, or only names."""
    match = re.fullmatch(r"(t\d+)(\[.*\] \S?=.*|\.\w+_\(.*\))?", text, re.DOTALL)
    return {match[1]} if match else set()


def with_other_writes(program: Program) -> Iterator[Program]:
    """Programs in which one write fills the whole tensor with a number. If that is not seen, nobody reads it."""
    for position, text in enumerate(program.body):
        match = re.match(r"(\w+)(\[.*\] \S?=|\.\w+_\()", text)
        if match and match[1] not in ("np", "pb"):
            filled = f"{match[1]}.detach().fill_(3)"
            yield program.but(body=(*program.body[:position], filled, *program.body[position + 1 :]))


def made_by(text: str) -> set[str]:
    tree = ast.parse(text)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}


# Calls ----------------------------------------------------------------------------------------------------------------


def with_fewer_calls(program: Program) -> Iterator[Program]:
    calls = program.calls
    if len(calls) > 1:
        for position in reversed(range(len(calls))):
            yield program.but(calls=without(calls, position))
        last = program.arguments(calls[-1])
        yield program.but(inputs=tuple(last), calls=(replace(calls[-1], inputs=()),))
    for position, call in enumerate(calls):
        simpler = [replace(call, before=without(call.before, k)) for k in range(len(call.before))]
        simpler += [replace(call, inputs=without(call.inputs, k)) for k in range(len(call.inputs))]
        simpler += [replace(call, **{field: getattr(Call(), field)}) for field in ("mode", "in_thread", "threads")]
        for other in simpler:
            if other != call:
                yield program.but(calls=(*calls[:position], other, *calls[position + 1 :]))


# Statements -----------------------------------------------------------------------------------------------------------


def with_fewer_statements(program: Program) -> Iterator[Program]:
    body = program.body
    size = len(body) // 2
    while size:
        for start in range(0, len(body), size):
            yield closed(program.but(body=without(body, start, size)), without=body[start : start + size])
        size //= 2


def closed(program: Program, without: tuple[str, ...]) -> Program:
    """The program without those statements and results that use what is not made any more."""
    gone = set().union(*map(made_by, without)) if without else set()
    gone -= {each.name for each in program.inputs}
    kept: list[str] = []
    for text in program.body:
        made = made_by(text)
        if (names_in(text) - made) & gone:
            gone |= made - set().union(set(), *map(made_by, kept))
            continue
        gone -= made
        kept.append(text)
    result = tuple(text for text in program.result if not names_in(text) & gone)
    if not result:
        names = [name for text in kept for name in sorted(made_by(text)) if name.startswith("t")]
        result = tuple(names[-1:]) or tuple(each.name for each in program.inputs[:1])
    return program.but(body=tuple(kept), result=result)


def without_aliases(program: Program) -> Iterator[Program]:
    """A statement that only gives another name, gone, with the first name in all that follow."""
    for position, text in enumerate(program.body):
        match = re.fullmatch(r"(t\d+) = ([a-z]\w*)", text)
        if match:
            rename = lambda line, m=match: re.sub(rf"\b{m[1]}\b", m[2], line)
            later = tuple(map(rename, program.body[position + 1 :]))
            yield program.but(body=(*program.body[:position], *later), result=tuple(map(rename, program.result)))


def simpler_texts(text: str) -> Iterator[str]:
    """The statement without a part: without a line inside of it, with an expression in place of one around it."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        for field in ("body", "orelse"):
            inside = getattr(node, field, None)
            if isinstance(inside, list) and not isinstance(node, ast.Module):
                for position in range(len(inside)):
                    if len(inside) > 1:
                        yield changed(tree, number, lambda n, f=field, k=position: getattr(n, f).pop(k))
    if len(tree.body) == 1 and isinstance(tree.body[0], (ast.For, ast.With)):
        yield "\n".join(map(ast.unparse, tree.body[0].body))
    for number, node in enumerate(nodes):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and is_value(value):
                for inner in ast.iter_child_nodes(value):
                    if isinstance(inner, ast.expr) and is_value(inner, also_names=True) and not names_module(inner):
                        yield changed(tree, number, lambda n, f=field, e=inner: setattr(n, f, e))
            elif isinstance(value, list):
                for position, item in enumerate(value):
                    if isinstance(item, ast.keyword):
                        yield changed(tree, number, lambda n, f=field, k=position: getattr(n, f).pop(k))
                    elif isinstance(item, ast.expr) and is_value(item):
                        for inner in ast.iter_child_nodes(item):
                            if isinstance(inner, ast.expr) and is_value(inner, True) and not names_module(inner):
                                yield changed(
                                    tree,
                                    number,
                                    lambda n, f=field, k=position, e=inner: getattr(n, f).__setitem__(k, e),
                                )


def is_value(node: ast.AST, also_names: bool = False) -> bool:
    kinds: tuple[type, ...] = (ast.Call, ast.BinOp, ast.Subscript, ast.UnaryOp, ast.Attribute, ast.Compare)
    return isinstance(node, (*kinds, ast.Name) if also_names else kinds) and isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    )


def names_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "pb")


def changed(tree: ast.Module, number: int, change: Callable[[Any], Any]) -> str:
    other = copy.deepcopy(tree)
    change(list(ast.walk(other))[number])
    return ast.unparse(other)


# Arrays ---------------------------------------------------------------------------------------------------------------


def all_inputs(program: Program) -> list[Input]:
    return [*program.inputs, *(each for call in program.calls for each in call.inputs)]


def with_inputs(program: Program, change: Callable[[Input], Input]) -> Program:
    calls = tuple(replace(call, inputs=tuple(map(change, call.inputs))) for call in program.calls)
    return program.but(inputs=tuple(map(change, program.inputs)), calls=calls)


def with_shorter_arrays(program: Program) -> Iterator[Program]:
    lengths = sorted({n for each in all_inputs(program) for n in each.shape}, reverse=True)
    for length in lengths:
        for other in [n for n in LENGTHS if 0 < n < length]:
            yield with_inputs(
                program, lambda i, a=length, b=other: replace(i, shape=tuple(b if n == a else n for n in i.shape))
            )
    for position, given in enumerate(program.inputs):
        for axis in range(len(given.shape)):
            yield one_input(program, position, shape=without(given.shape, axis))


def one_input(program: Program, position: int, **changes: Any) -> Program:
    other = replace(program.inputs[position], **changes)
    return program.but(inputs=(*program.inputs[:position], other, *program.inputs[position + 1 :]))


def with_simpler_arrays(program: Program) -> Iterator[Program]:
    plain = Input("", ())
    for field in ("layout", "values", "dtype"):
        yield with_inputs(program, lambda i, f=field: replace(i, **{f: getattr(plain, f)}))
    for position, given in enumerate(program.inputs):
        for field in ("layout", "values", "dtype", "kind"):
            if getattr(given, field) != getattr(plain, field):
                yield one_input(program, position, **{field: getattr(plain, field)})
