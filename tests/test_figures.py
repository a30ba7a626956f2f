"""Figures that pages quote are those that the benchmarks have kept."""

import json
import re
import runpy
from pathlib import Path

import pytest
from _figures import CONSTANTS, FIGURES, fixed, significant

ROOT = Path(__file__).resolve().parents[1]
PROSE = runpy.run_path(str(ROOT / "doc" / "prose.py"))
BY_KEY = re.compile(r":figure:`[^`]*`|``.*?``", re.DOTALL)
VERSION = re.compile(
    r"\b(?:Python|scikit-learn|PECOS|omikuji|fastText|skl2onnx|SetFit|sentence-transformers|now|before)"
    r"\s+\d+(?:\.\d+)+"
)
TYPED = re.compile(
    r"(?<![\w.])\d(?:[\d,]*\d)?(?:\.\d+|(?:\.\d+)? ?"
    r"(?:%|s|ms|µs|[kMG]B|\w*seconds|minutes|hours|times|points))(?!\w)"
)


class Kept(dict):
    """Figures by keys, of which names are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Files:
    """The files of figures, by the names of their pages."""

    def __getattr__(self, name):
        text = (ROOT / "benchmarks/results" / f"{name}.json").read_text()
        return json.loads(text, object_hook=Kept)

    def cell(self, page, heading, row, column):
        """A cell of the first table under a heading."""
        lines = (ROOT / "doc/development/measurements" / f"{page}.md").read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if line.lstrip("# ") == heading)
        table = [cells_of(line) for line in lines[start:] if line.startswith("|")]
        found = next(cells for cells in table if cells[0] == row)
        return found[table[0].index(column)]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def words_of(text):
    """Without line breaks and more than one space in a row."""
    return re.sub(r"\s+", " ", text)


def quoted_instead(text, page):
    """Find the text of a page that stands where its figures should."""
    pattern = re.escape(words_of(text).strip()).replace(r"\{\}", r"([^|]{1,20}?)")
    found = re.search(pattern, page)
    return found.group(0) if found else "no such sentence"


@pytest.mark.parametrize(
    ("page", "text", "figures"), FIGURES, ids=[f"{page}-{text[:40]}" for page, text, _ in FIGURES]
)
def test_a_page_quotes_the_figures_that_are_kept(page, text, figures):
    values = list(figures(Files()))
    assert len(values) == text.count("{}")
    shown = words_of((ROOT / page).read_text())
    expected = words_of(text.format(*values)).strip()
    assert expected in shown, f"{page} has: {quoted_instead(text, shown)}"


def users_pages():
    """Return the pages that users read: README and doc without the pages of developers."""
    pages = [page for page in PROSE["pages"]() if page.suffix == ".rst"]
    of_doc = [page for page in pages if page.is_relative_to(ROOT / "doc")]
    return [ROOT / "README.md", *(p for p in of_doc if ROOT / "doc/development" not in p.parents)]


@pytest.mark.parametrize("page", users_pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_figure_of_a_users_page_is_typed_by_hand(page):
    """Figures are quoted by key or listed in FIGURES; other decimals and units are CONSTANTS."""
    name = page.relative_to(ROOT).as_posix()
    text = page.read_text()
    for of, quoted, figures in FIGURES:
        if of == name:
            words = quoted.format(*figures(Files())).split()
            text = re.sub(r"\s+".join(map(re.escape, words)), "", text)
    text = BY_KEY.sub(lambda found: "X" + "\n" * found[0].count("\n"), VERSION.sub("X", text))
    typed = [
        (line, number)
        for line, paragraph in PROSE["paragraphs"](text)
        for number in TYPED.findall(paragraph)
    ]
    constants = CONSTANTS.get(name, [])
    assert [(line, number) for line, number in typed if number not in constants] == []
    assert set(constants) <= {number for _, number in typed}, "a constant is no longer there"


def test_every_key_of_a_page_leads_to_a_figure():
    """The build of the pages warns of others; this finds them without a build."""
    pytest.importorskip("sphinx")
    shown = runpy.run_path(str(ROOT / "doc" / "figures.py"))["shown"]
    pages = [page for page in PROSE["pages"]() if page.suffix == ".rst"]
    keys = [key for page in pages for key in re.findall(r":figure:`([^`]+)`", page.read_text())]
    assert len(keys) > 100
    assert all(float(shown(key).replace(",", "")) >= -100 for key in keys if "|" in key)
    with pytest.raises(LookupError, match=r"ldgs\.md has no 'P@2'"):
        shown("ldgs.md; Beside fastText; cooking_fasttext: fastText, hs; P@2")


def test_figures_are_rounded_half_up():
    assert (fixed(62.15, 1), fixed(-2.5, 0), fixed(7, 2)) == ("62.2", "-3", "7.00")
    assert [significant(v, 2) for v in (0.02848, 0.6946, 56.8, 360.8)] == [
        "0.028",
        "0.69",
        "57",
        "361",
    ]
