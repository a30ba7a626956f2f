"""Figures that pages quote are those that the benchmarks have kept."""

import json
import re
from pathlib import Path

import pytest
from _figures import FIGURES, fixed, significant

ROOT = Path(__file__).resolve().parents[1]


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


def test_figures_are_rounded_half_up():
    assert (fixed(62.15, 1), fixed(-2.5, 0), fixed(7, 2)) == ("62.2", "-3", "7.00")
    assert [significant(v, 2) for v in (0.02848, 0.6946, 56.8, 360.8)] == [
        "0.028",
        "0.69",
        "57",
        "361",
    ]
