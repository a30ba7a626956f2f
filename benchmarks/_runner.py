"""What every benchmark is run by: its parser, the figures that are kept, its page and pictures.

Figures are kept in the repository, in ``benchmarks/results/<name>.json``; pages show them. A run
replaces those that it measured and leaves the others, and a page keeps the sections and rows that
there are no figures for, so that nothing is lost on a machine where only some was run.
"""

import argparse
import json
import os
import re
import sys
import time
from itertools import takewhile
from pathlib import Path

import _common

DOC = _common.DOC
RESULTS = _common.ROOT / "benchmarks" / "results"
MEASUREMENTS = DOC / "development" / "measurements"  # pages of the laboratory
PAGES = {"run": "peers", "annif_titles": "annif"}  # scripts whose page has another name
KEPT = "Kept from before:"
MEASURED = "measured"  # group of what the commands were that measured, when and where
NOTE = "note"  # group of what is said of the figures on the page


# ---------------------------------------------------------------------------------------- parser


def parser(description, *, data=None, data_default=None, parts=None, note=False, report=True):
    """The parser of a benchmark, to which it adds options of its own.

    Parameters
    ----------
    description : str
        The docstring of the script; its first line is shown.
    data : sequence of str, default=None
        The data sets that ``--data`` chooses from; () for any name; None without the option.
    data_default : sequence of str, default=None
        Those without it; by default all.
    parts : sequence of str, default=None
        The parts that ``--part`` chooses from, all by default; None without the option.
    note : bool, default=False
        Whether there is ``--note``, a sentence for the page.
    report : bool, default=True
        Whether there is ``--report``, to write the page from the figures that are kept.
    """
    made = _Parser(description=description.splitlines()[0])
    if data is not None:
        default = list(data) or None if data_default is None else data_default
        made.add_argument("--data", nargs="+", choices=data or None, default=default,
                          metavar="NAME", help=" ".join(data))  # fmt: skip
    if parts is not None:
        made.add_argument("--part", nargs="+", choices=list(parts), default=list(parts))
    if note:
        made.add_argument("--note", default="", help="a sentence on how the machine was used")
    if report:
        made.add_argument("--report", action="store_true", help="write the page, measure nothing")
    return made


class _Parser(argparse.ArgumentParser):
    def parse_args(self, *args, **options):
        found = super().parse_args(*args, **options)
        script = Path(sys.argv[0]).stem
        if vars(found).get("report") and not kept(PAGES.get(script, script)):
            self.exit(0, "no figures are kept yet: nothing to write\n")
        return found


# --------------------------------------------------------------------------------------- figures


def kept(name):
    """All figures of a benchmark, group -> key -> figures; empty before the first run."""
    about = (MEASURED, NOTE)
    return {group: figures for group, figures in _read(name).items() if group not in about}


def _read(name):
    path = _path_of(name)
    return json.loads(path.read_text()) if path.exists() else {}


def keep(name, group, key, figures):
    """Replace the figures of a key; floats are kept to six digits."""
    found = _read(name)
    found.setdefault(group, {})[key] = _short(figures)
    run = f"{time.strftime('%Y-%m-%d')}, commit {_common.commit()}, {_common.machine()}"
    found.setdefault(MEASURED, {})[_common.command(sys.argv[0], sys.argv[1:])] = run
    _write(name, found)


def _write(name, found):
    """A key a line, in the order of their names."""
    groups = (
        f"{json.dumps(g)}: {{\n"
        + ",\n".join(f"  {json.dumps(k)}: {json.dumps(f)}" for k, f in sorted(keys.items()))
        + "\n}"
        for g, keys in sorted(found.items())
    )
    text = "{\n" + ",\n".join(groups) + "\n}\n"
    _path_of(name).with_suffix(".new").write_text(text)
    os.replace(_path_of(name).with_suffix(".new"), _path_of(name))


def note(name, text=""):
    """Paragraphs on a page's figures, as how the machine was used; `text` replaces what is kept."""
    found = _read(name)
    if text:
        found[NOTE] = {"page": text}
        _write(name, found)
    return list(found.get(NOTE, {}).values())


def source(name):
    """The commands that measured the figures of a page: its first paragraph."""
    runs = _read(name).get(MEASURED, {})
    return "\n".join(["Measured by", "", *(f"* `{c}`: {run}" for c, run in sorted(runs.items()))])


def _path_of(name):
    return RESULTS / f"{name}.json"


def _short(value):
    if isinstance(value, dict):
        return {str(k): _short(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        value = value.tolist() if hasattr(value, "tolist") else value
        return [_short(v) for v in value] if isinstance(value, (list, tuple)) else _short(value)
    return float(f"{value:.6g}") if isinstance(value, float) else value


# ------------------------------------------------------------------------------------------ page


def write_page(name, text):
    """Write ``<name>.md`` of MEASUREMENTS; what `text` lacks of the page that is there stays."""
    path = MEASUREMENTS / f"{name}.md"
    if path.exists():
        text = merged(path.read_text(), text)
    path.write_text(text.rstrip() + "\n")
    print(f"wrote {path.relative_to(_common.ROOT)}")


def merged(old, new):
    """The new page with the sections and the rows of tables that only the old one has.

    Examples
    --------
    >>> old = "# T" + chr(10) + "## a" + chr(10) + "| x |" + chr(10) + "| --- |" + chr(10) + "| 1 |"
    >>> merged(old, old.replace("| 1 |", "| 2 |")).splitlines()[-2:]
    ['| 2 |', '| 1 |']
    """
    before, now = _sections(old), _sections(new)
    head = now["", ""]
    above = "", ""
    for title, text in before.items():
        now = now if title in now else _put(now, above, title, text)
        now[title] = _with_rows(text, now[title])
        above = title
    merged = "\n".join(part.rstrip() + "\n" for part in now.values())
    if merged.split() == new.split():
        return new
    origin = _origin(before["", ""])
    return merged.replace(head.rstrip(), f"{head.rstrip()}\n\n{KEPT} {origin}", 1)


def _origin(head):
    """The paragraphs that say where the figures of an old page come from."""
    paragraphs = head.strip().split("\n\n")
    for start in (KEPT, "Generated by", "Measured by"):
        for i, paragraph in enumerate(paragraphs):
            if paragraph.startswith(start):
                lists = list(takewhile(lambda p: p.startswith("* "), paragraphs[i + 1 :]))
                return "\n\n".join([paragraph, *lists]).removeprefix(KEPT).lstrip()
    return ""


def _sections(page):
    """(Section, its part) -> text with the heading; what comes before all headings is first."""
    found, section = {("", ""): ""}, ""
    for text in re.split(r"(?m)^(?=###? )", page):
        title = text.partition("\n")[0] if text.startswith("##") else ""
        section = title if title.startswith("## ") else section
        found[section, "" if title == section else title] = text
    return found


def _put(sections, above, title, text):
    """The sections with another one below `above`, or below its last part if it is of another."""
    keys, items = list(sections), list(sections.items())
    place = keys.index(above)
    if title[0] != above[0]:
        place = max(i for i, (section, _) in enumerate(keys) if section == above[0])
    return dict([*items[: place + 1], (title, text), *items[place + 1 :]])


def _with_rows(old, new):
    """The new section, its tables with the rows that only the old tables of equal header have."""
    tables = {table[0]: table for table in _tables(old)}
    for table in _tables(new):
        there = {_key(row) for row in table[2:]}
        more = [row for row in tables.get(table[0], ())[2:] if _key(row) not in there]
        new = new.replace("\n".join(table), "\n".join([*table, *more]))
    return new


def _tables(section):
    """The tables of a section, each as its lines."""
    return [found.rstrip("\n").split("\n") for found in re.findall(r"(?m)(?:^\|.*\n?)+", section)]


def _key(row):
    return row.split("|")[1].strip()


# -------------------------------------------------------------------------------------- pictures


def axes(n_columns, n_rows=1, **options):
    """A figure without a screen and a flat list of its axes."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    size = options.pop("figsize", (4.6 * n_columns, 3.7 * n_rows))
    figure, grid = plt.subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options
    )
    for axis in grid.flat:
        axis.grid(alpha=0.3)
    return figure, list(grid.flat)


def picture(figure, name, text):
    """Save a picture of a page; returns the line that shows it."""
    path = DOC / "images" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return shown(name, text)


def shown(name, text):
    """The line that shows a picture: alone, where no curves are kept to draw it anew from."""
    return f"![{text}](/images/{name}.png)"
