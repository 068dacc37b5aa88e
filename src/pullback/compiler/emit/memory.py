"""Elements of references, read and written: one, a vector that lies together, or one lane after the other.

A vector of which only the first lanes count reads and writes those lanes alone. What is read with bounds is 0 outside
of them, and nothing is read there.
"""

from __future__ import annotations

from pullback.compiler.loops.kernel import Compute, Constant, Gather, Kernel, Place, Read, Reference, Write, operands_of
from pullback.compiler.loops.scalars import INSTRUCTIONS
from pullback.compiler.loops.text import Text, in_memory, in_register, vector, width_of


class MemoryWriter:
    """Writes loads and stores at the current point of the loops."""

    def __init__(self, kernel: Kernel, text: Text) -> None:
        self.kernel = kernel
        self.text = text
        self.index: dict[int, str] = {}  # of each axis; along vectors that of the first lane
        self.active: int | None = None  # how many lanes count, None: all
        self.is_inside = False  # the kernel becomes a part of a function that writes what it reads

    def _address(self, reference: Reference, lane: int = 0) -> str:
        text = self.text
        offset, total = reference.offset, None
        for axis, stride in enumerate(reference.strides):
            if not stride or (axis not in self.index):
                continue
            if axis == self.kernel.vector_axis:
                offset += lane * stride
            index = self.index[axis]
            if not index.startswith("%"):
                offset += int(index) * stride
                continue
            part = text.value(f"mul nsw i64 {index}, {stride}")
            total = part if total is None else text.value(f"add nsw i64 {total}, {part}")
        base = f"%p{reference.parameter}"
        if total is not None:
            base = text.value(f"getelementptr i8, ptr {base}, i64 {total}")
        return base if not offset else text.value(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, reference: Reference, is_written: bool) -> str:
        """The element at this point; one that is never written in the kernel may be read at any time."""
        loaded = self._loaded(reference, "" if is_written or self.is_inside else ", !invariant.load !0")
        if reference.kind != "b1":
            return loaded
        memory = vector("i8", self.text.lanes)
        return self.text.value(f"icmp ne {memory} {loaded}, {'0' if self.text.lanes == 1 else 'zeroinitializer'}")

    def _loaded(self, reference: Reference, remark: str) -> str:
        text, element, width = self.text, in_memory(reference.kind), width_of(reference.kind)
        stride = reference.strides[self.kernel.vector_axis] if text.lanes > 1 else 0
        if reference.bounds:
            return self._bounded(reference, stride)
        if stride == 0:
            scalar = text.value(f"load {element}, ptr {self._address(reference)}, align {width}{remark}")
            return self._repeated(scalar, element)
        lanes = text.lanes if self.active is None else self.active
        if stride == width:
            type_ = vector(element, lanes)
            value = text.value(f"load {type_}, ptr {self._address(reference)}, align {width}{remark}")
            return value if lanes == text.lanes else self._padded(value, element, lanes)
        value = self._ones(element)
        for lane in range(lanes):
            part = text.value(f"load {element}, ptr {self._address(reference, lane)}, align {width}{remark}")
            value = text.value(f"insertelement <{text.lanes} x {element}> {value}, {element} {part}, i32 {lane}")
        return value

    def _repeated(self, scalar: str, element: str) -> str:
        text = self.text
        if text.lanes == 1:
            return scalar
        type_ = f"<{text.lanes} x {element}>"
        first = text.value(f"insertelement {type_} poison, {element} {scalar}, i32 0")
        return text.value(f"shufflevector {type_} {first}, {type_} poison, <{text.lanes} x i32> zeroinitializer")

    def _ones(self, element: str) -> str:
        """What lanes that do not count hold: a number that no function stumbles over."""
        one = "1.0" if element in ("double", "float") else "1"
        return f"splat ({element} {one})"

    def _padded(self, value: str, element: str, lanes: int) -> str:
        text = self.text
        if lanes == 1:
            return text.value(
                f"insertelement <{text.lanes} x {element}> {self._ones(element)}, {element} {value}, i32 0"
            )
        numbers = ", ".join(f"i32 {k if k < lanes else lanes}" for k in range(text.lanes))
        type_ = f"<{lanes} x {element}>"
        return text.value(
            f"shufflevector {type_} {value}, {type_} {self._ones(element)}, <{text.lanes} x i32> <{numbers}>"
        )

    def _bounded(self, reference: Reference, stride: int) -> str:
        """Elements that are 0 outside of bounds, where there may be no memory."""
        text, element, width = self.text, in_memory(reference.kind), width_of(reference.kind)
        inside = self.inside(reference)
        lanes = text.lanes if self.active is None else self.active
        if text.lanes > 1 and stride == width and self.active is None:
            return self._whole_or_guarded(reference, inside, element, width)
        if text.lanes == 1:
            return self._guarded(inside, element, width, reference, 0)
        return self._lanes_guarded(reference, inside, element, width, lanes)

    def _lanes_guarded(self, reference: Reference, inside: str, element: str, width: int, lanes: int) -> str:
        text, value = self.text, "zeroinitializer"
        for lane in range(lanes):
            bit = text.value(f"extractelement <{text.lanes} x i1> {inside}, i32 {lane}")
            part = self._guarded(bit, element, width, reference, lane)
            value = text.value(f"insertelement <{text.lanes} x {element}> {value}, {element} {part}, i32 {lane}")
        return value

    def _whole_or_guarded(self, reference: Reference, inside: str, element: str, width: int) -> str:
        """A vector, read at once if all of its lanes are within the bounds, as nearly all are."""
        text = self.text
        type_ = f"<{text.lanes} x {element}>"
        slot, whole, parts, done = text.slot(type_), text.name("whole"), text.name("parts"), text.name("done")
        bits = text.value(f"bitcast <{text.lanes} x i1> {inside} to i{text.lanes}")
        text.line(f"br i1 {text.value(f'icmp eq i{text.lanes} {bits}, -1')}, label %{whole}, label %{parts}")
        text.label(whole)
        value = text.value(f"load {type_}, ptr {self._address(reference)}, align {width}")
        text.line(f"store {type_} {value}, ptr {slot}")
        text.line(f"br label %{done}")
        text.label(parts)
        value = self._lanes_guarded(reference, inside, element, width, text.lanes)
        text.line(f"store {type_} {value}, ptr {slot}")
        text.line(f"br label %{done}")
        text.label(done)
        return text.value(f"load {type_}, ptr {slot}")

    def _guarded(self, bit: str, element: str, width: int, reference: Reference, lane: int) -> str:
        """One element, or 0: outside of the bounds a zero on the stack is read."""
        text = self.text
        nothing = text.slot(element)
        text.line(f"store {element} {'0.0' if element in ('double', 'float') else '0'}, ptr {nothing}")
        address = text.value(f"select i1 {bit}, ptr {self._address(reference, lane)}, ptr {nothing}")
        return text.value(f"load {element}, ptr {address}, align {width}")

    def inside(self, reference: Reference) -> str:
        """Which lanes are within the bounds, and count."""
        text = self.text
        truths = "true" if text.lanes == 1 else "splat (i1 true)"
        if self.active is not None and text.lanes > 1:
            truths = "<" + ", ".join(f"i1 {'true' if k < self.active else 'false'}" for k in range(text.lanes)) + ">"
        for axis, low, high in reference.bounds:
            index = self.index[axis]
            if axis == self.kernel.vector_axis and text.lanes > 1:
                numbers = ", ".join(f"i64 {k}" for k in range(text.lanes))
                index = text.two("add", "i8", text.splat(index, "i8"), f"<{numbers}>")
                parts = [text.compare(f"icmp {c}", "i8", index, text.constant(b, "i8"))
                         for c, b in (("sge", low), ("slt", high))]  # fmt: skip
            else:
                parts = [text.splat(text.value(f"icmp {c} i64 {index}, {b}"), "b1")
                         for c, b in (("sge", low), ("slt", high))]  # fmt: skip
            for part in parts:
                truths = text.two("and", "b1", truths, part)
        return truths

    def store(self, value: str, reference: Reference) -> None:
        """Put a value into memory."""
        text, element, width = self.text, in_memory(reference.kind), width_of(reference.kind)
        if reference.kind == "b1":
            value = text.value(f"zext {text.type('b1')} {value} to {vector('i8', text.lanes)}")
        if text.lanes == 1:
            text.line(f"store {element} {value}, ptr {self._address(reference)}, align {width}")
            return
        lanes = text.lanes if self.active is None else self.active
        if reference.strides[self.kernel.vector_axis] == width:
            address = self._address(reference)
            if lanes != text.lanes:
                value = self._memory_lanes(value, element, range(lanes))
            text.line(f"store {vector(element, lanes)} {value}, ptr {address}, align {width}")
            return
        for lane in range(lanes):
            part = text.value(f"extractelement <{text.lanes} x {element}> {value}, i32 {lane}")
            text.line(f"store {element} {part}, ptr {self._address(reference, lane)}, align {width}")

    def _memory_lanes(self, value: str, element: str, chosen: range) -> str:
        lanes = self.text.lanes
        if len(chosen) == 1:
            return self.text.value(f"extractelement <{lanes} x {element}> {value}, i32 0")
        numbers = ", ".join(f"i32 {k}" for k in chosen)
        type_ = f"<{lanes} x {element}>"
        return self.text.value(f"shufflevector {type_} {value}, {type_} poison, <{len(chosen)} x i32> <{numbers}>")


# Elements at places that numbers say: loads and stores, and the check that the numbers are within bounds.
#
# Where the numbers are the same in all lanes, as for rows of a matrix, whole vectors are moved; else lane by lane, and
# in their order, since two lanes may write to the same place.

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
        if type(step) is Constant or (self.is_vector_inner and step.is_outer):
            return True  # a reduction too: where vectors lie across rows, it is another number in every lane
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
