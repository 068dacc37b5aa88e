"""LLVM itself: from text to object code, and its own linker for what `object_code` cannot link.

This is the one module that loads LLVM, and it is loaded only when something has to be compiled: what an earlier process
left on disk runs without it.
"""

from __future__ import annotations

import ctypes
import functools
import time
from typing import Any

import llvmlite.binding as llvm

from pullback.core.reports import report


@functools.cache
def _machine(effort: int = 2) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=effort, jit=True,
        codemodel="jitdefault",
    )  # fmt: skip


def processor() -> str:
    """The processor and its features, as LLVM sees them."""
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


_PASSES = (
    "always_inliner", "sroa", "instruction_combine", "new_gvn", "dead_store_elimination", "simplify_cfg",
    "aggressive_dce",
)  # fmt: skip
_QUICK_PASSES = ("sroa",)


def optimised(text: str, effort: int = 2) -> Any:
    """The module after the light passes; without effort, only variables leave memory."""
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    builder = llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    for name in _PASSES if effort else _QUICK_PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
    return module


def compiled(text: str, name: str, effort: int) -> bytes:
    """The object code of a module."""
    _machine()  # which makes the target known, and is not part of what the report tells
    began = time.perf_counter()
    module = optimised(text, effort)
    middle = time.perf_counter()
    code: bytes = _machine(effort).emit_object(module)
    passes, code_time = 1e3 * (middle - began), 1e3 * (time.perf_counter() - middle)
    report(f"module {name[:8]} effort {effort}: passes {passes:.1f} ms, code {code_time:.1f} ms")
    return code


def assembly_of(text: str) -> str:
    """The machine code of a module, for people to read."""
    _machine()
    listing: str = _machine().emit_assembly(optimised(text))
    return listing


# The linker.


@functools.cache
def _linker() -> Any:
    empty = llvm.parse_assembly("")
    empty.triple = llvm.get_process_triple()
    linker = llvm.create_mcjit_compiler(empty, _machine())
    # Threads may be in its code until the very end, so it is never taken down.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(linker))
    return linker


def link(code: bytes, symbols: dict[str, int]) -> None:
    """Add a module, which may call what `symbols` tells the addresses of."""
    for name, address in symbols.items():
        llvm.add_symbol(name, address)
    _linker().add_object_file(llvm.ObjectFileRef.from_data(code))
    _linker().finalize_object()


def address_of(function: str) -> int:
    """The address of a function of a module that was added."""
    address: int = _linker().get_function_address(function)
    return address
