"""Program: many classes over embeddings of your own
=================================================

Dense rows of a sentence encoder, or of TF-IDF and an SVD::

    python examples/programs/embeddings.py                         # made here, of docstrings
    python examples/programs/embeddings.py rows.npy labels.txt     # your own

``rows.npy`` has the output of an encoder, ``np.save("rows.npy", encoder.encode(texts))``, and
labels.txt has the class of each row in a line. By default passages of docstrings become rows of
128 numbers. A fifth of the rows is held out; the program says how many of them each estimator
gets right, in how many seconds, and draws the share of rows whose class is among the first k
answers.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from sklearn_xc import MemoirSVC, PPDSparseClassifier, predict_topk
from sklearn_xc.datasets import load_docstrings
from sklearn_xc.metrics import top_k_accuracy
from sklearn_xc.model_selection import train_test_split

DEEPEST = 10  # answers that the picture looks at
DIMENSIONS = 128
FEW = 300  # classes up to which scikit-learn's softmax is shown beside ours: it needs a minute


def pyplot():
    """matplotlib.pyplot that draws into files, or None where it is missing."""
    try:
        import matplotlib
    except ImportError:
        print("No picture: matplotlib is missing, `pip install matplotlib` brings it")
        return None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt


def main():
    options = parse_options()
    if options.rows:
        X, y = read(options.rows, options.labels)
    else:
        X, y = embedded_docstrings(options.sample)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    n_classes = len(np.unique(y_train))
    print(f"N = {len(X_train)} rows, D = {X.shape[1]} dimensions, K = {n_classes} classes")
    print(f"{'':24} first  {'five':>5}  seconds")
    curves = {}
    for name, model in estimators(n_classes).items():
        start = time.perf_counter()
        best = answers(model.fit(X_train, y_train), X_test, min(DEEPEST, n_classes))
        seconds = time.perf_counter() - start
        deep = range(1, best.shape[1] + 1)
        curves[name] = [top_k_accuracy(y_test, best, k=k) for k in deep]
        five = curves[name][min(5, len(deep)) - 1]
        print(f"{name:24} {curves[name][0]:5.3f}  {five:5.3f}  {seconds:7.1f}")
    draw(options.output, curves, n_classes)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("rows", nargs="?", type=Path, help="a .npy file of shape (n_rows, n_dimensions)")
    add("labels", nargs="?", type=Path, help="a text file, the class of each row in a line")
    add("--sample", metavar="N", type=int, default=300, help="objects, of docstrings")
    add("--output", metavar="FILE", default="embeddings.png", help="where to draw the picture")
    options = parser.parse_args()
    if options.rows and not options.labels:
        parser.error("rows need labels")
    if options.sample < 20:
        parser.error("--sample must be at least 20")
    return options


def read(rows, labels):
    """Rows of unit length and their classes; classes of a single row are left out."""
    X, y = np.load(rows, allow_pickle=False), np.array(labels.read_text().splitlines())
    if X.ndim != 2 or len(X) != len(y):
        raise SystemExit(f"{rows} has the shape {X.shape}, and {labels} has {len(y)} lines")
    return unit_rows(X, y)


def embedded_docstrings(n_objects):
    """Passages as rows: TF-IDF, of which an SVD keeps the directions that words share."""
    docs = load_docstrings()
    texts = np.array([*docs.data_train, *docs.data_test], dtype=object)
    y = np.concatenate([docs.target_train, docs.target_test])
    some = np.random.default_rng(0).permutation(len(docs.target_names))[:n_objects]
    kept = np.isin(y, some)
    texts, y = texts[kept], y[kept]
    words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32).fit_transform(texts)
    svd = TruncatedSVD(min(DIMENSIONS, words.shape[1] - 1), random_state=0)
    return unit_rows(svd.fit_transform(words), y)


def unit_rows(X, y):
    """Rows of unit length, of classes that there are at least two of."""
    _, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts[inverse] > 1
    return normalize(X[kept].astype(np.float32)), y[kept]


def estimators(n_classes):
    """Ours beside those of scikit-learn that one would try first."""
    found = {
        # every dimension matters a little: nothing is gained by weights that are zero
        "PPDSparseClassifier": PPDSparseClassifier(l1=0, n_jobs=2, random_state=0),
        "MemoirSVC": MemoirSVC(n_jobs=2, random_state=0),
        "KNeighborsClassifier": KNeighborsClassifier(10, weights="distance"),
    }
    if n_classes <= FEW:
        # rows of unit length ask for a weaker penalty than the default C=1
        found["LogisticRegression"] = LogisticRegression(C=30, max_iter=300)
    return found


def answers(model, X, k):
    """The best k classes of each row."""
    if hasattr(model, "predict_topk"):
        return predict_topk(model, X, k)[0]
    return model.classes_[np.argsort(-model.predict_proba(X), axis=1, kind="stable")[:, :k]]


def draw(path, curves, n_classes):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    for name, shares in curves.items():
        axes.plot(range(1, len(shares) + 1), shares, "o-", markersize=4, label=name)
    axes.set(xlabel="k, answers looked at", ylabel="share of rows", ylim=(0, 1))
    axes.set_title(f"The class of an embedding, among {n_classes}, is one of the first k")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"The picture is in {path}")


if __name__ == "__main__":
    main()
