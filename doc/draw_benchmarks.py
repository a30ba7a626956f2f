"""Draws doc/images/benchmark_overview.png: precision against seconds of training, from a page.

    python doc/draw_benchmarks.py

The figures are those of the tables of doc/benchmark_peers.md.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

DOC = Path(__file__).parent
SYSTEMS = {  # title in the tables -> colour and marker
    "PPDSparseClassifier": ("#2f6db3", "o"),
    "OneVsRestClassifier (LinearSVC)": ("#e08214", "s"),
    "PECOS one-vs-all": ("#5a9e6f", "^"),
    "PECOS XR-Linear": ("#5a9e6f", "v"),
    "napkinXC BR": ("#8c6bb1", "D"),
    "napkinXC PLT": ("#8c6bb1", "P"),
}


def tables(page):
    """Data set -> system -> (seconds of training, P@1) of the tables of a page."""
    found = {}
    for section in re.split(r"(?m)^## ", page)[1:]:
        title, _, text = section.partition("\n")
        rows = [line.strip("| ").split("|") for line in text.splitlines() if line[:1] == "|"]
        if rows and rows[0][0].strip() == "system":
            names = [cell.strip() for cell in rows[0]]
            time, precision = names.index("train s"), names.index("P@1")
            found[title] = {
                row[0].strip(): (float(row[time]), float(row[precision]))
                for row in rows[2:]
                if row[0].strip() in SYSTEMS
            }
    return found


def main():
    found = tables((DOC / "benchmark_peers.md").read_text())
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 5.8), layout="constrained")
    for axis, (title, systems) in zip(axes.flat, found.items(), strict=True):
        for name, (seconds, precision) in systems.items():
            colour, marker = SYSTEMS[name]
            axis.plot(seconds, precision, marker, color=colour, markersize=9, label=name)
        axis.set(title=title, xscale="log")
        axis.set_xlim(0.1, 500)
        axis.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        axis.margins(y=0.15)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("precision@1 in %")
    for axis in axes[1]:
        axis.set_xlabel("training, seconds on two threads")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    path = DOC / "images" / "benchmark_overview.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
