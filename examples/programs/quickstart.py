"""Program: the demo, which answers questions
==========================================

Which function does this sentence describe? A model of thousands of classes in seconds.

The data is real and already on your machine: the docstrings of NumPy, SciPy, scikit-learn and the
standard library, cut into passages. Every function, class and method is a class to tell apart, and
one passage of each is held out to test with::

    python examples/programs/quickstart.py
    python examples/programs/quickstart.py --ask "how do I sort a list without changing it?"
"""

import argparse
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from sklearn_xc import PPDSparseClassifier, predict_topk
from sklearn_xc.datasets import load_docstrings
from sklearn_xc.metrics import ndcg_at_k, precision_at_k, top_k_accuracy

QUESTIONS = [
    "How do I solve a system of linear equations?",
    "Which clustering method finds regions of high density and marks outliers?",
    "I want to walk through a directory and all of its subdirectories",
]
DEEPEST = 20  # how far down the ranking the picture looks


def main():
    options = parse_options()
    docs = smaller(load_docstrings(), options.sample)

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, dtype=np.float32)
    # An object has seven passages on average; for so few, weaker penalties than the defaults did
    # better on passages held out from the training part.
    classifier = PPDSparseClassifier(l1=0.02, l2=0.3, n_jobs=2, random_state=0)
    model = Pipeline([("words", words), ("classifier", classifier)])
    start = time.perf_counter()
    model.fit(docs.data_train, docs.target_train)
    seconds = time.perf_counter() - start
    describe(model, len(docs.data_train), seconds)

    ranking, _ = predict_topk(model, docs.data_test, k=min(DEEPEST, len(docs.target_names)))
    print()
    print(f"precision@1 {precision_at_k(docs.target_test, ranking, k=1):.3f}")
    print(f"precision@5 {precision_at_k(docs.target_test, ranking, k=5):.3f}")
    print(f"nDCG@5 {ndcg_at_k(docs.target_test, ranking, k=5):.3f}")
    top_five = top_k_accuracy(docs.target_test, ranking, k=5)
    print(f"(one answer a passage is right, and {top_five:.0%} of them are in the top five)")

    for question in [*QUESTIONS, *options.ask]:
        answer(model, docs.target_names, question)
    save_picture(options.picture, docs, ranking)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--ask", metavar="QUESTION", action="append", default=[], help="answer this one too")
    add("--sample", metavar="N", type=int, help="keep N random objects only, for a quick try")
    add("--picture", metavar="FILE", default="quickstart.png", help="where to draw the accuracy")
    options = parser.parse_args()
    if options.sample is not None and options.sample < 5:
        parser.error("--sample must be at least 5")
    return options


def smaller(docs, n_objects):
    """Keep a random sample of the objects."""
    if n_objects is None or n_objects >= len(docs.target_names):
        return docs
    kept = np.random.default_rng(0).choice(len(docs.target_names), n_objects, replace=False)
    kept.sort()
    for part in ("train", "test"):
        mask = np.isin(docs[f"target_{part}"], kept)
        docs[f"target_{part}"] = np.searchsorted(kept, docs[f"target_{part}"][mask])
        docs[f"data_{part}"] = [docs[f"data_{part}"][row] for row in np.flatnonzero(mask)]
    docs.target_names = docs.target_names[kept]
    return docs


def describe(model, n_passages, seconds):
    coef = model[-1].coef_
    n_classes, n_features = coef.shape
    megabytes = (coef.data.nbytes + coef.indices.nbytes + coef.indptr.nbytes) / 1e6
    print(f"N = {n_passages} passages, D = {n_features} words and pairs, K = {n_classes} objects")
    print(f"training took {seconds:.1f} s")
    print(f"the model takes {megabytes:.1f} MB, a dense one {4e-6 * n_classes * n_features:.1f} MB")


def answer(model, names, question):
    targets, scores = predict_topk(model, [question], k=5)
    print(f"\n{question}")
    for target, score in zip(targets[0], scores[0], strict=True):
        print(f"  {score:6.2f}  {names[target]}")


def save_picture(path, docs, ranking):
    """Accuracy against the length of the list, and against the passages to learn from."""
    try:
        import matplotlib
    except ImportError:
        print("\nNo picture: matplotlib is missing, `pip install matplotlib` brings it")
        return
    matplotlib.use("agg")  # draws into the file, opens no window
    import matplotlib.pyplot as plt

    correct = np.cumsum(
        ranking == docs.target_test[:, None], axis=1
    )  # within the top k = 1, 2, ...
    n_train = np.bincount(docs.target_train)[docs.target_test]
    bins = [(2, 2), (3, 3), (4, 5), (6, 9), (10, 16), (17, 30), (31, n_train.max())]
    bins = [(low, high) for low, high in bins if np.any((low <= n_train) & (n_train <= high))]

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    n_objects = len(docs.target_names)
    figure.suptitle(f"Which of {n_objects} functions, classes and methods does a passage describe?")
    left.plot(1 + np.arange(correct.shape[1]), correct.mean(axis=0), "o-", markersize=4)
    left.set(xlabel="k, answers looked at", ylabel="share of passages", ylim=(0, 1))
    left.set_title("The right answer is among the top k")
    left.set_xticks([1, 5, 10, 15, 20])
    for k in (1, 5):
        share = correct[:, k - 1].mean()
        left.annotate(f"{share:.2f}", (k, share), (6, -14), textcoords="offset points")
    for k, offset, colour in [(1, -0.2, "tab:blue"), (5, 0.2, "tab:orange")]:
        shares = [correct[(low <= n_train) & (n_train <= high), k - 1].mean() for low, high in bins]
        bars = right.bar(np.arange(len(bins)) + offset, shares, 0.4, color=colour)
        bars.set_label(f"top {k}")
        right.bar_label(bars, fmt="%.2f", fontsize=8)
    right.set_title("Frequent objects and rare ones")
    right.set_xlabel("training passages of the object (number of objects below)")
    counts = [np.sum((low <= n_train) & (n_train <= high)) for low, high in bins]
    spans = [f"{low}\u2013{high}" if high > low else f"{low}" for low, high in bins]
    ticks = [f"{span}\n({count})" for span, count in zip(spans, counts, strict=True)]
    right.set_xticks(range(len(bins)), ticks)
    right.legend(loc="upper left")
    for axes in (left, right):
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    figure.savefig(path, dpi=150)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
