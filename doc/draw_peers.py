"""Draws doc/images/peers.png of the README: precision against training time, of the kept figures.

python doc/draw_peers.py
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

DOC = Path(__file__).resolve().parent
SHOWN = {  # data -> title
    "delicious": "delicious, 983 tags",
    "yso_finna_en_small": "library titles, 14 383 subjects",
    "oewn_hypernym": "words and glosses, 20 560 hypernyms",
}
SYSTEMS = {  # in the page -> label, colour
    "PPDSparseClassifier": ("sklearn-xc", "#0072B2"),
    "PECOS one-vs-all": ("PECOS, one-vs-all", "#555555"),
    "PECOS XR-Linear": ("PECOS, tree", "#E69F00"),
    "omikuji, collapse_every_n_layers=5": ("omikuji, wide trees", "#56B4E9"),
    "napkinXC PLT": ("napkinXC, tree", "#009E73"),
    "OneVsRestClassifier (LinearSVC)": ("scikit-learn", "#CC79A7"),
}


def figures(text, data):
    """Seconds of training and precision at 1 of each system."""
    part = text.split(f"\n## {data}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()]
    return {row[0]: (float(row[1]), float(row[3])) for row in rows if row[0] in SYSTEMS}


def main():
    text = (DOC / "development/measurements/peers.md").read_text()
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axes, (data, title) in zip(panels, SHOWN.items(), strict=True):
        found = figures(text, data)
        for system, (seconds, precision) in found.items():
            name, colour = SYSTEMS[system]
            ours = system == "PPDSparseClassifier"
            axes.plot(
                seconds,
                precision,
                "*" if ours else "o",
                color=colour,
                markersize=17 if ours else 8,
                label=name,
            )
        axes.set(title=title, xlabel="training, seconds (log scale)", xscale="log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.12, 0.15)
        axes.grid(alpha=0.3, which="both")
    panels[0].set_ylabel("first label right, %")
    handles = {
        name: handle
        for axes in panels
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6)
    figure.savefig(DOC / "images" / "peers.png", dpi=80)
    versions = re.search(r"Versions: (.*)", text)
    print(f"doc/images/peers.png, of {versions[1]}")


if __name__ == "__main__":
    main()
