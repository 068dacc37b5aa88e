"""Every numbered case of SciPy's specification has a test, or is known to be open; the page says which."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[2] / "tools" / "scipy_cases.py"
spec = importlib.util.spec_from_file_location("scipy_cases", PATH)
scipy_cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scipy_cases)


def test_every_case_has_a_test_or_a_reason():
    known = scipy_cases.tests()
    assert set(known) | set(scipy_cases.OPEN) == set(range(1, scipy_cases.LAST + 1))
    assert not set(known) & set(scipy_cases.OPEN)


def test_the_page_is_that_of_the_tests():
    assert scipy_cases.PAGE.read_text(encoding="utf-8") == scipy_cases.page(), "run `python tools/scipy_cases.py`"
