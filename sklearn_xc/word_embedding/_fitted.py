"""Checks of the state of fitted word vectors."""

import numpy as np
from sklearn.base import BaseEstimator

from ..utils._records import is_a, is_array, is_count, is_not_negative, is_text, require_attributes


def check_loaded(model: BaseEstimator) -> None:
    """Raise ValueError if attributes that were loaded do not fit together."""
    vectors = is_array(np.float32, ndim=2)
    require_attributes(
        model,
        vocabulary_=is_a(dict),
        embeddings_=vectors,
        context_embeddings_=vectors,
        word_counts_=is_array(np.float64, least=0),
        n_pairs_=is_not_negative,
        n_iter_=is_count,
        n_scored_=is_not_negative,
        loss_curve_=is_array(np.float64),
        objective_=is_a(float, np.floating),
    )
    n_words, counts = len(model.vocabulary_), vars(model).get("word_counts_")
    if sorted(model.vocabulary_.values()) != list(range(n_words)) or not all(
        map(is_text, model.vocabulary_)
    ):
        raise ValueError("vocabulary_ does not number words from 0 on")
    shapes = {model.embeddings_.shape, model.context_embeddings_.shape}
    if len(shapes) > 1 or len(model.embeddings_) != n_words or len(counts) != n_words:
        raise ValueError(f"vectors of shapes {shapes} for {n_words} words")
