"""The pages of the documentation: what stands behind >>> runs, links lead somewhere."""

import doctest
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from _full import in_full

DOC = Path(__file__).resolve().parents[1] / "doc"
MADE = ("api", "auto_examples", "_build")  # folders that the build makes
WRITTEN = sorted(
    page.relative_to(DOC).with_suffix("").as_posix()
    for page in [*DOC.rglob("*.rst"), *DOC.rglob("*.md")]
    if page.relative_to(DOC).parts[0] not in MADE
)
RST = [page for page in WRITTEN if (DOC / f"{page}.rst").exists()]
PAGES = [page for page in RST if ">>> " in (DOC / f"{page}.rst").read_text()]
OPTIONAL = {"guide/large_data": ("dask", "\nClusters\n")}  # what a section, the last one, imports
LONG = {"start/tutorial"}  # a minute of fits
MEASURED = {*LONG, "howto/rare_labels"}  # show figures to two digits or more
WRITTEN_WITH = (3, 11)  # the Python whose docstrings and output the pages show
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
REFERENCE = re.compile(r":(class|func|meth|mod):`(?:[^`<]*<)?~?([\w.]+)>?`")
LINK = re.compile(r":doc:`(?:[^`<]*<)?/?([\w/]+)>?`")


class AboutThese(doctest.OutputChecker):
    """The figures of measurements, about: other machines round sums in another order."""

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        if not super().check_output(NUMBER.sub("0", want), NUMBER.sub("0", got), flags):
            return False
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got), strict=True)
        return all(float(b) == pytest.approx(float(a), rel=0.1, abs=0.03) for a, b in pairs)


class Anything(doctest.OutputChecker):
    """Output of another Python, whose docstrings are others: examples only have to run."""

    def check_output(self, want, got, flags):
        return True


def checker_of(page, text):
    """Return what compares the output of a page."""
    if "load_docstrings" in text and sys.version_info[:2] != WRITTEN_WITH:
        return Anything()
    return AboutThese() if page in MEASURED else doctest.OutputChecker()


@pytest.mark.parametrize("page", [in_full(page) if page in LONG else page for page in PAGES])
def test_examples_of_a_page_run(page):
    text = (DOC / f"{page}.rst").read_text()
    package, heading = OPTIONAL.get(page, ("", ""))
    if package and find_spec(package) is None:
        text = text.partition(heading)[0]
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page, page, 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(checker_of(page, text), optionflags=flags)
    report = []
    runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)


def test_figures_of_a_page_hold_about():
    """A measurement may differ a little, and a name not at all."""
    compare = AboutThese().check_output
    assert compare("right 36.8 %, os.walk\n", "right 35.9 %, os.walk\n", 0)
    assert not compare("right 36.8 %, os.walk\n", "right 29.7 %, os.walk\n", 0)
    assert not compare("right 36.8 %, os.walk\n", "right 36.8 %, os.path\n", 0)


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
    names = re.findall(r"\b((?:benchmarks|examples)/[\w/]+\.py)\b", text)
    modules = re.findall(r"python -m (benchmarks[\w.]+)", text)
    names += [f"{module.replace('.', '/')}.py" for module in modules]
    assert [name for name in names if not (DOC.parent / name).exists()] == []
