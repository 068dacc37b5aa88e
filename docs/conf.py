"""How Sphinx makes the site: `make docs`. Nothing that a page needs comes from another host."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = html_title = "Pullback"
author = copyright = "The Pullback developers"
exclude_patterns = [
    "_build", "_site", "_ext", "jupyter_execute", "constraints.txt",
    "gallery/*.ipynb", "gallery/*.py", "gallery/*.json", "gallery/*.md5", "gallery/*.zip",
]  # fmt: skip
extensions = [
    "docs._ext.errors", "docs._ext.reference", "docs._ext.site",
    "myst_nb", "sphinx_gallery.gen_gallery", "sphinx_design", "sphinx_copybutton",
]  # fmt: skip
nitpicky = True
nitpick_ignore_regex = [("py:class", r"(?!pullback\.).*")]  # types of other libraries, and those without a page
suppress_warnings = ["ref.python"]  # an object with several names is found under each of them
default_role = "code"  # scripts of the gallery write `x` as everybody else does

html_theme = "pydata_sphinx_theme"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {page: [] for page in ("index", "reference/**", "errors/**", "genindex", "search")}
html_theme_options = {
    "logo": {"text": "Pullback"},
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "navigation_depth": 2,
    "navigation_with_keys": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "docs" / "_build" / "jupyter_cache")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # they would be loaded from elsewhere
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": "FileNameSortKey",  # which keeps families together
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "abort_on_example_error": True,
}
