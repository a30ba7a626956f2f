"""Top-k predictions of pipelines, searches and other wrappers."""

from ..utils._unwrap import find_inner


def predict_topk(estimator, X, k=None, scores="decision", sparse_output=False):
    """The k best classes of each sample, also through pipelines and searches.

    Looks for an estimator with the method ``predict_topk`` inside a fitted
    :class:`~sklearn.pipeline.Pipeline` (X goes through its other steps first), a search such as
    :class:`~sklearn.model_selection.GridSearchCV` (its ``best_estimator_``) and a
    :class:`~sklearn.frozen.FrozenEstimator`, nested in any order.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse, or whatever the first step of a pipeline takes
    k : int, default=None
        Number of classes; by default the smaller of 5 and the number of classes.
    scores : {"decision", "proba"}, default="decision"
        What to return beside the labels.
    sparse_output : bool, default=False
        Whether to return one sparse matrix with k entries a row instead of two arrays.

    Returns
    -------
    labels : ndarray of shape (n_samples, k)
    scores : ndarray of float32, shape (n_samples, k)
    matrix : csr_array of float32, shape (n_samples, n_classes)
        In their place with `sparse_output`.

    Raises
    ------
    TypeError
        If no estimator with ``predict_topk`` is found, or a search has ``refit=False``.
    sklearn.exceptions.NotFittedError
        If a part that is needed has not been fitted.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_xc import PPDSparseClassifier, predict_topk
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> passages += ["invert a matrix", "inverse of a square matrix"]
    >>> names = ["sort", "sort", "sum", "sum", "inv", "inv"]
    >>> model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier()).fit(passages, names)
    >>> labels, scores = predict_topk(model, ["how to sort?", "the inverse of it"], k=2)
    >>> labels[:, 0].tolist(), labels.shape, scores.shape
    (['sort', 'inv'], (2, 2), (2, 2))
    """
    inner = find_inner(estimator, "predict_topk")
    options = {"scores": scores} if scores != "decision" else {}
    if sparse_output:
        options["sparse_output"] = True
    return inner.estimator.predict_topk(inner.transform(X), k, **options)
