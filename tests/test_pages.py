"""The pages of the documentation: what stands behind >>> runs, links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"
MADE = ("api", "auto_examples", "_build")  # folders that the build makes
WRITTEN = sorted(
    page.relative_to(DOC).with_suffix("").as_posix()
    for page in [*DOC.rglob("*.rst"), *DOC.rglob("*.md")]
    if page.relative_to(DOC).parts[0] not in MADE
)
RST = [page for page in WRITTEN if (DOC / f"{page}.rst").exists()]
PAGES = [page for page in RST if ">>> " in (DOC / f"{page}.rst").read_text()]
OPTIONAL = {"guide/clusters": "dask.array"}  # what an example imports that need not be installed
REFERENCE = re.compile(r":(class|func|meth|mod):`(?:[^`<]*<)?~?([\w.]+)>?`")
LINK = re.compile(r":doc:`(?:[^`<]*<)?/?([\w/]+)>?`")


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run(page):
    if page in OPTIONAL:
        pytest.importorskip(OPTIONAL[page])
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, run = doctest.testfile(
        str(DOC / f"{page}.rst"), module_relative=False, optionflags=flags
    )
    assert run > 0
    assert failed == 0


@pytest.mark.parametrize("page", RST)
def test_links_to_pages_and_objects_lead_somewhere(page):
    text = (DOC / f"{page}.rst").read_text()
    links = [name.lstrip("/") for name in LINK.findall(text)]
    assert [n for n in links if n not in WRITTEN and n.partition("/")[0] not in MADE] == []
    ours = {name for _, name in REFERENCE.findall(text) if name.startswith("sklearn_xc")}
    assert [name for name in sorted(ours) if not exists(name)] == []


def exists(name):
    """Whether a dotted name can be imported."""
    import importlib

    module, _, rest = name.partition(".")
    found = importlib.import_module(module)
    for part in filter(None, rest.split(".")):
        if not hasattr(found, part):
            try:
                importlib.import_module(f"{found.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("page", RST)
def test_programs_that_a_page_names_are_there(page):
    text = (DOC / f"{page}.rst").read_text()
    names = re.findall(r"\b((?:benchmarks|examples)/\w+\.py)\b", text)
    assert [name for name in names if not (DOC.parent / name).exists()] == []
