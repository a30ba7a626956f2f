"""A vectorizer that knows the words of rows and of label texts, and weighs them by the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from ..base._new_classes import rows_in_places
from ..utils._given_labels import is_missing
from ..utils._typing import Matrix


def fitted_vectorizer(
    vectorizer: BaseEstimator, rows: list[str], texts: list[str]
) -> BaseEstimator:
    """Return a copy that is fitted: its vocabulary on rows and texts, its idf on the rows.

    A text is short and names what rows talk about: counted as a row it would make the words of
    names look frequent. So a TfidfVectorizer, also inside a FeatureUnion, takes its idf from the
    rows alone; a word that no row has is as rare as one that a single row has, or rarer, by its
    own formula. Any other vectorizer is fitted on both together.
    """
    copy = clone(vectorizer)
    if isinstance(copy, FeatureUnion):
        copy.transformer_list = [
            (name, part if isinstance(part, str) else fitted_vectorizer(part, rows, texts))
            for name, part in copy.transformer_list
        ]
        return copy
    copy.fit([*rows, *texts])
    if isinstance(copy, TfidfVectorizer) and copy.use_idf:
        counts = CountVectorizer.transform(copy, rows)
        copy.idf_ = idf_of_rows(counts, copy.smooth_idf).astype(copy.dtype)
    return copy


def idf_of_rows(counts: sparse.csr_matrix, smooth: bool) -> np.ndarray:
    """Return ln(n / df) + 1 of each column, as TfidfTransformer has it; df is 1 where it is 0."""
    df = np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)
    n = counts.shape[0] + smooth
    return np.log(n / (df + 1 if smooth else np.maximum(df, 1))) + 1


def read_label_texts(given: Any) -> dict[Any, list[str]]:
    """Return label -> list of its texts, from what a user gives.

    Parameters
    ----------
    given : mapping, Series or DataFrame, or None
        From labels to a text or a sequence of texts; the columns of a DataFrame are texts of the
        labels of its index. What is missing, None or NaN, is no text.

    Raises
    ------
    ValueError
        If it is none of these, a label is there twice or missing, or a text is none.
    """
    if given is None:
        return {}
    if isinstance(given, str) or not (isinstance(given, Mapping) or hasattr(given, "index")):
        raise ValueError(
            "label_texts must be a dict, Series or DataFrame from label to a text or a list of "
            f"texts; got {type(given).__name__}"
        )
    if not isinstance(given, Mapping) and not hasattr(given, "items"):
        raise ValueError(f"label_texts must map labels to texts; got {type(given).__name__}")
    if getattr(given, "ndim", 1) == 2:  # a DataFrame
        values = np.asarray(given, dtype=object)
        pairs = zip(given.index.tolist(), values.tolist(), strict=True)
    else:
        pairs = given.items()
    found = {}
    for label, texts in pairs:
        if is_missing(label):
            raise ValueError("label_texts has a label that is missing (None or NaN)")
        if label in found:
            raise ValueError(f"label_texts names the label {label!r} twice")
        found[label] = _texts_of(label, texts)
    return found


def _texts_of(label: object, texts: Any) -> list[str]:
    """Return the texts of a label as a list."""
    if isinstance(texts, str) or is_missing(texts):
        texts = [texts]
    if not isinstance(texts, (list, tuple, np.ndarray)):
        raise ValueError(
            f"label_texts of {label!r} must be a text or a list of texts, got {texts!r:.60}"
        )
    kept = [text for text in texts if not is_missing(text)]
    for text in kept:
        if not isinstance(text, str):
            raise ValueError(f"label_texts of {label!r} holds {text!r:.60}, which is no text")
    return kept


def read_rows(X: Any) -> list[str]:
    """Return rows of text as a list.

    Raises
    ------
    ValueError
        If X is one text, no sequence, or holds something else than texts.
    """
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise ValueError(
            f"X must be a sequence of texts, such as a list or a Series; got {X!r:.60}"
        )
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(f"X must be a sequence of texts, one a row; got shape {X.shape}")
    rows = list(X)
    for row in rows:
        if not isinstance(row, str):
            raise ValueError(f"X holds {row!r:.60}, which is no text")
    return rows


def as_label_features(
    vectorizer: BaseEstimator, texts: dict[Any, list[str]], labels: list
) -> list[Matrix] | None:
    """Return the texts of labels as matrices of one row a label, or None if there are none.

    The j-th matrix has the j-th text of each label that has so many.
    """
    most = max((len(texts.get(label, ())) for label in labels), default=0)
    if not most:
        return None
    matrices = []
    for j in range(most):
        places = [i for i, label in enumerate(labels) if len(texts.get(label, ())) > j]
        rows = vectorizer.transform([texts[labels[i]][j] for i in places])
        if sparse.issparse(rows):
            matrices.append(rows_in_places(rows, places, len(labels)))
        else:
            matrices.append(np.zeros((len(labels), rows.shape[1]), dtype=rows.dtype))
            matrices[-1][places] = rows
    return matrices
