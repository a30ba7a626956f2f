"""Draws doc/images/architecture.png: rooms on their floors, and the road of X through one fit.

    python doc/draw_architecture.py [--estimator PPDSparseClassifier] [--print]

The floors come from the imports, the road from a small fit that is watched.
"""

import argparse
import sys
from pathlib import Path

import sklearn_xc
from sklearn_xc.datasets import make_xc_classification

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from _imports import by_room, floors, python_arrows, python_room  # noqa: E402
from _road import road_of  # noqa: E402

BLUE, GREY, INK = "#2f6db3", "#b8bfc7", "#22272e"


def draw(road, title, path):
    import matplotlib.pyplot as plt

    rooms = {room: others for room, others in by_room(python_arrows(), python_room).items() if room}
    level = floors(rooms)
    house, way = plt.subplots(1, 2, figsize=(12, 6.5), width_ratios=[3, 2])[1]
    place = {}
    for floor in range(max(level.values()) + 1):
        here = sorted(room for room in rooms if level[room] == floor)
        for number, room in enumerate(here):
            place[room] = (number + 1) / (len(here) + 1), floor
    for room, others in rooms.items():
        for other in others:
            house.annotate(
                "",
                place[other],
                place[room],
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.6},
            )
    visited = {name.split("/")[0] for name in road}
    for room, (x, floor) in place.items():
        edge = BLUE if room in visited else GREY
        box = {"boxstyle": "round", "fc": "white", "ec": edge, "lw": 1.5}
        house.text(x, floor, room, ha="center", va="center", color=INK, fontsize=9, bbox=box)
    house.set(xlim=(0, 1), ylim=(-0.6, max(level.values()) + 0.6), title="Imports go down only")
    for number, name in enumerate(road):
        box = {"boxstyle": "round", "fc": "white", "ec": BLUE, "lw": 1.2}
        way.text(0.5, -number, name, ha="center", va="center", color=INK, fontsize=9, bbox=box)
        if number:
            way.annotate(
                "",
                (0.5, -number + 0.25),
                (0.5, -number + 0.75),
                arrowprops={"arrowstyle": "->", "color": BLUE},
            )
    way.set(xlim=(0, 1), ylim=(-len(road) + 0.3, 0.7), title=title)
    for axes in (house, way):
        axes.axis("off")
    plt.tight_layout()
    plt.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--estimator", default="PPDSparseClassifier")
    parser.add_argument("--print", action="store_true", help="print the road, draw nothing")
    parser.add_argument("--out", default=ROOT / "doc" / "images" / "architecture.png")
    options = parser.parse_args()
    X, y = make_xc_classification(300, 500, 20, random_state=0)
    estimator = getattr(sklearn_xc, options.estimator)(n_jobs=1, random_state=0)
    road = road_of(estimator, X, y)
    if options.print:
        print("\n".join(road))
    else:
        draw(road, f"X in {options.estimator}.fit", options.out)


if __name__ == "__main__":
    main()
