"""Elements at places that numbers say: loads and stores, and the check that the numbers are within bounds.

Where the numbers are the same in all lanes, as for rows of a matrix, whole vectors are moved; else lane by lane, and in
their order, since two lanes may write to the same place.
"""

from __future__ import annotations

from pullback.compiler.llvm.kernel import Compute, Constant, Gather, Place, Read, Reduce, Reference, Write, operands_of
from pullback.compiler.llvm.memory import MemoryWriter
from pullback.compiler.llvm.scalars import INSTRUCTIONS
from pullback.compiler.llvm.text import in_memory, in_register, vector, width_of


class GatherWriter(MemoryWriter):
    """Writes loads and stores at computed places."""

    is_vector_inner = False
    _displacement: str | None = None  # bytes that are added to every address

    def _address(self, reference: Reference, lane: int = 0) -> str:
        address = super()._address(reference, lane)
        if self._displacement is None:
            return address
        return self.text.value(f"getelementptr i8, ptr {address}, i64 {self._displacement}")

    def is_uniform(self, number: int) -> bool:
        """Is a step the same in all lanes?"""
        step, axis = self.kernel.steps[number], self.kernel.vector_axis
        if type(step) in (Constant, Reduce) or (self.is_vector_inner and step.is_outer):
            return True
        if type(step) in (Read, Gather, Place) and self.kernel.references[step.reference].strides[axis]:
            return False
        if type(step) not in (Read, Gather, Place, Compute) or self._has_bounds(step):
            return False
        return all(map(self.is_uniform, operands_of(step)))

    def _has_bounds(self, step: object) -> bool:
        return type(step) is Read and bool(self.kernel.references[step.reference].bounds)

    def place(self, reference: Reference) -> str:
        """The number that a reference to nowhere is."""
        text, total = self.text, str(reference.offset)
        for axis, stride in enumerate(reference.strides):
            if stride and axis in self.index:
                part = text.value(f"mul nsw i64 {self.index[axis]}, {stride}")
                total = text.value(f"add nsw i64 {total}, {part}")
        stride = reference.strides[self.kernel.vector_axis] if text.lanes > 1 else 0
        if not stride:
            return text.splat(total, "i8")
        numbers = ", ".join(f"i64 {lane * stride}" for lane in range(text.lanes))
        return text.two("add", "i8", text.splat(total, "i8"), f"<{numbers}>")

    def gathered(self, step: Gather, indices: list[str]) -> str:
        """Elements at the places that the indices say."""
        reference = self.kernel.references[step.reference]
        moved, is_uniform = self._displaced(step.operands, step.steps, indices)
        if is_uniform:
            self._displacement = moved
            value = self.load(reference, True)
            self._displacement = None
            return value
        text, element, width = self.text, in_memory(step.kind), width_of(step.kind)
        value = self._ones(element)
        for lane in range(text.lanes if self.active is None else self.active):
            self._displacement = text.value(f"extractelement <{text.lanes} x i64> {moved}, i32 {lane}")
            part = text.value(f"load {element}, ptr {self._address(reference, lane)}, align {width}")
            value = text.value(f"insertelement <{text.lanes} x {element}> {value}, {element} {part}, i32 {lane}")
        self._displacement = None
        if step.kind != "b1":
            return value
        return text.value(f"icmp ne {vector('i8', text.lanes)} {value}, zeroinitializer")

    def _displaced(self, operands: tuple[int, ...], steps: tuple[int, ...], indices: list[str]) -> tuple[str, bool]:
        """How many bytes further the elements lie, and whether that is the same number in all lanes."""
        text = self.text
        is_uniform = text.lanes == 1 or all(map(self.is_uniform, operands))
        if is_uniform and text.lanes > 1:
            indices = [text.value(f"extractelement <{text.lanes} x i64> {x}, i32 0") for x in indices]
        before, text.lanes = text.lanes, 1 if is_uniform else text.lanes
        total = text.constant(0, "i8")
        for index, step in zip(indices, steps, strict=True):
            total = text.two("add", "i8", total, text.two("mul", "i8", index, text.constant(step, "i8")))
        text.lanes = before
        return total, is_uniform

    def scatter(self, write: Write, value: str, indices: list[str]) -> None:
        """Put values where the indices say, or add them to what is there."""
        reference = self.kernel.references[write.reference]
        moved, is_uniform = self._displaced(write.operands, write.steps, indices)
        text, kind = self.text, reference.kind
        if is_uniform and (text.lanes == 1 or reference.strides[self.kernel.vector_axis]):
            self._displacement = moved
            if write.adds:
                value = INSTRUCTIONS["add"](text, kind, self.load(reference, True), value)
            self.store(value, reference)
            self._displacement = None
            return
        element, width, lanes = in_memory(kind), width_of(kind), text.lanes
        for lane in range(lanes if self.active is None else self.active):
            self._displacement = moved
            if not is_uniform:
                self._displacement = text.value(f"extractelement <{lanes} x i64> {moved}, i32 {lane}")
            address = self._address(reference, lane)
            part = text.value(f"extractelement <{lanes} x {in_register(kind)}> {value}, i32 {lane}")
            if write.adds:
                text.lanes = 1
                there = text.value(f"load {element}, ptr {address}, align {width}")
                part = INSTRUCTIONS["add"](text, kind, there, part)
                text.lanes = lanes
            text.line(f"store {element} {part}, ptr {address}, align {width}")
        self._displacement = None

    def checked_index(self, index: str, length: int, axis: int) -> str:
        """An index counted from the front; one that is out of bounds becomes 0, and is reported."""
        text = self.text
        size, zero = text.constant(length, "i8"), text.constant(0, "i8")
        is_negative = text.compare("icmp slt", "i8", index, zero)
        index = text.select(is_negative, "i8", text.two("add", "i8", index, size), index)
        is_wrong = text.compare("icmp uge", "i8", index, size)
        if self.active is not None and text.lanes > 1:
            counting = ", ".join(f"i1 {'true' if k < self.active else 'false'}" for k in range(text.lanes))
            is_wrong = text.two("and", "b1", is_wrong, f"<{counting}>")
        is_any = is_wrong
        if text.lanes > 1:
            bits = text.value(f"bitcast <{text.lanes} x i1> {is_wrong} to i{text.lanes}")
            is_any = text.value(f"icmp ne i{text.lanes} {bits}, 0")
        wrong, right = text.name("wrong"), text.name("right")
        text.line(f"br i1 {is_any}, label %{wrong}, label %{right}")
        text.label(wrong)
        text.line(f"store atomic i64 {length << 8 | axis + 1}, ptr %p{self.kernel.status} monotonic, align 8")
        text.line(f"br label %{right}")
        text.label(right)
        return text.select(is_wrong, "i8", zero, index)
