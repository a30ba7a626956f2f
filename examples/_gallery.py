"""How the gallery is laid out: sphinx-gallery takes the order and the style from here.

The examples name colours by their place in the cycle, and a place means the same in all of them:

C0  blue    what the page is about; of two measures the first one, precision or the best answer
C1  orange  a second way; of two measures the second one, recall or the five best answers
C2  green   a third way
C3  red     what is left uncorrected, or is biased
C4  purple  a fourth way
0.4 grey    exact, ideal, or what it is held against
"""

from pathlib import Path

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"]

GROUPS = {  # folder -> its files, in the order of the page
    "first_steps": ["first_steps", "suggest_tags", "sentence_embeddings", "inspection"],
    "tasks": [
        "probabilities",
        "decisions",
        "rare_labels",
        "label_texts",
        "recommender",
        "growing",
        "mapped_file",
        "cluster",
    ],
    "methods": [
        "nearest_rows",
        "stacking",
        "word_embedding",
        "augment_reduce",
        "implicit_softmax",
        "memoir",
        "ldgs",
    ],
    "programs": ["quickstart", "tagger", "embeddings", "serve", "annif_backend"],  # not run
}
FOLDERS = list(GROUPS)


class Order:
    """Sort key of the files of a folder."""

    def __init__(self, folder):
        self.order = GROUPS.get(Path(folder).name, [])

    def __call__(self, file):
        name = file.removesuffix(".py")
        return (self.order.index(name) if name in self.order else len(self.order), name)


def use_style(gallery_conf, file):
    """Called before each example."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.figsize": (7, 4.2),
            "grid.alpha": 0.3,
            "legend.frameon": False,
            "lines.markersize": 4,
        }
    )
