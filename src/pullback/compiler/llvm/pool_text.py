"""The text of the pool: `parallel` shares a loop among threads, `worker` is what a thread does for ever.

Everybody takes ranges of `grain` units from a counter until there are none left. A thread that looks for work spins for
a while and then sleeps on a futex. Whoever asks takes part, and waits at the end only for threads that have begun, so a
thread that comes late, or does not exist any more after a fork, is not waited for. Only one loop is shared at a time;
a second caller does its work alone.

`state` counts the threads that take part, with a bit that says that nobody may join any more.
"""

from __future__ import annotations

import platform

FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call, on Linux."""
_WAIT, _WAKE = 128, 129  # within the process
_CLOSED = 1 << 62
_SPINS = 4000
_PATIENCE = 1000  # of whoever waits for others to finish, before it lets them have the processor
# Each field has a cache line of its own.
GENERATION, STATE, NEXT, JOB, BUSY, SLEEPERS, LIMIT = (64 * k for k in range(7))


def _fields(*names: str) -> str:
    places = {"generation": GENERATION, "state": STATE, "next": NEXT, "job": JOB, "busy": BUSY,
              "sleepers": SLEEPERS, "limit": LIMIT}  # fmt: skip
    return "\n".join(f"  %{name} = getelementptr i8, ptr @NAME_pool, i64 {places[name]}" for name in names)


def pool_text() -> str:
    """The functions of the pool for this processor."""
    call = FUTEX.get(platform.machine(), 0)
    pause = "call void @llvm.x86.sse2.pause()" if platform.machine() == "x86_64" else ""
    declared = "declare void @llvm.x86.sse2.pause()" if pause else ""
    return f"""
@NAME_pool = global [64 x i64] zeroinitializer, align 64
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
{declared}

define ptr @NAME_memory() {{
  ret ptr @NAME_pool
}}

define internal void @NAME_take() nounwind {{
start:
{_fields("job", "next")}
  %function = load ptr, ptr %job
  %at.args = getelementptr i8, ptr %job, i64 8
  %args = load ptr, ptr %at.args
  %at.units = getelementptr i8, ptr %job, i64 16
  %units = load i64, ptr %at.units
  %at.grain = getelementptr i8, ptr %job, i64 24
  %grain = load i64, ptr %at.grain
  br label %more
more:
  %begin = atomicrmw add ptr %next, i64 %grain acq_rel
  %is.work = icmp slt i64 %begin, %units
  br i1 %is.work, label %work, label %done
work:
  %sum = add i64 %begin, %grain
  %is.last = icmp sgt i64 %sum, %units
  %end = select i1 %is.last, i64 %units, i64 %sum
  call void %function(ptr %args, i64 %begin, i64 %end)
  br label %more
done:
  ret void
}}

define void @NAME_parallel(ptr %function, ptr %args, i64 %units, i64 %grain) nounwind {{
start:
{_fields("generation", "state", "next", "job", "busy", "sleepers", "limit")}
  %threads = load atomic i64, ptr %limit monotonic, align 8
  %is.alone = icmp slt i64 %threads, 2
  br i1 %is.alone, label %alone, label %ask
ask:
  %exchange = cmpxchg ptr %busy, i64 0, i64 1 acq_rel monotonic
  %is.mine = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %is.mine, label %share, label %alone
alone:
  call void %function(ptr %args, i64 0, i64 %units)
  ret void
share:
  store ptr %function, ptr %job
  %at.args = getelementptr i8, ptr %job, i64 8
  store ptr %args, ptr %at.args
  %at.units = getelementptr i8, ptr %job, i64 16
  store i64 %units, ptr %at.units
  %at.grain = getelementptr i8, ptr %job, i64 24
  store i64 %grain, ptr %at.grain
  store atomic i64 0, ptr %next release, align 8
  store atomic i64 0, ptr %state seq_cst, align 8
  %before = atomicrmw add ptr %generation, i32 1 seq_cst
  %asleep = load atomic i64, ptr %sleepers seq_cst, align 8
  %is.asleep = icmp ne i64 %asleep, 0
  br i1 %is.asleep, label %wake, label %begin
wake:
  %woken = call i64 (i64, ...) @syscall(i64 {call}, ptr %generation, i64 {_WAKE}, i64 1000)
  br label %begin
begin:
  call void @NAME_take()
  %open = atomicrmw or ptr %state, i64 {_CLOSED} acq_rel
  br label %wait
wait:
  %waited = phi i64 [ 0, %begin ], [ %waited.next, %wait.more ], [ %waited.next, %yield ]
  {pause}
  %waited.next = add i64 %waited, 1
  %now = load atomic i64, ptr %state acquire, align 8
  %is.over = icmp eq i64 %now, {_CLOSED}
  br i1 %is.over, label %over, label %wait.more
wait.more:
  %is.long = icmp sgt i64 %waited.next, {_PATIENCE}
  br i1 %is.long, label %yield, label %wait
yield: ; the thread that is waited for may need this processor
  %yielded = call i32 @sched_yield()
  br label %wait
over:
  store atomic i64 0, ptr %busy release, align 8
  ret void
}}

define ptr @NAME_worker(ptr %number) nounwind {{
start:
{_fields("generation", "state", "sleepers", "limit")}
  %me = ptrtoint ptr %number to i64
  %first = load atomic i32, ptr %generation seq_cst, align 4
  br label %look
look:
  %seen = phi i32 [ %first, %start ], [ %new, %after ]
  br label %spin
spin:
  %turn = phi i64 [ 0, %look ], [ %turn.next, %again ], [ 0, %awake ]
  %now = load atomic i32, ptr %generation seq_cst, align 4
  %is.new = icmp ne i32 %now, %seen
  br i1 %is.new, label %found, label %not.yet
not.yet:
  {pause}
  %turn.next = add i64 %turn, 1
  %is.patient = icmp slt i64 %turn.next, {_SPINS}
  br i1 %is.patient, label %again, label %sleep
again:
  br label %spin
sleep:
  %s1 = atomicrmw add ptr %sleepers, i64 1 seq_cst
  %seen.long = zext i32 %seen to i64
  %slept = call i64 (i64, ...) @syscall(i64 {call}, ptr %generation, i64 {_WAIT}, i64 %seen.long, ptr null)
  %s2 = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  br label %awake
awake:
  br label %spin
found:
  %new = phi i32 [ %now, %spin ]
  %threads = load atomic i64, ptr %limit monotonic, align 8
  %is.wanted = icmp slt i64 %me, %threads
  br i1 %is.wanted, label %join, label %after
join:
  %count = load atomic i64, ptr %state seq_cst, align 8
  %is.closed = icmp sge i64 %count, {_CLOSED}
  br i1 %is.closed, label %after, label %try
try:
  %count.next = add i64 %count, 1
  %exchange = cmpxchg ptr %state, i64 %count, i64 %count.next seq_cst seq_cst
  %is.in = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %is.in, label %take, label %join
take:
  call void @NAME_take()
  %left = atomicrmw sub ptr %state, i64 1 acq_rel
  br label %after
after:
  br label %look
}}
"""
