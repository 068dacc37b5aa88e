"""The pages of the subpackages say what the registry says."""

import importlib.util
from pathlib import Path

import pytest
import scipy

PATH = Path(__file__).parents[2] / "tools" / "scipy_pages.py"
spec = importlib.util.spec_from_file_location("scipy_pages", PATH)
scipy_pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scipy_pages)


@pytest.mark.skipif(not scipy.__version__.startswith("1.17."), reason="the pages list the names of SciPy 1.17")
@pytest.mark.parametrize("name", scipy_pages.SUBPACKAGES)
def test_the_table_of_a_page_is_that_of_the_registry(name):
    text = (scipy_pages.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text == scipy_pages.page(name), "run `python tools/scipy_pages.py`"
