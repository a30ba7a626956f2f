"""Figures that a page shows, kept in the repository: one JSON file beside the page.

A run replaces the figures that it measured and leaves the others, so that a page never loses rows
on a machine where only some of it was run.
"""

import json

import _common


def path_of(page):
    """The file of the figures of ``doc/<page>.md``."""
    return _common.ROOT / "doc" / f"{page}.json"


def read(page):
    """All figures of a page: data set -> system -> figures; empty before the first run."""
    path = path_of(page)
    return json.loads(path.read_text()) if path.exists() else {}


def write(page, data, system, figures):
    """Replace the figures of a system on a data set."""
    found = read(page)
    found.setdefault(data, {})[system] = figures
    rows = [
        f"{json.dumps(d)}: {{\n"
        + ",\n".join(f"  {json.dumps(s)}: {json.dumps(f)}" for s, f in sorted(systems.items()))
        + "\n}"
        for d, systems in sorted(found.items())
    ]
    path_of(page).write_text("{\n" + ",\n".join(rows) + "\n}\n")
