"""Draws doc/images/choosing.png: four questions that lead to an estimator.

python doc/draw_choosing.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

BLUE, GREY, INK, PALE = "#2f6db3", "#b8bfc7", "#22272e", "#eef3f9"
WIDTH, HEIGHT = 2.5, 0.95  # of a box
# name: (column, row from the top, text); questions first, then the answers.
QUESTIONS = {
    "what": (0, 0, "Labels for rows,\nor vectors for words?"),
    "many": (0, 1, "Several labels\nfor one row?"),
    "parts": (0, 2, "Rows arrive in parts,\nor embeddings wanted?"),
    "proba": (0, 3, "Probabilities wanted, and\nmemory for 4 K D bytes?"),
}
ANSWERS = {
    "words": (1.35, 0, "LDGSWordEmbedding\nskip-gram, softmax over all words"),
    "ppd": (1.35, 1, "PPDSparseClassifier\none-vs-rest, sparse weights"),
    "online": (
        1.35,
        2,
        "MemoirSVC   ranking, sparse\nLDGSClassifier   embeddings\n"
        "ImplicitSoftmaxRegressor   probabilities",
    ),
    "soft": (
        1.35,
        3,
        "ImplicitSoftmaxRegressor   softmax\nAugmentReduceClassifier   probit, logistic",
    ),
    "rank": (
        1.35,
        4,
        "PPDSparseClassifier   fast, small\nMemoirSVC   classes compete",
    ),
}
ARROWS = [
    ("what", "words", "vectors"),
    ("what", "many", "labels"),
    ("many", "ppd", "yes"),
    ("many", "parts", "no, one class"),
    ("parts", "online", "yes"),
    ("parts", "proba", "no"),
    ("proba", "soft", "yes"),
    ("proba", "rank", "no: a ranking, or add calibration="),
]


def place(column, row):
    return column * 3.6, -row * 1.6


def box(axis, column, row, text, answer):
    x, y = place(column, row)
    width = 4.3 if answer else WIDTH
    style = {"facecolor": PALE, "edgecolor": BLUE} if answer else {"facecolor": "white"}
    style.setdefault("edgecolor", GREY)
    left = x - (WIDTH / 2)
    patch = plt.matplotlib.patches.FancyBboxPatch(
        (left, y - HEIGHT / 2), width, HEIGHT, boxstyle="round,pad=0.05", linewidth=1.4, **style
    )
    axis.add_patch(patch)
    axis.text(left + width / 2, y, text, ha="center", va="center", fontsize=9.5, color=INK)


def arrow(axis, start, end, text):
    (x0, y0), (x1, y1) = start, end
    down = x0 == x1
    gap = HEIGHT / 2 + 0.08
    if down:
        tail, head, at = (x0, y0 - gap), (x1, y1 + gap), (x0 + 0.12, (y0 + y1) / 2)
    elif y0 == y1:
        tail, head = (x0 + WIDTH / 2 + 0.08, y0), (x1 - WIDTH / 2 - 0.08, y1)
        at = ((tail[0] + head[0]) / 2, y0 + 0.12)
    else:  # down, then to the right
        tail, head = (x0, y0 - gap), (x1 - WIDTH / 2 - 0.08, y1)
        axis.plot([x0, x0], [tail[1], y1], color=GREY, linewidth=1.4)
        tail, at = (x0, y1), (x0 + 0.12, y1 + 0.14)
    axis.annotate("", head, tail, arrowprops={"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4})
    ha, va = ("left", "center") if down else ("center", "bottom")
    if y0 != y1 and not down:
        ha = "left"
    axis.text(*at, text, ha=ha, va=va, fontsize=9, color=BLUE)


def main():
    figure, axis = plt.subplots(figsize=(9.2, 6.6), layout="constrained")
    boxes = QUESTIONS | ANSWERS
    for name, (column, row, text) in boxes.items():
        box(axis, column, row, text, name in ANSWERS)
    for start, end, text in ARROWS:
        arrow(axis, place(*boxes[start][:2]), place(*boxes[end][:2]), text)
    axis.set(xlim=(-1.5, 8.2), ylim=(-7.1, 0.7))
    axis.set_axis_off()
    axis.set_aspect("equal")
    path = Path(__file__).parent / "images" / "choosing.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
