"""Texts, their labels, and what labels are called."""

from sklearn_xc import (
    LabelTextClassifier,
    PPDSparseClassifier,
)

ROWS = ["sort an array", "sort a list", "sum of an array", "sum of squares"] * 3

CLASSES = ["sort", "sort", "sum", "sum"] * 3

TEXTS = {"sort": "sort", "sum": ["sum", "total"], "inv": "inverse of a matrix"}

NEW = ["the inverse of it", "the total"]

PLAIN = PPDSparseClassifier(random_state=0)  # where it does not matter: it is fast


def fitted(y=CLASSES, texts=TEXTS, classifier=PLAIN, **parameters):
    return LabelTextClassifier(classifier, label_texts=texts, **parameters).fit(ROWS, y)
