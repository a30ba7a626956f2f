"""Configuration of Sphinx: `make docs`."""

from sklearn_xc import __version__

project = "sklearn-xc"
author = "The sklearn-xc developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",  # sections of the docstrings; tells apart references of the same number
    "myst_parser",  # the tables of the benchmarks are Markdown
]
exclude_patterns = ["_build", "generated"]
numpydoc_show_class_members = False  # doc/api.rst says which methods are shown
myst_heading_anchors = 3

html_theme = "alabaster"
html_theme_options = {
    "description": "scikit-learn estimators for very many classes or labels",
    "fixed_sidebar": True,
    "page_width": "1100px",
}
