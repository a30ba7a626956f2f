"""What every benchmark is run by: its parser, the figures that are kept, its page and pictures.

Figures are kept in the repository, in ``benchmarks/results/<name>.json`` beside the page that shows
them. A run replaces those that it measured and leaves the others; the page is written from all.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import _common

DOC = _common.DOC
RESULTS = _common.ROOT / "benchmarks" / "results"
MEASUREMENTS = DOC / "development" / "measurements"  # pages of the laboratory
PAGES = {"run": "peers", "annif_titles": "annif"}  # scripts whose page has another name
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
        made.add_argument(
            "--data",
            nargs="+",
            choices=data or None,
            default=default,
            metavar="NAME",
            help=" ".join(data),
        )
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


def write_page(name, *parts):
    """Write ``measurements/<name>.md`` from its paragraphs."""
    path = MEASUREMENTS / f"{name}.md"
    path.write_text("\n\n".join(parts).rstrip() + "\n")
    print(f"wrote {path.relative_to(_common.ROOT)}")


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
