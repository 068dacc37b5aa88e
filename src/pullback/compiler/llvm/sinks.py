"""Sinks in native code: the node behind each of several leaves, found through a weak reference, or made.

What leaves and nodes are is the caller's business, who gives the classes and has the slots that are named here. It
does what `accumulator_of` in `autograd/_accumulate.py` does, without its lock. Between the last look at a leaf and the
store of a new reference no other thread runs, since nothing there lets go of the interpreter's lock; whoever was faster
is noticed at that last look.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.compiler.llvm import jit, layouts
from pullback.compiler.llvm.entry import builtin_function
from pullback.compiler.llvm.layouts import DATA, TUPLE_ITEMS, TYPE
from pullback.compiler.llvm.slots import offset_of
from pullback.errors import InternalError

_FUNCTIONS = (
    "PyTuple_New", "PyType_GenericAlloc", "PyWeakref_NewRef", "PyObject_CallNoArgs", "PyObject_Vectorcall", "Py_IncRef",
    "Py_DecRef",
)  # fmt: skip
_OBJECTS = ("kind", "kind_of_leaf", "clock", "slow", "nothing", "none")
_OFFSETS = ("leaf", "its_spec", "reference", "variable", "spec", "next", "rare", "seq")
_FIELDS = (*_FUNCTIONS, *_OBJECTS, *_OFFSETS)


def sinks_function(
    tensor: type, leaf: type, node: type, clock: Callable[[], int], slow: Callable[..., Any]
) -> Callable[..., tuple[Any, ...]]:
    """A builtin function of tensors that are leaves, which returns their nodes. It is an error if CPython is not as
    expected. `clock` gives new nodes their numbers, and `slow` is called if a tensor turns out to be no leaf."""
    if not layouts.are_as_expected():
        raise InternalError("arrays or tuples are not as native code expects them")
    nothing = ()
    offsets = [(tensor, "_node"), (tensor, "_spec"), (leaf, "accumulator"), *(
        (node, name) for name in ("variable", "spec", "next", "rare", "seq")
    )]  # fmt: skip
    table = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    table += [*map(id, (node, leaf, clock, slow, nothing, None)), *(offset_of(*each) for each in offsets)]
    known = np.array(table, np.int64).view(_Known)
    _, (address,) = jit.load([_TEXT], {}, ("sinks",))
    function, method = builtin_function(b"sinks", address, known)
    known.holds = (tensor, leaf, node, clock, slow, nothing, method)
    return function


class _Known(np.ndarray):
    """The table, which keeps alive what it points to."""

    holds: Any = None


def _field(name: str) -> str:
    type_ = "i64" if name in _OFFSETS else "ptr"
    return f"""  %where.{name} = getelementptr i64, ptr %known, i64 {_FIELDS.index(name)}
  %{name} = load {type_}, ptr %where.{name}
"""


def _filled(slot: str, value: str) -> str:
    """Put a new reference to an object into a slot of the new node."""
    return f"""  call void %Py_IncRef(ptr {value})
  %at.{slot} = getelementptr i8, ptr %node, i64 %{slot}
  store ptr {value}, ptr %at.{slot}
"""


_TEXT = f"""
define ptr @NAME_sinks(ptr %self, ptr %args, i64 %count) nounwind {{
start:
  %at.known = getelementptr i8, ptr %self, i64 {DATA}
  %known = load ptr, ptr %at.known
{"".join(map(_field, _FIELDS))}
  %tuple = call ptr %PyTuple_New(i64 %count)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %failed, label %more

more:
  %i = phi i64 [ 0, %start ], [ %i.next, %done ]
  %is.more = icmp slt i64 %i, %count
  br i1 %is.more, label %begin, label %finished

begin:
  %at.tensor = getelementptr ptr, ptr %args, i64 %i
  %tensor = load ptr, ptr %at.tensor
  %at.leaf = getelementptr i8, ptr %tensor, i64 %leaf
  %mark = load ptr, ptr %at.leaf
  %at.reference = getelementptr i8, ptr %mark, i64 %reference
  %at.kind = getelementptr i8, ptr %mark, i64 {TYPE}
  %its.kind = load ptr, ptr %at.kind
  %is.leaf = icmp eq ptr %its.kind, %kind_of_leaf
  br i1 %is.leaf, label %look, label %other

look:
  %old = load ptr, ptr %at.reference
  call void %Py_IncRef(ptr %old)
  %is.new = icmp eq ptr %old, %none
  br i1 %is.new, label %make, label %follow

follow:
  %found = call ptr %PyObject_CallNoArgs(ptr %old)
  %not.found = icmp eq ptr %found, null
  br i1 %not.found, label %let.go, label %followed

followed:
  %is.gone = icmp eq ptr %found, %none
  br i1 %is.gone, label %gone, label %there

there:
  call void %Py_DecRef(ptr %old)
  br label %done

gone:
  call void %Py_DecRef(ptr %found)
  br label %make

make:
  %number = call ptr %PyObject_CallNoArgs(ptr %clock)
  %no.number = icmp eq ptr %number, null
  br i1 %no.number, label %let.go, label %make.node

make.node:
  %node = call ptr %PyType_GenericAlloc(ptr %kind, i64 0)
  %no.node = icmp eq ptr %node, null
  br i1 %no.node, label %drop.number, label %fill

fill:
  %at.seq = getelementptr i8, ptr %node, i64 %seq
  store ptr %number, ptr %at.seq
  %at.its.spec = getelementptr i8, ptr %tensor, i64 %its_spec
  %spec.object = load ptr, ptr %at.its.spec
{_filled("spec", "%spec.object")}{_filled("variable", "%tensor")}{_filled("next", "%nothing")}{_filled("rare", "%none")}
  %new = call ptr %PyWeakref_NewRef(ptr %node, ptr null)
  %no.new = icmp eq ptr %new, null
  br i1 %no.new, label %drop.node, label %compare

compare: ; another thread may have run since
  %now = load ptr, ptr %at.reference
  %is.same = icmp eq ptr %now, %old
  br i1 %is.same, label %publish, label %late

publish:
  store ptr %new, ptr %at.reference
  call void %Py_DecRef(ptr %old)
  call void %Py_DecRef(ptr %old)
  br label %done

late:
  call void %Py_DecRef(ptr %new)
  call void %Py_DecRef(ptr %node)
  call void %Py_DecRef(ptr %old)
  br label %look

done:
  %sink = phi ptr [ %found, %there ], [ %node, %publish ]
  %offset = shl i64 %i, 3
  %items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %at.item = getelementptr i8, ptr %items, i64 %offset
  store ptr %sink, ptr %at.item
  %i.next = add i64 %i, 1
  br label %more

finished:
  ret ptr %tuple

other:
  call void %Py_DecRef(ptr %tuple)
  %slow.result = call ptr %PyObject_Vectorcall(ptr %slow, ptr %args, i64 %count, ptr null)
  ret ptr %slow.result

drop.node:
  call void %Py_DecRef(ptr %node)
  br label %let.go

drop.number:
  call void %Py_DecRef(ptr %number)
  br label %let.go

let.go:
  call void %Py_DecRef(ptr %old)
  call void %Py_DecRef(ptr %tuple)
  br label %failed

failed:
  ret ptr null
}}
"""
