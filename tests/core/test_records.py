"""Records: dataclasses without written source."""

from __future__ import annotations

from typing import ClassVar

import pytest

from pullback.core.records import Record, field, replace


class Point(Record, frozen=True):
    x: float
    y: float = 0.0
    notes: list[str] = field(default_factory=list, compare=False, repr=False)
    kind: ClassVar[str] = "point"


class Space(Point, frozen=True):
    z: float = 1.0


class Counter(Record):
    count: int = 0

    def __post_init__(self):
        if self.count < 0:
            raise ValueError("negative")


class Single(Record, eq=False):
    value: int


def test_fields_are_given_by_position_by_name_or_not_at_all():
    assert (Point(1.0).y, Point(1.0, 2.0).y, Point(y=3.0, x=1.0).y, Point.kind) == (0.0, 2.0, 3.0, "point")
    assert Point(1.0).notes == [] and Point(1.0).notes is not Point(1.0).notes
    assert Space(1.0, z=2.0) == Space(1.0, 0.0, [], 2.0) and Space.fields == ("x", "y", "notes", "z")


@pytest.mark.parametrize(
    "args, kwargs", [((), {}), ((1,), {"w": 2}), ((1,), {"x": 2}), ((1, 2, 3, 4), {}), ((), {"w": 1})]
)
def test_what_does_not_fit_is_refused(args, kwargs):
    with pytest.raises(TypeError, match="Point has the fields x, y, notes"):
        Point(*args, **kwargs)


def test_records_are_equal_by_their_fields():
    assert Point(1.0, notes=["a"]) == Point(1.0, notes=["b"]) != Point(2.0)
    assert hash(Point(1.0)) == hash(Point(1.0)) and Point(1.0) != (1.0, 0.0)
    assert Space(1.0) != Point(1.0)
    assert Counter(1) == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))
    one = Single(1)
    assert one == one and one != Single(1) and {one: 2}[one] == 2


def test_frozen_records_are_not_changed_and_others_are():
    point, counter = Point(1.0), Counter()
    with pytest.raises(AttributeError, match="Point cannot be changed"):
        point.x = 2.0
    with pytest.raises(AttributeError, match="Point cannot be changed"):
        del point.x
    counter.count = 5
    assert counter.count == 5 and point.x == 1.0


def test_replacing_makes_another_one_and_checks_it():
    assert replace(Point(1.0, 2.0), x=3.0) == Point(3.0, 2.0)
    with pytest.raises(ValueError, match="negative"):
        replace(Counter(1), count=-1)


def test_the_text_names_the_fields():
    assert repr(Point(1.0, notes=["a"])) == "Point(x=1.0, y=0.0)" and repr(Counter(2)) == "Counter(count=2)"
