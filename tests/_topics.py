"""A corpus of topics."""

import numpy as np

from sklearn_xc import LDGSWordEmbedding

TOPICS = [["red", "green", "blue", "pink"], ["dog", "cat", "cow", "hen"], ["one", "two", "six"]]


def a_corpus(n=300, seed=0):
    """Documents of one topic each, with "the" everywhere and a few rare words."""
    rng = np.random.default_rng(seed)
    corpus = []
    for i in range(n):
        topic = TOPICS[rng.integers(len(TOPICS))]
        document = [topic[j] for j in rng.integers(len(topic), size=6)]
        document.insert(int(rng.integers(7)), "the")
        corpus.append(document + [f"rare{i}"] * (i % 50 == 0))
    return corpus


CORPUS = a_corpus()


def model(**changes):
    options = {"dim": 6, "window": 4, "max_iter": 8, "subsample": 0.01, "random_state": 0}
    return LDGSWordEmbedding(**options | changes)
