"""The manual's configuration. Building it needs no network, and the pages load nothing from elsewhere."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(_DOCS))

write_all = import_module("generate").write_all

project = "polywheel"
author = "the polywheel authors"
copyright = author  # noqa: A001 - Sphinx's own name
version = release = installed_version("polywheel")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "reference/generated"]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4
# The code's docstrings put names in single backticks, as its comments do.
default_role = "literal"
smartquotes = False  # options and code keep their dashes and quotes

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"polywheel {version}"
html_favicon = "pictures/mark.svg"
html_static_path = ["static", "pictures"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options: dict[str, Any] = {
    "sidebar_hide_name": False,
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#4f46b8", "color-brand-content": "#4f46b8"},
    "dark_css_variables": {"color-brand-primary": "#a5a0f5", "color-brand-content": "#a5a0f5"},
}


def setup(app: Any) -> None:
    """Write the generated parts of the reference before Sphinx reads the pages."""
    app.connect("builder-inited", lambda _app: write_all(_DOCS / "reference" / "generated"))
    app.connect("autodoc-process-docstring", _drop_markdown_table)


def _drop_markdown_table(
    _app: Any, what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Leave a module's Markdown table out of its API entry: it has a page of its own."""
    if what == "module":
        lines[:] = [line for line in lines if not line.startswith("|")]
