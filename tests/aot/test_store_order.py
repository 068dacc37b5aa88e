"""What a graph stores is computed before it stores anything: a copy must not read memory that was overwritten."""

from typing import Any

import pytest

import pullback as pb
from tests.conformance.aot import VARIANTS


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_an_input_is_copied_to_another_one_before_it_is_overwritten(variant: str) -> None:
    def f(source: Any, target: Any) -> Any:
        target.copy_(source)
        source.mul_(2)
        return target * 1

    source, target = pb.tensor([3.0, 4.0]), pb.tensor([1.0, 2.0])
    out = VARIANTS[variant](f)(source, target)
    assert (out.tolist(), target.tolist(), source.tolist()) == ([3.0, 4.0], [3.0, 4.0], [6.0, 8.0])
