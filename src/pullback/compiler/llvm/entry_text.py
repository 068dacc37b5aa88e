"""The text of the C entry. `FIELDS` names the first numbers of its table, in which it finds everything.

A record is: address of the dtype, number of axes, flags, lengths, strides. Flags of an input are those that it must
have; those of a result say whether its strides are to be given. A stride `ANY` is not checked. `code` leads to two
numbers, the address of the code and the calls that are left until the slow way is to make better code (`machine_code`).
If there is a `wrapper`, a class, another record for every result follows: how many slots of an instance are to be
filled besides that of the array, and for each its offset and the object. Without any the result stays an array.
"""

from __future__ import annotations

from pullback.compiler.llvm.layouts import DATA, DESCR, FLAGS, NDIM, SHAPE, STRIDES, TUPLE_ITEMS, TYPE

STACK_ARENA = 1 << 15
"""Bytes of an arena that lies on the stack."""
ANY = -(1 << 63)
FIELDS = (
    "type", "new", "PyTuple_New", "PyObject_Vectorcall", "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef",
    "Py_DecRef", "PyErr_NoMemory", "PyType_GenericAlloc", "malloc", "free", "slow", "slot", "code", "wrapper", "inputs",
    "constants", "results", "arena", "stack", "releases", "array_slot", "single",
)  # fmt: skip
_NUMBERS = frozenset({"inputs", "constants", "results", "arena", "stack", "releases", "array_slot", "single"})


def _field(name: str) -> str:
    """Load a field of the table under its own name."""
    type_ = "i64" if name in _NUMBERS else "ptr"
    return f"""  %where.{name} = getelementptr i64, ptr %known, i64 {FIELDS.index(name)}
  %{name} = load {type_}, ptr %where.{name}
"""


ENTRY = f"""
define ptr @NAME_entry(ptr %self, ptr %args, i64 %count) nounwind {{
start:
  %at.known = getelementptr i8, ptr %self, i64 {DATA}
  %known = load ptr, ptr %at.known
{"".join(map(_field, FIELDS))}
  %run = load ptr, ptr %code
  %at.left = getelementptr i64, ptr %code, i64 1
  %left = load i64, ptr %at.left
  %left.next = sub i64 %left, 1
  store i64 %left.next, ptr %at.left
  %is.not.due = icmp ne i64 %left.next, 0
  %is.count = icmp eq i64 %count, %inputs
  %goes.on = and i1 %is.count, %is.not.due
  br i1 %goes.on, label %begin, label %other

begin:
  %given = add i64 %inputs, %constants
  %total = add i64 %given, %results
  %pointers = add i64 %total, 1
  %table = alloca ptr, i64 %pointers, align 16
  %first.constant = getelementptr i64, ptr %known, i64 {len(FIELDS)}
  %first.record = getelementptr i64, ptr %first.constant, i64 %constants
  %no.inputs = icmp eq i64 %inputs, 0
  br i1 %no.inputs, label %constants.start, label %input

input:
  %i = phi i64 [ 0, %begin ], [ %i.next, %input.done ]
  %record = phi ptr [ %first.record, %begin ], [ %record.next, %input.done ]
  %at.array = getelementptr ptr, ptr %args, i64 %i
  %array = load ptr, ptr %at.array
  %at.type = getelementptr i8, ptr %array, i64 {TYPE}
  %its.type = load ptr, ptr %at.type
  %is.array = icmp eq ptr %its.type, %type
  br i1 %is.array, label %look, label %other

look:
  %at.ndim = getelementptr i8, ptr %array, i64 {NDIM}
  %its.ndim = load i32, ptr %at.ndim
  %at.descr = getelementptr i8, ptr %array, i64 {DESCR}
  %its.descr = load i64, ptr %at.descr
  %at.flags = getelementptr i8, ptr %array, i64 {FLAGS}
  %its.flags = load i32, ptr %at.flags
  %want.descr = load i64, ptr %record
  %at.want.ndim = getelementptr i64, ptr %record, i64 1
  %ndim = load i64, ptr %at.want.ndim
  %ndim.short = trunc i64 %ndim to i32
  %at.want.flags = getelementptr i64, ptr %record, i64 2
  %want.flags.long = load i64, ptr %at.want.flags
  %want.flags = trunc i64 %want.flags.long to i32
  %has.flags = and i32 %its.flags, %want.flags
  %is.ndim = icmp eq i32 %its.ndim, %ndim.short
  %is.descr = icmp eq i64 %its.descr, %want.descr
  %is.flags = icmp eq i32 %has.flags, %want.flags
  %is.1 = and i1 %is.ndim, %is.descr
  %is.2 = and i1 %is.1, %is.flags
  br i1 %is.2, label %axes, label %other

axes:
  %at.shape = getelementptr i8, ptr %array, i64 {SHAPE}
  %shape = load ptr, ptr %at.shape
  %at.strides = getelementptr i8, ptr %array, i64 {STRIDES}
  %strides = load ptr, ptr %at.strides
  %want.shape = getelementptr i64, ptr %record, i64 3
  %want.strides = getelementptr i64, ptr %want.shape, i64 %ndim
  %no.axes = icmp eq i64 %ndim, 0
  br i1 %no.axes, label %input.done, label %axis

axis:
  %k = phi i64 [ 0, %axes ], [ %k.next, %axis.done ]
  %at.length = getelementptr i64, ptr %shape, i64 %k
  %length = load i64, ptr %at.length
  %at.want.length = getelementptr i64, ptr %want.shape, i64 %k
  %want.length = load i64, ptr %at.want.length
  %at.stride = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %at.stride
  %at.want.stride = getelementptr i64, ptr %want.strides, i64 %k
  %want.stride = load i64, ptr %at.want.stride
  %is.length = icmp eq i64 %length, %want.length
  %is.stride = icmp eq i64 %stride, %want.stride
  %is.any = icmp eq i64 %want.stride, {ANY}
  %is.3 = or i1 %is.stride, %is.any
  %is.4 = and i1 %is.length, %is.3
  br i1 %is.4, label %axis.done, label %other

axis.done:
  %k.next = add i64 %k, 1
  %more.axes = icmp slt i64 %k.next, %ndim
  br i1 %more.axes, label %axis, label %input.done

input.done:
  %at.data = getelementptr i8, ptr %array, i64 {DATA}
  %data = load ptr, ptr %at.data
  %at.table = getelementptr ptr, ptr %table, i64 %i
  store ptr %data, ptr %at.table
  %record.next = getelementptr i64, ptr %want.strides, i64 %ndim
  %i.next = add i64 %i, 1
  %more.inputs = icmp slt i64 %i.next, %inputs
  br i1 %more.inputs, label %input, label %constants.start

constants.start:
  %record.after = phi ptr [ %first.record, %begin ], [ %record.next, %input.done ]
  %no.constants = icmp eq i64 %constants, 0
  br i1 %no.constants, label %make, label %constant

constant:
  %c = phi i64 [ 0, %constants.start ], [ %c.next, %constant ]
  %at.constant = getelementptr ptr, ptr %first.constant, i64 %c
  %constant.data = load ptr, ptr %at.constant
  %c.place = add i64 %inputs, %c
  %at.table.c = getelementptr ptr, ptr %table, i64 %c.place
  store ptr %constant.data, ptr %at.table.c
  %c.next = add i64 %c, 1
  %more.constants = icmp slt i64 %c.next, %constants
  br i1 %more.constants, label %constant, label %make

make:
  %tuple = call ptr %PyTuple_New(i64 %results)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %failed, label %make.each

make.each:
  %no.results = icmp eq i64 %results, 0
  br i1 %no.results, label %memory, label %result

result:
  %r = phi i64 [ 0, %make.each ], [ %r.next, %result.done ]
  %what = phi ptr [ %record.after, %make.each ], [ %what.next, %result.done ]
  %descr = load ptr, ptr %what
  call void %Py_IncRef(ptr %descr)
  %at.r.ndim = getelementptr i64, ptr %what, i64 1
  %r.ndim = load i64, ptr %at.r.ndim
  %r.ndim.short = trunc i64 %r.ndim to i32
  %at.strided = getelementptr i64, ptr %what, i64 2
  %strided = load i64, ptr %at.strided
  %r.shape = getelementptr i64, ptr %what, i64 3
  %r.strides = getelementptr i64, ptr %r.shape, i64 %r.ndim
  %is.plain = icmp eq i64 %strided, 0
  %r.strides.given = select i1 %is.plain, ptr null, ptr %r.strides
  %made = call ptr %new(ptr %type, ptr %descr, i32 %r.ndim.short, ptr %r.shape, ptr %r.strides.given, ptr null,
                        i32 0, ptr null)
  %not.made = icmp eq ptr %made, null
  br i1 %not.made, label %undo, label %result.done

result.done:
  %r.offset = shl i64 %r, 3
  %items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %at.item = getelementptr i8, ptr %items, i64 %r.offset
  store ptr %made, ptr %at.item
  %at.made.data = getelementptr i8, ptr %made, i64 {DATA}
  %made.data = load ptr, ptr %at.made.data
  %r.place = add i64 %given, %r
  %at.table.r = getelementptr ptr, ptr %table, i64 %r.place
  store ptr %made.data, ptr %at.table.r
  %what.next = getelementptr i64, ptr %r.strides, i64 %r.ndim
  %r.next = add i64 %r, 1
  %more.results = icmp slt i64 %r.next, %results
  br i1 %more.results, label %result, label %memory

memory:
  %fields.first = phi ptr [ %record.after, %make.each ], [ %what.next, %result.done ]
  %on.stack = icmp eq i64 %arena, 0
  br i1 %on.stack, label %memory.stack, label %memory.kept

memory.stack:
  %stacked = alloca i8, i64 %stack, align 64
  br label %work

memory.kept:
  %kept = atomicrmw xchg ptr %slot, i64 0 acq_rel
  %is.kept = icmp ne i64 %kept, 0
  %kept.pointer = inttoptr i64 %kept to ptr
  br i1 %is.kept, label %work, label %memory.new

memory.new:
  %new.pointer = call ptr %malloc(i64 %arena)
  %is.none = icmp eq ptr %new.pointer, null
  br i1 %is.none, label %nomemory, label %work

work:
  %room = phi ptr [ %stacked, %memory.stack ], [ %kept.pointer, %memory.kept ], [ %new.pointer, %memory.new ]
  %holds.lock = icmp eq i64 %releases, 0
  br i1 %holds.lock, label %work.short, label %work.long

work.short:
  %wrong.short = call i64 %run(ptr %table, ptr %room)
  br label %work.done

work.long:
  %thread = call ptr %PyEval_SaveThread()
  %wrong.long = call i64 %run(ptr %table, ptr %room)
  call void %PyEval_RestoreThread(ptr %thread)
  br label %work.done

work.done:
  %wrong = phi i64 [ %wrong.short, %work.short ], [ %wrong.long, %work.long ]
  br i1 %on.stack, label %done, label %put.back

put.back:
  %number = ptrtoint ptr %room to i64
  %other.number = atomicrmw xchg ptr %slot, i64 %number acq_rel
  %other.room = inttoptr i64 %other.number to ptr
  call void %free(ptr %other.room)
  br label %done

done:
  %is.right = icmp eq i64 %wrong, 0
  br i1 %is.right, label %right, label %index.error

right:
  %is.bare = icmp eq ptr %wrapper, null
  %is.empty = icmp eq i64 %results, 0
  %is.ready = or i1 %is.bare, %is.empty
  br i1 %is.ready, label %finished, label %wrap

wrap:
  %w = phi i64 [ 0, %right ], [ %w.next, %wrapped ]
  %fields = phi ptr [ %fields.first, %right ], [ %fields.next, %wrapped ]
  %fill.count = load i64, ptr %fields
  %fields.start = getelementptr i64, ptr %fields, i64 1
  %fields.length = shl i64 %fill.count, 1
  %fields.next = getelementptr i64, ptr %fields.start, i64 %fields.length
  %stays = icmp eq i64 %fill.count, 0
  br i1 %stays, label %wrapped, label %wrap.make

wrap.make:
  %instance = call ptr %PyType_GenericAlloc(ptr %wrapper, i64 0)
  %no.instance = icmp eq ptr %instance, null
  br i1 %no.instance, label %undo, label %wrap.array

wrap.array: ; the reference of the tuple becomes that of the instance
  %w.offset = shl i64 %w, 3
  %w.items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %at.w = getelementptr i8, ptr %w.items, i64 %w.offset
  %w.array = load ptr, ptr %at.w
  %at.its.data = getelementptr i8, ptr %instance, i64 %array_slot
  store ptr %w.array, ptr %at.its.data
  store ptr %instance, ptr %at.w
  br label %fill

fill:
  %f = phi i64 [ 0, %wrap.array ], [ %f.next, %fill ]
  %f.place = shl i64 %f, 1
  %at.f.offset = getelementptr i64, ptr %fields.start, i64 %f.place
  %f.offset = load i64, ptr %at.f.offset
  %at.f.object = getelementptr i64, ptr %at.f.offset, i64 1
  %f.object = load ptr, ptr %at.f.object
  call void %Py_IncRef(ptr %f.object)
  %at.f = getelementptr i8, ptr %instance, i64 %f.offset
  store ptr %f.object, ptr %at.f
  %f.next = add i64 %f, 1
  %more.fields = icmp slt i64 %f.next, %fill.count
  br i1 %more.fields, label %fill, label %wrapped

wrapped:
  %w.next = add i64 %w, 1
  %more.wraps = icmp slt i64 %w.next, %results
  br i1 %more.wraps, label %wrap, label %finished

finished:
  %is.single = icmp ne i64 %single, 0
  br i1 %is.single, label %only, label %all

all:
  ret ptr %tuple

only:
  %at.only = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %only.result = load ptr, ptr %at.only
  call void %Py_IncRef(ptr %only.result)
  call void %Py_DecRef(ptr %tuple)
  ret ptr %only.result

index.error: ; the slow way finds it again and raises
  call void %Py_DecRef(ptr %tuple)
  br label %other

other:
  %slow.result = call ptr %PyObject_Vectorcall(ptr %slow, ptr %args, i64 %count, ptr null)
  ret ptr %slow.result

nomemory:
  %ignored = call ptr %PyErr_NoMemory()
  br label %undo

undo:
  call void %Py_DecRef(ptr %tuple)
  br label %failed

failed:
  ret ptr null
}}
"""
