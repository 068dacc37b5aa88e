"""The text of an allocator that keeps a few large buffers for the next array, and of a function that calls another
with this allocator in force (`buffers.py`).

A buffer begins 64 bytes after the memory it lies in, which holds its capacity. Freed buffers wait in a short list, the
newest last; the oldest go when there are too many, or when they are more bytes than `limit` together. Python's lock is
held wherever NumPy allocates, so the list has a lock of its own only as a precaution: who does not get it goes without.
"""

from __future__ import annotations

from pullback.compiler.llvm.layouts import DATA

SLOTS = 64
LEAST = 1 << 16
"""Bytes below which a buffer is not kept."""
HUGE = 1 << 22
"""Bytes from which on the system is asked for large pages, as NumPy does."""
_LOCK, LIMIT, TOTAL, _COUNT, _LIST = range(5)
_MADVISE_HUGEPAGE = 14
CALLS = ("ufunc", "capsule", "set", "PyObject_Vectorcall", "Py_DecRef", "PyErr_Fetch", "PyErr_Restore")
"""What `within` finds in its table."""


def _places(*names: str) -> str:
    places = {"lock": _LOCK, "limit": LIMIT, "total": TOTAL, "count": _COUNT, "list": _LIST}
    return "\n".join(f"  %at.{name} = getelementptr i64, ptr @NAME_kept, i64 {places[name]}" for name in names)


_HEAD = f"""
@NAME_kept = global [{_LIST + SLOTS} x i64] zeroinitializer, align 64
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define ptr @NAME_memory() {{
  ret ptr @NAME_kept
}}
"""

# A buffer is taken if it is at least as large as is asked for, and at most a quarter larger.
_MALLOC = f"""
define ptr @NAME_malloc(ptr %context, i64 %size) nounwind {{
entry:
{_places("lock", "total", "count", "list")}
  %is.large = icmp uge i64 %size, {LEAST}
  br i1 %is.large, label %ask, label %new
ask:
  %exchange = cmpxchg ptr %at.lock, i64 0, i64 1 acq_rel monotonic
  %is.mine = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %is.mine, label %search, label %new
search:
  %count = load i64, ptr %at.count
  %quarter = lshr i64 %size, 2
  %most = add i64 %size, %quarter
  br label %look
look:
  %k = phi i64 [ %count, %search ], [ %k.before, %not.this ]
  %k.before = sub i64 %k, 1
  %is.some = icmp sgt i64 %k, 0
  br i1 %is.some, label %this, label %none
this:
  %at.slot = getelementptr ptr, ptr %at.list, i64 %k.before
  %buffer = load ptr, ptr %at.slot
  %capacity = load i64, ptr %buffer
  %is.enough = icmp uge i64 %capacity, %size
  %is.close = icmp ule i64 %capacity, %most
  %is.fit = and i1 %is.enough, %is.close
  br i1 %is.fit, label %take, label %not.this
not.this:
  br label %look
take:
  %behind = getelementptr ptr, ptr %at.list, i64 %k
  %left = sub i64 %count, %k
  %left.bytes = shl i64 %left, 3
  call void @llvm.memmove.p0.p0.i64(ptr %at.slot, ptr %behind, i64 %left.bytes, i1 false)
  %count.now = sub i64 %count, 1
  store i64 %count.now, ptr %at.count
  %total = load i64, ptr %at.total
  %total.now = sub i64 %total, %capacity
  store i64 %total.now, ptr %at.total
  store atomic i64 0, ptr %at.lock release, align 8
  %kept = getelementptr i8, ptr %buffer, i64 64
  ret ptr %kept
none:
  store atomic i64 0, ptr %at.lock release, align 8
  br label %new
new:
  %with.head = add i64 %size, 64
  %is.too.much = icmp ult i64 %with.head, %size
  br i1 %is.too.much, label %nothing, label %allocate
allocate:
  %made = call ptr @malloc(i64 %with.head)
  %is.nothing = icmp eq ptr %made, null
  br i1 %is.nothing, label %nothing, label %fill.head
fill.head:
  store i64 %size, ptr %made
  %is.huge = icmp uge i64 %size, {HUGE}
  br i1 %is.huge, label %advise, label %give
advise:
  %number = ptrtoint ptr %made to i64
  %up = add i64 %number, 4095
  %page = and i64 %up, -4096
  %pages = inttoptr i64 %page to ptr
  %skipped = sub i64 %page, %number
  %advised.length = sub i64 %with.head, %skipped
  %ignored = call i32 @madvise(ptr %pages, i64 %advised.length, i32 {_MADVISE_HUGEPAGE})
  br label %give
give:
  %data = getelementptr i8, ptr %made, i64 64
  ret ptr %data
nothing:
  ret ptr null
}}
"""

_FREE = f"""
define void @NAME_free(ptr %context, ptr %data, i64 %size) nounwind {{
entry:
{_places("lock", "limit", "total", "count", "list")}
  %is.nothing = icmp eq ptr %data, null
  br i1 %is.nothing, label %done, label %some
some:
  %buffer = getelementptr i8, ptr %data, i64 -64
  %capacity = load i64, ptr %buffer
  %limit = load i64, ptr %at.limit
  %is.large = icmp uge i64 %capacity, {LEAST}
  %is.bearable = icmp ule i64 %capacity, %limit
  %is.good = and i1 %is.large, %is.bearable
  br i1 %is.good, label %ask, label %let.go
ask:
  %exchange = cmpxchg ptr %at.lock, i64 0, i64 1 acq_rel monotonic
  %is.mine = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %is.mine, label %room, label %let.go
room:
  %count = load i64, ptr %at.count
  %total = load i64, ptr %at.total
  %total.now = add i64 %total, %capacity
  %is.many = icmp sge i64 %count, {SLOTS}
  %is.much = icmp ugt i64 %total.now, %limit
  %is.full = or i1 %is.many, %is.much
  %is.some = icmp sgt i64 %count, 0
  %must.go = and i1 %is.full, %is.some
  br i1 %must.go, label %drop, label %keep
drop:
  %oldest = load ptr, ptr %at.list
  %its.capacity = load i64, ptr %oldest
  %second = getelementptr ptr, ptr %at.list, i64 1
  %count.less = sub i64 %count, 1
  %bytes = shl i64 %count.less, 3
  call void @llvm.memmove.p0.p0.i64(ptr %at.list, ptr %second, i64 %bytes, i1 false)
  store i64 %count.less, ptr %at.count
  %total.less = sub i64 %total, %its.capacity
  store i64 %total.less, ptr %at.total
  call void @free(ptr %oldest)
  br label %room
keep:
  %at.slot = getelementptr ptr, ptr %at.list, i64 %count
  store ptr %buffer, ptr %at.slot
  %count.more = add i64 %count, 1
  store i64 %count.more, ptr %at.count
  store i64 %total.now, ptr %at.total
  store atomic i64 0, ptr %at.lock release, align 8
  br label %done
let.go:
  call void @free(ptr %buffer)
  br label %done
done:
  ret void
}}
"""

_OTHERS = """
define ptr @NAME_calloc(ptr %context, i64 %count, i64 %width) nounwind {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %width)
  %is.too.much = extractvalue { i64, i1 } %product, 1
  %size = extractvalue { i64, i1 } %product, 0
  br i1 %is.too.much, label %none, label %make
make:
  %made = call ptr @NAME_malloc(ptr %context, i64 %size)
  %is.nothing = icmp eq ptr %made, null
  br i1 %is.nothing, label %none, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %made, i8 0, i64 %size, i1 false)
  ret ptr %made
none:
  ret ptr null
}
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define ptr @NAME_realloc(ptr %context, ptr %data, i64 %size) nounwind {
entry:
  %is.nothing = icmp eq ptr %data, null
  br i1 %is.nothing, label %first, label %some
first:
  %made = call ptr @NAME_malloc(ptr %context, i64 %size)
  ret ptr %made
some:
  %buffer = getelementptr i8, ptr %data, i64 -64
  %capacity = load i64, ptr %buffer
  %is.enough = icmp uge i64 %capacity, %size
  br i1 %is.enough, label %same, label %larger
same:
  ret ptr %data
larger:
  %new = call ptr @NAME_malloc(ptr %context, i64 %size)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %none, label %move
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %data, i64 %capacity, i1 false)
  call void @NAME_free(ptr %context, ptr %data, i64 %capacity)
  ret ptr %new
none:
  ret ptr null
}
"""

_WITHIN = f"""
define ptr @NAME_within(ptr %self, ptr %args, i64 %count) nounwind {{
entry:
  %kind = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %at.known = getelementptr i8, ptr %self, i64 {DATA}
  %known = load ptr, ptr %at.known
{"".join(
    f"  %w.{name} = getelementptr ptr, ptr %known, i64 {place}{chr(10)}  %{name} = load ptr, ptr %w.{name}{chr(10)}"
    for place, name in enumerate(CALLS)
)}
  %before = call ptr %set(ptr %capsule)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %nothing, label %call
call:
  %result = call ptr %PyObject_Vectorcall(ptr %ufunc, ptr %args, i64 %count, ptr null)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %hold, label %restore
hold:
  call void %PyErr_Fetch(ptr %kind, ptr %value, ptr %trace)
  br label %restore
restore:
  %ours = call ptr %set(ptr %before)
  call void %Py_DecRef(ptr %before)
  %is.ours = icmp ne ptr %ours, null
  br i1 %is.ours, label %release, label %after
release:
  call void %Py_DecRef(ptr %ours)
  br label %after
after:
  br i1 %raised, label %tell, label %done
tell:
  %kind.now = load ptr, ptr %kind
  %value.now = load ptr, ptr %value
  %trace.now = load ptr, ptr %trace
  call void %PyErr_Restore(ptr %kind.now, ptr %value.now, ptr %trace.now)
  br label %done
done:
  ret ptr %result
nothing:
  ret ptr null
}}
"""

_CLEAR = f"""
define void @NAME_clear() nounwind {{
entry:
{_places("total", "count", "list")}
  br label %look
look:
  %count = load i64, ptr %at.count
  %is.some = icmp sgt i64 %count, 0
  br i1 %is.some, label %drop, label %done
drop:
  %count.less = sub i64 %count, 1
  %at.slot = getelementptr ptr, ptr %at.list, i64 %count.less
  %buffer = load ptr, ptr %at.slot
  store i64 %count.less, ptr %at.count
  call void @free(ptr %buffer)
  br label %look
done:
  store i64 0, ptr %at.total
  ret void
}}
"""

BUFFERS = [_HEAD, _MALLOC, _FREE, _OTHERS, _CLEAR, _WITHIN]
EXPORTED = ("malloc", "calloc", "realloc", "free", "clear", "memory", "within")
