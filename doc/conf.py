"""Configuration of Sphinx: `make docs`. The site needs no network, neither to build nor to read."""

import importlib
import inspect
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes

from sklearn_xc._version import HOME, __version__

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
MEASUREMENTS = HERE / "development" / "measurements"
INCLUDED = ("development/whats_new", "development/security")  # files of the repository's root
sys.path[:0] = [str(EXAMPLES), str(HERE)]  # _gallery; extensions of these pages

from _gallery import FOLDERS, GROUPS  # noqa: E402

project = "sklearn-xc"
author = "The sklearn-xc developers"
copyright = f"2026, {author}"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",  # there is no public repository yet: the source is shown here
    "numpydoc",  # sections of the docstrings; tells apart references of the same number
    "myst_parser",  # the tables of the benchmarks are Markdown
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "redirects",
    "figures",
    "parameters",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "_ten_lines.rst", "_good_at.rst"]
exclude_patterns += ["**sg_execution_times.rst"]  # fetches scripts from elsewhere
nitpicky = True
toc_object_entries_show_parents = "hide"
myst_heading_anchors = 3

# ------------------------------------------------------------------------------------------- API


MODULES = ["", ".metrics", ".datasets", ".mips", ".inspection", ".model_selection"]


def own_members(owner):
    """Public methods and properties of a class that this package defines, with their directive."""
    for name in dir(owner):
        value = inspect.getattr_static(owner, name)
        is_property = isinstance(value, property)
        function = value.fget if is_property else getattr(owner, name)
        ours = (getattr(function, "__module__", None) or "").startswith("sklearn_xc")
        if ours and not name.startswith("_") and callable(function) and function.__doc__:
            yield "autoproperty" if is_property else "automethod", name


def members_of_classes():
    """Full name of each public class -> its members, for the template of their pages."""
    for module in (importlib.import_module(f"sklearn_xc{name}") for name in MODULES):
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)):
                yield f"{module.__name__}.{name}", list(own_members(getattr(module, name)))


autosummary_context = {"own_members": dict(members_of_classes())}
autosummary_generate = True
numpydoc_show_class_members = False  # the template lists them
autodoc_typehints = "none"  # numpydoc says the types, in words
autodoc_default_options = {"member-order": "groupwise"}

# --------------------------------------------------------------------------------------- gallery

# Without a title, underlined, a file is no page.
untitled = [path.stem for path in EXAMPLES.rglob("*.py") if "\n====" not in path.read_text()[:300]]
pages = [f"{folder}/{name}" for folder in FOLDERS for name in ["index", *GROUPS[folder]]]

sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"[/\\](?!programs)\w+[/\\]\w+\.py$",  # what is run
    "ignore_pattern": rf"^({'|'.join(untitled)})\.py$",
    "subsection_order": [f"../examples/{folder}" for folder in FOLDERS],
    "doc_module": ("sklearn_xc",),
    "backreferences_dir": "api/backreferences",
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "parallel": True,  # as many examples at a time as sphinx-build has jobs
    "show_memory": False,
    "show_signature": False,
    "image_srcset": ["2x"],
    "within_subsection_order": "_gallery.Order",
    "reset_modules": ("matplotlib", "_gallery.use_style"),
    "default_thumb_file": str(HERE / "_static" / "logo.svg"),
    "capture_repr": (),
}

# ------------------------------------------------------------------------------------------ HTML

mathjax_files = Path(find_spec("sphinx-mathjax-offline").submodule_search_locations[0])
mathjax_script = mathjax_files / "static" / "mathjax" / "tex-svg-full.js"  # needs no fonts
mathjax_path = mathjax_script.name
# Without the menu, parts of which are loaded when it is opened.
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"scale": 0.95}}

html_theme = "pydata_sphinx_theme"
html_title = "sklearn-xc"
html_static_path = ["_static", str(mathjax_script)]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "scorer.js")
html_favicon = "_static/logo.svg"
html_show_sphinx = False
html_sidebars = {page: [] for page in ["index", "start/install", *INCLUDED]}
html_theme_options = {
    "logo": {
        "text": "sklearn-xc",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "sklearn-xc",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": {
        "**": ["page-toc", "edit-this-page", "sourcelink"],
        "index": [],
        "development/security": [],
        # room for wide tables and for code
        **{f"development/measurements/{page.stem}": [] for page in MEASUREMENTS.glob("*.md")},
        **{f"auto_examples/{name}": [] for name in ["index", *pages]},
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

placeholder = HOME.startswith("https://example.")
html_theme_options["icon_links"] = [
    {"name": "Repository", "url": HOME, "icon": "fa-brands fa-git-alt"},
]
source = f"`source <{HOME}>`__ · `issue tracker <{HOME}/issues>`__"
if placeholder:  # nothing is there to be edited
    source += " (placeholder addresses, until the repository is public)"
else:
    html_theme_options["use_edit_page_button"] = True
    html_context = {
        "edit_page_url_template": HOME + "/edit/main/doc/{{ file_name }}",
        "edit_page_provider_name": HOME.partition("://")[2].partition("/")[0],
    }
rst_prolog = f".. |source| replace:: {source}\n"


def no_edit_link_of_what_is_made(app, pagename, templatename, context, doctree):
    """Pages of the gallery and of the API have no file of their own in the repository."""
    if pagename.startswith(("auto_examples/", "api/generated/", "_modules/", *INCLUDED)):
        context["theme_use_edit_page_button"] = False


# ------------------------------------------------------------- links to other packages' objects

SITES = {
    "joblib": "https://joblib.readthedocs.io/en/stable/generated/{}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{}.html",
}


def link_elsewhere(app, env, node, contnode):
    """A link by the pattern of that site; intersphinx would fetch an inventory at each build."""
    target = node.get("reftarget", "")
    site = SITES.get(target.partition(".")[0])
    if node.get("refdomain") != "py" or site is None:
        return None
    page = target.rpartition(".")[0] if node["reftype"] in ("meth", "attr") else target
    anchor = "" if page == target else f"#{target}"
    return nodes.reference("", "", contnode, internal=False, refuri=site.format(page) + anchor)


def setup(app):
    app.connect("html-page-context", no_edit_link_of_what_is_made)
    app.connect("missing-reference", link_elsewhere)
