"""Shared by the examples on probabilities: their data, their options, the plotting library."""

import argparse
from functools import cache

import numpy as np
from quickstart import smaller
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc.datasets import load_docstrings

FEWEST = 20  # objects, so that there are some for every solver to tell apart


def parse_options(description, output):
    """The options --sample and --output."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    add = parser.add_argument
    add("--sample", metavar="N", type=int, default=1000, help="random objects to tell apart")
    add("--passes", metavar="N", type=int, help="passes over the data")
    add("--output", metavar="FILE", default=output, help="where to draw the picture")
    options = parser.parse_args()
    if options.sample < FEWEST:
        parser.error(f"--sample must be at least {FEWEST}")
    if options.passes is not None and options.passes < 1:
        parser.error("--passes must be at least 1")
    return options


@cache
def passages(n_objects):
    """The docstrings of some objects."""
    return smaller(load_docstrings(), n_objects)


def load(n_objects):
    """Passages of the docstrings of some objects as rows of unit length.

    Returns
    -------
    X, X_test : csr_matrix of float32 (n_train, n_words) and (n_objects, n_words)
        TF-IDF of words that occur in two passages or more.
    y, y_test : ndarray of int (n_train,) and (n_objects,)
        The object that a passage describes.
    """
    docs = passages(n_objects)
    words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
    X, X_test = words.fit_transform(docs.data_train), words.transform(docs.data_test)
    n_objects = len(docs.target_names)
    print(f"N = {X.shape[0]} passages, D = {X.shape[1]} words, K = {n_objects} objects")
    return X, docs.target_train, X_test, docs.target_test


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
