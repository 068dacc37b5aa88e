"""The text of `loop`, which a ufunc of NumPy calls, and of `share`, which threads call. All native ufuncs have these.

    void loop(char **args, intptr_t *lengths, intptr_t *steps, int64_t *record)

The record says what to do: `FIELDS`, then the width in bytes of each operand and of the result. Operands that lie side
by side, and such that do not move, are cut into blocks, and the formula's own `block` computes one after the other;
threads share the blocks of long loops. Anything else is done by NumPy's own loop, if the record has one. Where there is
none, elements that do not lie side by side are gathered, block by block. An operand that does not move is spread over a
block once.

Floating point exceptions have to arrive in the thread that NumPy looks at. `HARDWARE` raises those that the processor
saw in any of the threads, `LOOKED_AT` those that `block` reports, and forgets what the processor saw. NumPy may call a
loop for one row after the other, so what earlier calls raised stays.
"""

from __future__ import annotations

import platform

BLOCK = 1024
"""Elements that are computed between two looks at what is next."""
FIELDS = ("block", "count", "least", "alone", "grain", "reports", "other", "its")
HARDWARE, LOOKED_AT = range(2)
INVALID, DIVIDE, OVERFLOW, UNDERFLOW = (1, 4, 8, 16) if platform.machine() == "x86_64" else (1, 2, 4, 8)
_ALL = INVALID | DIVIDE | OVERFLOW | UNDERFLOW
_POINTERS = ("block", "other", "its")


def _fields(*names: str) -> str:
    return "\n".join(
        f"  %w.{name} = getelementptr i64, ptr %record, i64 {FIELDS.index(name)}\n"
        f"  %{name} = load {'ptr' if name in _POINTERS else 'i64'}, ptr %w.{name}"
        for name in names
    )


def _table(*names: str) -> str:
    """What threads find: the length, the exceptions that were raised, and what `loop` was given."""
    places = {"n": 0, "raised": 1, "record": 2, "args": 3, "steps": 4}
    return "\n".join(
        f"  %t.{name} = getelementptr i64, ptr %table, i64 {places[name]}"
        + ("" if name == "raised" else f"\n  %{name} = load {'i64' if name == 'n' else 'ptr'}, ptr %t.{name}")
        for name in names
    )


_DECLARED = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @feclearexcept(i32)
declare i32 @fetestexcept(i32)
declare i32 @feraiseexcept(i32)
declare i32 @fegetenv(ptr)
declare i32 @fesetenv(ptr)
"""



def _copy_of(width: int) -> str:
    """The part of `pack` for elements of so many bytes."""
    return f"""
w{width}:
  %i{width} = phi i64 [ 0, %entry ], [ %n{width}, %w{width} ]
  %f{width} = mul i64 %i{width}, %from.step
  %s{width} = getelementptr i8, ptr %from, i64 %f{width}
  %t{width} = mul i64 %i{width}, %to.step
  %d{width} = getelementptr i8, ptr %to, i64 %t{width}
  %v{width} = load i{8 * width}, ptr %s{width}, align 1
  store i{8 * width} %v{width}, ptr %d{width}, align 1
  %n{width} = add i64 %i{width}, 1
  %c{width} = icmp slt i64 %n{width}, %count
  br i1 %c{width}, label %w{width}, label %done
"""


_WIDTHS = (1, 2, 4, 8)
_PACK = f"""
define internal void @NAME_pack(ptr %to, i64 %to.step, ptr %from, i64 %from.step, i64 %width, i64 %count) nounwind {{
entry:
  switch i64 %width, label %done [ {" ".join(f"i64 {width}, label %w{width}" for width in _WIDTHS)} ]
{"".join(map(_copy_of, _WIDTHS))}
done:
  ret void
}}
"""

# Every operand that does not lie side by side has a buffer of a block; one that does not move fills it once. `bases`
# has the first element of each operand and `moves` the bytes from one block to the next. Where all operands lie side by
# side or do not move, all blocks are computed at once.
_SHARE = f"""
define internal void @NAME_share(ptr %table, i64 %begin, i64 %end) nounwind {{
entry:
{_table("n", "raised", "record", "args", "steps")}
{_fields("block", "count", "reports")}
  %widths = getelementptr i64, ptr %record, i64 {len(FIELDS)}
  %bytes = mul i64 %count, {8 * BLOCK}
  %buffers = alloca i8, i64 %bytes, align 64
  %bases = alloca ptr, i64 %count
  %moves = alloca i64, i64 %count
  %units = alloca i64, i64 %count
  %pointers = alloca ptr, i64 %count
  %environment = alloca [64 x i8], align 16
  %is.hardware = icmp eq i64 %reports, {HARDWARE}
  br i1 %is.hardware, label %clear, label %keep
clear:
  %cleared = call i32 @feclearexcept(i32 {_ALL})
  br label %operand
keep:
  %kept = call i32 @fegetenv(ptr %environment)
  br label %operand
operand:
  %k = phi i64 [ 0, %clear ], [ 0, %keep ], [ %k.next, %placed ]
  %dense.before = phi i1 [ true, %clear ], [ true, %keep ], [ %all.dense, %placed ]
  %at.x = getelementptr ptr, ptr %args, i64 %k
  %x = load ptr, ptr %at.x
  %at.step = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %at.step
  %at.width = getelementptr i64, ptr %widths, i64 %k
  %width = load i64, ptr %at.width
  %move = mul i64 %step, {BLOCK}
  %at.base = getelementptr ptr, ptr %bases, i64 %k
  %at.move = getelementptr i64, ptr %moves, i64 %k
  store i64 %move, ptr %at.move
  store ptr %x, ptr %at.base
  %is.dense.k = icmp eq i64 %step, %width
  %has.no.step = icmp eq i64 %step, 0
  %k.next = add i64 %k, 1
  %is.no.result = icmp slt i64 %k.next, %count
  %is.still = and i1 %has.no.step, %is.no.result
  %is.simple = or i1 %is.dense.k, %is.still
  %all.dense = and i1 %dense.before, %is.simple
  %moves.k = xor i1 %is.still, true
  %unit = zext i1 %moves.k to i64
  %at.unit = getelementptr i64, ptr %units, i64 %k
  store i64 %unit, ptr %at.unit
  br i1 %is.still, label %spread, label %placed
spread:
  %offset = mul i64 %k, {8 * BLOCK}
  %buffer = getelementptr i8, ptr %buffers, i64 %offset
  store ptr %buffer, ptr %at.base
  call void @llvm.memcpy.p0.p0.i64(ptr %buffer, ptr %x, i64 %width, i1 false)
  %whole = mul i64 %width, {BLOCK}
  br label %double
double:
  %filled = phi i64 [ %width, %spread ], [ %filled.next, %double ]
  %target = getelementptr i8, ptr %buffer, i64 %filled
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %buffer, i64 %filled, i1 false)
  %filled.next = shl i64 %filled, 1
  %is.short = icmp ult i64 %filled.next, %whole
  br i1 %is.short, label %double, label %placed
placed:
  br i1 %is.no.result, label %operand, label %blocks
blocks:
  %u = phi i64 [ %begin, %placed ], [ %u.next, %computed ]
  %bits = phi i64 [ 0, %placed ], [ %bits.next, %computed ]
  %is.more = icmp slt i64 %u, %end
  br i1 %is.more, label %begin.block, label %done
begin.block:
  %start = mul i64 %u, {BLOCK}
  %left = sub i64 %n, %start
  %rest = sub i64 %end, %u
  %span = select i1 %all.dense, i64 %rest, i64 1
  %most = mul i64 %span, {BLOCK}
  %length = call i64 @llvm.umin.i64(i64 %left, i64 %most)
  br label %place
place:
  %j = phi i64 [ 0, %begin.block ], [ %j.next, %pointed ]
  %at.base.j = getelementptr ptr, ptr %bases, i64 %j
  %base = load ptr, ptr %at.base.j
  %at.move.j = getelementptr i64, ptr %moves, i64 %j
  %move.j = load i64, ptr %at.move.j
  %distance = mul i64 %u, %move.j
  %here = getelementptr i8, ptr %base, i64 %distance
  %at.pointer = getelementptr ptr, ptr %pointers, i64 %j
  store ptr %here, ptr %at.pointer
  %at.width.j = getelementptr i64, ptr %widths, i64 %j
  %width.j = load i64, ptr %at.width.j
  %dense.move = mul i64 %width.j, {BLOCK}
  %j.next = add i64 %j, 1
  %is.operand = icmp slt i64 %j.next, %count
  %is.dense = icmp eq i64 %move.j, %dense.move
  %is.fixed = icmp eq i64 %move.j, 0
  %may.rest = and i1 %is.fixed, %is.operand
  %is.ready = or i1 %is.dense, %may.rest
  br i1 %is.ready, label %pointed, label %gather
gather:
  %offset.j = mul i64 %j, {8 * BLOCK}
  %buffer.j = getelementptr i8, ptr %buffers, i64 %offset.j
  store ptr %buffer.j, ptr %at.pointer
  %step.j = sdiv i64 %move.j, {BLOCK}
  br i1 %is.operand, label %pack, label %pointed
pack:
  call void @NAME_pack(ptr %buffer.j, i64 %width.j, ptr %here, i64 %step.j, i64 %width.j, i64 %length)
  br label %pointed
pointed:
  br i1 %is.operand, label %place, label %compute
compute:
  %new = call i64 %block(ptr %pointers, ptr %units, i64 %length)
  br i1 %is.ready, label %computed, label %scatter
scatter:
  %result = load ptr, ptr %at.pointer
  %result.step = sdiv i64 %move.j, {BLOCK}
  call void @NAME_pack(ptr %here, i64 %result.step, ptr %result, i64 %width.j, i64 %width.j, i64 %length)
  br label %computed
computed:
  %bits.next = or i64 %bits, %new
  %u.next = add i64 %u, %span
  br label %blocks
done:
  br i1 %is.hardware, label %test, label %restore
test:
  %flags = call i32 @fetestexcept(i32 {_ALL})
  %flags.wide = zext i32 %flags to i64
  br label %note
restore:
  %restored = call i32 @fesetenv(ptr %environment)
  br label %note
note:
  %found = phi i64 [ %flags.wide, %test ], [ %bits, %restore ]
  %before = atomicrmw or ptr %t.raised, i64 %found monotonic
  ret void
}}
"""

_LOOP = f"""
define void @NAME_loop(ptr %args, ptr %lengths, ptr %steps, ptr %record) nounwind {{
entry:
{_fields("count", "least", "alone", "grain", "reports", "other", "its")}
  %widths = getelementptr i64, ptr %record, i64 {len(FIELDS)}
  %table = alloca [5 x i64]
  %n = load i64, ptr %lengths
  %is.large = icmp sge i64 %n, %least
  br i1 %is.large, label %check, label %elsewhere
check:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %at.step = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %at.step
  %at.width = getelementptr i64, ptr %widths, i64 %k
  %width = load i64, ptr %at.width
  %k.next = add i64 %k, 1
  %is.dense = icmp eq i64 %step, %width
  %is.still = icmp eq i64 %step, 0
  %is.operand = icmp slt i64 %k.next, %count
  %may.rest = and i1 %is.still, %is.operand
  %is.fine = or i1 %is.dense, %may.rest
  br i1 %is.fine, label %next, label %elsewhere
next:
  br i1 %is.operand, label %check, label %native
native:
  %t.n = getelementptr i64, ptr %table, i64 0
  store i64 %n, ptr %t.n
  %t.raised = getelementptr i64, ptr %table, i64 1
  store i64 0, ptr %t.raised
  %is.hardware = icmp eq i64 %reports, {HARDWARE}
  br i1 %is.hardware, label %remember, label %prepared
remember:
  %earlier = call i32 @fetestexcept(i32 {_ALL})
  %earlier.wide = zext i32 %earlier to i64
  store i64 %earlier.wide, ptr %t.raised
  br label %prepared
prepared:
  %t.record = getelementptr i64, ptr %table, i64 2
  store ptr %record, ptr %t.record
  %t.args = getelementptr i64, ptr %table, i64 3
  store ptr %args, ptr %t.args
  %t.steps = getelementptr i64, ptr %table, i64 4
  store ptr %steps, ptr %t.steps
  %sum = add i64 %n, {BLOCK - 1}
  %units = udiv i64 %sum, {BLOCK}
  %is.long = icmp sge i64 %n, %alone
  br i1 %is.long, label %together, label %by.itself
together:
  call void @pullback_parallel(ptr @NAME_share, ptr %table, i64 %units, i64 %grain)
  br label %report
by.itself:
  call void @NAME_share(ptr %table, i64 0, i64 %units)
  br label %report
report:
  %raised = load i64, ptr %t.raised
  %flags = trunc i64 %raised to i32
  %is.any = icmp ne i32 %flags, 0
  br i1 %is.any, label %raise, label %done
raise:
  %ignored = call i32 @feraiseexcept(i32 %flags)
  br label %done
elsewhere:
  %has.other = icmp ne ptr %other, null
  br i1 %has.other, label %theirs, label %native
theirs:
  call void %other(ptr %args, ptr %lengths, ptr %steps, ptr %its)
  br label %done
done:
  ret void
}}
"""


_ALONE = """
define internal void @pullback_parallel(ptr %function, ptr %args, i64 %units, i64 %grain) nounwind {
  call void %function(ptr %args, i64 0, i64 %units)
  ret void
}
"""


def glue_text(has_pool: bool) -> list[str]:
    """Both functions; without a pool, everything is done by the thread that asks."""
    parallel = "declare void @pullback_parallel(ptr, ptr, i64, i64)" if has_pool else _ALONE
    return [_DECLARED, parallel, _PACK, _SHARE, _LOOP]
