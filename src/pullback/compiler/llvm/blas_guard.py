"""BLAS told to use one thread while native code runs.

It has threads of its own. They would wait for work on the same processors as ours, and each for the other. Whoever
comes first tells it, and whoever leaves last takes that back.
"""

from __future__ import annotations

import ctypes
import functools
import os

from pullback.compiler.llvm import jit
from pullback.compiler.llvm.blas_library import GET_THREADS, SET_THREADS, addresses

ENTER, LEAVE = "pullback_blas_enter", "pullback_blas_leave"

_GUARD = f"""
@NAME_lock = global i64 0
@NAME_inside = global i64 0
@NAME_before = global i64 0
declare i32 @{GET_THREADS}()
declare void @{SET_THREADS}(i32)

define ptr @NAME_fields() {{
  ret ptr @NAME_inside
}}

define internal void @NAME_acquire() nounwind {{
start:
  br label %try
try:
  %exchange = cmpxchg ptr @NAME_lock, i64 0, i64 1 acq_rel monotonic
  %is.mine = extractvalue {{ i64, i1 }} %exchange, 1
  br i1 %is.mine, label %done, label %try
done:
  ret void
}}

define void @NAME_enter() nounwind {{
start:
  call void @NAME_acquire()
  %inside = load i64, ptr @NAME_inside
  %following = add i64 %inside, 1
  store i64 %following, ptr @NAME_inside
  %is.first = icmp eq i64 %inside, 0
  br i1 %is.first, label %first, label %done
first:
  %before = call i32 @{GET_THREADS}()
  %before.long = sext i32 %before to i64
  store i64 %before.long, ptr @NAME_before
  %is.many = icmp sgt i32 %before, 1
  br i1 %is.many, label %many, label %done
many:
  call void @{SET_THREADS}(i32 1)
  br label %done
done:
  store atomic i64 0, ptr @NAME_lock release, align 8
  ret void
}}

define void @NAME_leave() nounwind {{
start:
  call void @NAME_acquire()
  %inside = load i64, ptr @NAME_inside
  %following = sub i64 %inside, 1
  store i64 %following, ptr @NAME_inside
  %before = load i64, ptr @NAME_before
  %is.last = icmp eq i64 %following, 0
  %is.many = icmp sgt i64 %before, 1
  %is.due = and i1 %is.last, %is.many
  br i1 %is.due, label %give.back, label %done
give.back:
  %before.short = trunc i64 %before to i32
  call void @{SET_THREADS}(i32 %before.short)
  br label %done
done:
  store atomic i64 0, ptr @NAME_lock release, align 8
  ret void
}}
"""


@functools.cache
def can_guard() -> bool:
    """Can BLAS be told how many threads to use? Then native code knows the functions that do it."""
    if SET_THREADS not in addresses() or GET_THREADS not in addresses():
        return False
    _, (enter, leave) = jit.load([_GUARD], {}, ("enter", "leave"), effort=0)
    jit.define_symbol(ENTER, enter)
    jit.define_symbol(LEAVE, leave)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    return True


def _after_fork() -> None:
    """In the child nobody is inside, whatever other threads were doing."""
    _, (enter, leave, fields) = jit.load([_GUARD], {}, ("enter", "leave", "fields"), effort=0)
    del enter
    inside = ctypes.c_int64.from_address(ctypes.CFUNCTYPE(ctypes.c_void_p)(fields)())
    if inside.value:
        inside.value = 1
        ctypes.CFUNCTYPE(None)(leave)()
