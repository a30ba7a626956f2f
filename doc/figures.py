"""Figures on pages, read from benchmarks/results at build time; an extension of Sphinx.

The role ``:figure:`peers; bibtex; ppdsparse; precision; 0 | 100 .1f``` shows one number of
``benchmarks/results/peers.json``: the keys that lead to it, then a factor, if any, and a format.
"best" and "median" instead of a key take the least and the middle of a list. A figure that is
not there is a warning, which fails ``make docs``: no page can quote what no run has measured.
Of a program that has left the repository, the keys lead to a cell of its laboratory page:
``:figure:`ldgs.md; Beside fastText; cooking_fasttext: fastText, hs; P@1 | .1f```.

The directive ``.. measured:: peers`` makes the footer: programs, days, machines, all figures.
"""

import json
import re
from pathlib import Path
from statistics import median

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
LABORATORY = Path(__file__).resolve().parent / "development" / "measurements"
LISTS = {"best": min, "median": median}
LOGGER = logging.getLogger(__name__)


def cell(page, heading, row, column):
    """Return the number in a cell of a table: heading of the section, first cell of the row."""
    lines = (LABORATORY / page).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip("# ") == heading)
    columns = []
    for line in lines[start:]:
        cells = [text.strip() for text in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif cells[0] == row and column in columns:
            return float(re.sub("[%*,]", "", cells[columns.index(column)]))
    raise LookupError(f"{page} has no {column!r} of {row!r} under {heading!r}")


def value(keys):
    """Return the number that the keys lead to, the first of which names the file."""
    if keys[0].endswith(".md"):
        return cell(*keys)
    found = json.loads((RESULTS / f"{keys[0]}.json").read_text())
    for key in keys[1:]:
        if isinstance(found, list):
            found = LISTS[key](found) if key in LISTS else found[int(key)]
        else:
            found = found[key]
    return found


def shown(text):
    """Return the text of a figure: keys, a bar, a factor that may be left out, a format."""
    path, _, style = text.partition("|")
    *factor, spec = style.split() or [",g"]
    return format(float(*factor or ["1"]) * value([key.strip() for key in path.split(";")]), spec)


class Figure(SphinxRole):
    """One number of a run that is kept."""

    def run(self):
        try:
            return [nodes.Text(shown(self.text))], []
        except (OSError, LookupError, TypeError, ValueError) as error:
            where = self.get_location()
            LOGGER.warning("no figure %r: %r", self.text, error, location=where, type="figures")
            return [nodes.Text("?")], []


class Measured(SphinxDirective):
    """The footer of a page: which programs measured the figures of some files, when and where."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        names, runs = self.arguments[0].split(), {}
        for name in names:
            self.env.note_dependency(str(RESULTS / f"{name}.json"))
            runs |= json.loads((RESULTS / f"{name}.json").read_text())["measured"]
        programs = sorted({re.match(r"python (-m )?\S+", command)[0] for command in runs})
        days = sorted(about.partition(",")[0] for about in runs.values())
        machines = sorted({about.split(", ", 2)[2].partition(";")[0] for about in runs.values()})
        pages = ", ".join(f":doc:`/development/measurements/{name}`" for name in names)
        by, on = "``, ``".join(programs), "; ".join(machines)
        return self.parse_text_to_nodes(
            f".. rst-class:: measured\n\nMeasured by ``{by}`` from {days[0]} to {days[-1]} on "
            f"{on}. All figures: {pages}.\n"
        )


def setup(app):
    app.add_role("figure", Figure())
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}
