"""The function of tiles: for every chunk, for every tile of it, its commands one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.compiler.items import blas
from pullback.compiler.loops.kernel import Kernel
from pullback.compiler.loops.text import in_register, width_of
from pullback.compiler.plan.commands import Call
from pullback.compiler.plan.launches import Launch
from pullback.compiler.plan.tiles import Part, Tiled


class TileText:
    """Writes one function; `kernel_name` gives the name of a kernel's function."""

    def __init__(self, tiled: Tiled, kernel_name: Callable[[Kernel], str], final: Callable[[Any], Any]) -> None:
        self.tiled = tiled
        self.kernel_name = kernel_name
        self.final = final
        self.lines: list[str] = []
        self.externals: dict[str, str] = {}
        self.names: dict[Any, str] = {}
        self._count = 0

    def function(self, name: str) -> str:
        """Its text: the table has a pointer for every buffer that is not private."""
        tiled = self.tiled
        entry, private = self._pointers()
        for buffer, offset in private.items():
            self.names[buffer] = self._private(offset, tiled.steps[buffer])
        for part in tiled.parts:
            self._part(part)
        body = "\n".join(line if line.endswith(":") else f"  {line}" for line in self.lines)
        per_chunk = -(-tiled.tiles // tiled.chunks)
        size = sum(row for row in tiled.private.values()) * tiled.tile + 64 * len(tiled.private) + 64
        return f"""define internal void @{name}(ptr %table, i64 %begin, i64 %end) nounwind {{
entry:
  %private = alloca i8, i64 {size}, align 64
{entry}
  %is.any = icmp slt i64 %begin, %end
  br i1 %is.any, label %chunk, label %done
chunk:
  %number = phi i64 [ %begin, %entry ], [ %number.next, %chunk.done ]
  %first = mul nsw i64 %number, {per_chunk}
  %first.next = add nsw i64 %first, {per_chunk}
  %is.short = icmp sgt i64 %first.next, {tiled.tiles}
  %last = select i1 %is.short, i64 {tiled.tiles}, i64 %first.next
  %is.some = icmp slt i64 %first, %last
  br i1 %is.some, label %tile, label %chunk.done
tile:
  %turn = phi i64 [ %first, %chunk ], [ %turn.next, %tile.done ]
  %row = mul nsw i64 %turn, {tiled.tile}
  %row.next = add nsw i64 %row, {tiled.tile}
  %is.end = icmp sgt i64 %row.next, {tiled.rows}
  %row.end = select i1 %is.end, i64 {tiled.rows}, i64 %row.next
  %count = sub nsw i64 %row.end, %row
{body}
  br label %tile.done
tile.done:
  %turn.next = add nsw i64 %turn, 1
  %goes.on = icmp slt i64 %turn.next, %last
  br i1 %goes.on, label %tile, label %chunk.done
chunk.done:
  %number.next = add nsw i64 %number, 1
  %is.more = icmp slt i64 %number.next, %end
  br i1 %is.more, label %chunk, label %done
done:
  ret void
}}"""

    def _pointers(self) -> tuple[str, dict[Any, int]]:
        """The lines that load the table, and where in private memory the other buffers lie."""
        lines = []
        for number, buffer in enumerate(self.tiled.buffers):
            lines.append(f"  %g{number} = getelementptr ptr, ptr %table, i64 {number}")
            lines.append(f"  %b{number} = load ptr, ptr %g{number}")
            self.names[buffer] = f"%b{number}"
        offset, private = 0, {}
        for buffer, row in self.tiled.private.items():
            private[buffer] = offset
            offset += -(-row * self.tiled.tile // 64) * 64
        return "\n".join(lines), private

    def _value(self, expression: str) -> str:
        self._count += 1
        self.lines.append(f"%v{self._count} = {expression}")
        return f"%v{self._count}"

    def _private(self, offset: int, step: int) -> str:
        """Where the first of all rows would lie, if the first row of this tile lies in private memory."""
        ahead = self._value(f"mul nsw i64 %row, {step}")
        distance = self._value(f"sub nsw i64 {offset}, {ahead}")
        return self._value(f"getelementptr i8, ptr %private, i64 {distance}")

    def _pointer(self, buffer: Any, offset: int, step: int = 0) -> str:
        pointer = self.names.get(buffer) or self.names[self.final(buffer)]
        if step:
            moved = self._value(f"mul nsw i64 %row, {step}")
            pointer = self._value(f"getelementptr i8, ptr {pointer}, i64 {moved}")
        return self._value(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def _part(self, part: Part) -> None:
        if isinstance(part.command, Call):
            self._product(part, part.command)
        elif part.is_rest:
            rest, following = (f"{word}{len(self.lines)}" for word in ("rest", "following"))
            is_last = self._value(f"icmp eq i64 %row.end, {self.tiled.rows}")
            self.lines.append(f"br i1 {is_last}, label %{rest}, label %{following}")
            self.lines.append(f"{rest}:")
            self._launch(part.command, "0", str(part.command.kernel.units))
            self.lines.append(f"br label %{following}")
            self.lines.append(f"{following}:")
        else:
            self._launch(part.command, self._unit("%row", part), self._unit("%row.end", part))

    def _unit(self, row: str, part: Part) -> str:
        assert isinstance(part.command, Launch)
        kernel = part.command.kernel
        lanes = kernel.lanes if kernel.vector_axis == 0 else 1
        index = self._value(f"mul nsw i64 {row}, {part.up}")
        if part.down * lanes == 1:
            return index
        if lanes > 1:
            index = self._value(f"add nsw i64 {index}, {lanes - 1}")
        return self._value(f"udiv i64 {index}, {part.down * lanes}")

    def _launch(self, launch: Launch, begin: str, end: str) -> None:
        pointers = [self._pointer(b, offset) for b, offset in zip(launch.buffers, launch.offsets, strict=True)]
        args = ", ".join([*(f"ptr {pointer}" for pointer in pointers), f"i64 {begin}", f"i64 {end}"])
        self.lines.append(f"call void @{self.kernel_name(launch.kernel)}({args})")

    def _product(self, part: Part, call: Call) -> None:
        product, tiled = call.product, self.tiled
        width, number = width_of(product.kind), in_register(product.kind)
        left, right = (
            self._pointer(x.root, x.offset, self._step(x.root, matrix.leading * width) if has_rows else 0)
            for x, matrix, has_rows in (
                (call.left, product.left, not part.is_flipped),
                (call.right, product.right, part.is_flipped or part.sums is not None),
            )
        )
        if part.sums is None:
            out = self._pointer(call.out, 0, self._step(call.out, product.columns * width))
            sizes = (str(product.rows), "%count") if part.is_flipped else ("%count", str(product.columns))
            leading = tiled.tile if part.is_flipped else product.columns
            line, declared = blas.write_gemm(product, left, right, out, *sizes, leading=leading)
        else:
            ahead = self._value(f"mul nsw i64 %number, {product.rows * product.columns * width}")
            out = self._value(f"getelementptr i8, ptr {self._pointer(part.sums, 0)}, i64 {ahead}")
            is_first = self._value("icmp eq i64 %turn, %first")
            before = self._value(f"select i1 {is_first}, {number} 0.0, {number} 1.0")
            sums = (str(product.rows), str(product.columns), "%count", before)
            line, declared = blas.write_gemm(product, left, right, out, *sums)
        self.lines.append(line)
        self.externals.update(declared)

    def _step(self, buffer: Any, otherwise: int) -> int:
        """How many bytes a row of a matrix is behind the one before."""
        return self.tiled.steps.get(self.final(buffer), otherwise)
