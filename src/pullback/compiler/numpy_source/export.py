"""`export_source`: a graph, or a forward and a backward, as a file that runs with NumPy alone.

The functions are those that `compile_numpy` runs, written for NumPy of any version. Constants become expressions that
make them again to the bit; kernels that are more than one NumPy call are put in front of the functions, as source,
with everything they refer to.

Random numbers are drawn from a `generator` of the file, which `seed(number)` puts where `manual_seed` puts the default
generator of the library: then the draws are the same. A generator that the graph names itself is written down in the
state that it is in.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pullback.compiler.numpy_source.array_text import array_text
from pullback.compiler.numpy_source.extraction import Extractor
from pullback.compiler.numpy_source.function import FunctionWriter, described
from pullback.compiler.numpy_source.module import Binding, Module
from pullback.compiler.numpy_source.origins import Unexportable
from pullback.declare.op import registry
from pullback.errors import AOTError
from pullback.graph.ir import Program
from pullback.graph.literals import type_text


def export_source(graphs: Program | Sequence[Program], path: str | os.PathLike[str] | None = None) -> str:
    """The source of a module with one function for each graph; it is also written to `path`, if that is given."""
    programs = [graphs] if isinstance(graphs, Program) else list(graphs)
    module = Module()
    names = [module.name(program.name) for program in programs]
    for name, program in zip(names, programs, strict=True):
        writer = FunctionWriter(module, program, None, is_portable=True)
        text = writer.write(name, is_boxed=False)
        module.functions.append(_with_docstring(text, program))
    source = _assembled(module, programs)
    if path is not None:
        Path(path).write_text(source, encoding="utf-8")
    return source


def _with_docstring(text: str, program: Program) -> str:
    head, rest = text.split("\n", 1)
    takes = [f"{described(desc, 'x')}: {type_text(value.type)}"
             for value, desc in zip(program.inputs, program.input_descs, strict=True)]  # fmt: skip
    gives = [f"{described(desc, 'result')}: {'None' if value is None else type_text(value.type)}"
             for value, desc in zip(program.outputs, program.output_descs, strict=True)]  # fmt: skip
    lines = textwrap.wrap(f"({', '.join(takes)}) -> ({', '.join(gives)})", 112)
    summary = "\n".join(f"    {line}" for line in lines).strip().replace("\\", "")
    return f'{head}\n    """{summary}"""\n{rest}'


def _assembled(module: Module, programs: list[Program]) -> str:
    extractor = Extractor(module)
    bound = [_bound(name, binding, extractor) for name, binding in list(module.bindings.items())]
    constants = "\n".join([*extractor.constants, *(text for text in bound if text)])
    body = [*extractor.definitions, *module.functions]
    if "base64." in constants:
        extractor.imports["base64"] = None
    imports = "\n".join([*(f"import {name}" for name in sorted(extractor.imports)), "", "import numpy as np"]).strip()
    draws = any(binding.role == "generator" for binding in module.bindings.values())
    title = (
        f'"""{" and ".join(program.name for program in programs)}: written by Pullback, runs with NumPy alone.\n\n'
        "The last argument of a NumPy function is the array that its result is written to, if there is one.\n"
        + ("Random numbers are drawn from a generator of this file.\n" if draws else "")
        + f'Written with NumPy {np.__version__}; another version may round differently.\n"""'
    )
    return "\n\n\n".join(["\n\n".join(part for part in (title, imports, constants) if part), *body]) + "\n"


def _bound(name: str, binding: Binding, extractor: Extractor) -> str:
    """The line that gives a name of the functions its meaning."""
    value, role = binding
    if isinstance(value, np.dtype):
        return f"{name} = np.dtype({value.str!r})"
    if role == "array":
        return f"{name} = {array_text(value)}"
    kind, _, operator = role.partition(" ")
    if kind == "kernel" and "::" in operator:
        raise _refusal(operator, "it is a custom operator, whose kernel may be anything")
    if role == "generator":
        return _generator(name, value, extractor)
    if kind == "kernel" and operator in registry and registry[operator].family == "random":
        value = value.plain
    try:
        extractor.define(value, name, operator or name)
    except Unexportable as error:
        raise _refusal(operator or name, str(error)) from None
    return ""


_SEED = '''
def {seed}(number):
    """Begin the stream of random numbers that belongs to this seed."""
    global {generator}
    {generator} = np.random.default_rng(number)
'''


def _generator(name: str, generator: Any, extractor: Extractor) -> str:
    """The lines that make a generator: the default one, which is None, or one in the state that it is in."""
    if generator is None:
        extractor.definitions.append(_SEED.strip().format(seed=extractor.module.name("seed"), generator=name))
        return f"{name} = np.random.default_rng()"
    source = getattr(generator, "numpy", generator).bit_generator
    state = extractor.reference(dict(source.state), "state")
    made = f"{name} = np.random.Generator(np.random.{type(source).__name__}())"
    return f"{made}\n{name}.bit_generator.state = {state}"


def _refusal(operator: str, why: str) -> AOTError:
    return AOTError(
        f"{operator} can not be exported as NumPy source",
        why=why,
        fix="compute this part outside of the exported function and give it the result as an input",
    )
