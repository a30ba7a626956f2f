"""A vectorizer that knows the words of samples and label texts, and weighs them by the samples."""

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
    """Return a copy that is fitted: its vocabulary on samples and texts, its idf on the samples.

    This holds for a TfidfVectorizer, also inside a FeatureUnion; any other is fitted on both.
    """
    copy = clone(vectorizer)
    if isinstance(copy, FeatureUnion):
        copy.transformer_list = [
            (name, part if isinstance(part, str) else fitted_vectorizer(part, rows, texts))
            for name, part in copy.transformer_list
        ]
        return copy
    # With a vocabulary of the samples alone a name would lose words that only new samples have.
    copy.fit([*rows, *texts])
    # A text is short and names what samples talk about: counted as a sample it would make the words
    # of names look frequent. A word that no sample has is as rare as one that a single sample has,
    # or rarer, by the vectorizer's own formula.
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
    """Return label -> list of its texts, from a mapping, Series or DataFrame.

    The columns of a DataFrame are texts of the labels of its index. A missing value, None or NaN,
    is no text. ValueError if a label is there twice or missing, or a text is none.
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
    # `items` of a DataFrame would be its columns; of a Series and of a dict they are labels.
    if getattr(given, "ndim", 1) == 2:
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
    """Return samples of text as a list; ValueError if X is one text, or holds anything else."""
    # A text is a sequence too, of letters: one sample given without a list would become many.
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise ValueError(
            f"X must be a sequence of texts, such as a list or a Series; got {X!r:.60}"
        )
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(f"X must be a sequence of texts, one a sample; got shape {X.shape}")
    rows = list(X)
    for i, row in enumerate(rows):
        if not isinstance(row, str):
            n_missing = sum(map(is_missing, rows)) if is_missing(row) else 0
            hint = (
                f"; {n_missing} of {len(rows)} texts are missing: drop these samples, or fill "
                "them, as by X.fillna('')"
            )
            raise ValueError(
                f"X holds {row!r:.60}, which is no text, for sample {i}{hint if n_missing else ''}"
            )
    return rows


def as_label_features(
    vectorizer: BaseEstimator, texts: dict[Any, list[str]], labels: list
) -> list[Matrix] | None:
    """Return the texts of labels as matrices of one row a label, or None if there are none."""
    # The j-th matrix has the j-th text of each label that has so many, and rows of zeros for
    # others: synonyms stay texts of their own, of which the best speaks, instead of one long text.
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
