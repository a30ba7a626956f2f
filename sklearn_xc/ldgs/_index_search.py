"""The k best classes by an index of label embeddings: `predict_topk` of LDGSClassifier."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..base._validation import as_it_is
from ..mips import ExactIndex, HNSWIndex, SphericalIndex
from ..topk._inverted_index import topk_matrix
from ..topk._weight_store import store_of
from ..utils._locks import ForkSafeLock
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ..utils._validation import check_k


class SearchesLabels:
    """Mixin of `predict_topk` with an index of label embeddings."""

    def predict_topk(
        self,
        X: MatrixLike,
        k: int | None = None,
        scores: str = "decision",
        sparse_output: bool = False,
        search: str = "exact",
        *,
        labels: LabelsLike | None = None,
        exclude: LabelsLike | None = None,
        label_weight: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray] | sparse.csr_array:
        """Return the k best classes of each sample, best first; never builds all scores.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        k : int, default=None
            From 1 to the number of classes K; by default the smaller of 5 and K.
        scores : {"decision", "proba"}, default="decision"
            What to return with the labels: scores as of :meth:`decision_function`, or
            probabilities, where there are any; these need the scores of all classes.
        sparse_output : bool, default=False
            Whether to return one sparse matrix with k entries a sample instead of two arrays.
        search : {"exact", "index"}, default="exact"
            "index" queries an index of the kind `index` for the best label embeddings. It is built
            at the first such call, on whose samples it measures how many of the ten best it names
            (``search_recall_``); below 0.9 it warns and answers exactly. Scores are exact.
        labels, exclude : sequence of labels, one sequence of labels a sample, or sparse \
                indicator, default=None
            The only labels that an answer may hold, and those that it may not; exact only. See
            :meth:`PPDSparseClassifier.predict_topk`.
        label_weight : array-like of shape (K,), default=None
            What is added to the score of each class.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Entries of ``classes_``. Ties go to the class that stands first there.
        scores : ndarray of float32, shape (n_samples, k)
            For two classes ``-f`` and ``f``, where f is the decision function.

        Raises
        ------
        ValueError
            If k is not an integer from 1 to K, scores or search is not one of the two, there are
            no probabilities, or the index is queried for them, or for some labels only.
        """
        if search not in ("exact", "index"):
            raise ValueError(f"search must be 'exact' or 'index', got {search!r}")
        only = {"labels": labels, "exclude": exclude, "label_weight": label_weight}
        if search == "exact":
            return super().predict_topk(X, k, scores, sparse_output, **only)
        # An index knows all labels: those of a restriction might not be among the best that it
        # names.
        for name, given in only.items():
            if given is not None:
                raise ValueError(
                    f"search='index' looks for all labels: {name} needs search='exact'"
                )
        if scores != "decision":
            raise ValueError(f"search='index' gives scores='decision' only, got scores={scores!r}")
        now = as_it_is(self)  # another thread may fit meanwhile
        rows = now._rows(X)
        k = check_k(k, len(now.classes_))
        if now._encoding.kind == "binary":  # one score a sample: nothing to search
            self.search_recall_ = 1.0
            return super().predict_topk(X, k, scores, sparse_output)
        search = vars(self).setdefault("_search", Search(now.index, now.n_jobs))
        best, values, self.search_recall_ = search.topk(
            rows, k, now.coef_, now.intercept_, now._squared
        )
        if sparse_output:
            return topk_matrix(best, values, len(now.classes_))
        return now.classes_[best], values


class Search:
    """An index of label embeddings, built when first queried, and again when they are replaced."""

    def __init__(self, kind: str, n_jobs: int | None) -> None:
        self._make = {"spherical": SphericalIndex, "hnsw": HNSWIndex, "exact": ExactIndex}[kind]
        self._n_jobs = n_jobs
        self._lock, self._built = ForkSafeLock(), (None, None, None)  # of what, and the index

    def topk(
        self, rows: Rows, k: int, coef: np.ndarray, intercept: np.ndarray, squared: bool
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the k best classes of each row, their scores, and the recall@10 that was measured.

        The rows are embeddings; `squared` says that scores are minus squared distances.
        """
        X = rows.matrix()
        # The constant of a class is the inner product with 1: <x, w> + b, or 2 <x, w> - ||w||^2 +
        # b. The last is the score but for ||x||^2, which is the same for all classes of a sample.
        constant = np.ones((rows.shape[0], 1), dtype=np.float32)
        queries = (
            sparse.csr_array(sparse.hstack([X, constant]))
            if sparse.issparse(X)
            else (np.hstack([2 * X if squared else X, constant]))
        )
        with self._lock.held:
            if self._built[0] is not coef or self._built[1] is not intercept:
                # at once, when it is done: a child may be forked, or the build fail, on the way
                self._built = coef, intercept, self._build(coef, intercept, squared, queries)
            index = self._built[2]
        ids, scores = index.query(queries, k)
        # What was left out above.
        if squared:
            scores = scores - np.einsum("ij,ij->i", X, X)[:, None]
        return ids, scores, index.recall_

    def _build(
        self, coef: np.ndarray, intercept: np.ndarray, squared: bool, queries: Matrix
    ) -> SphericalIndex | HNSWIndex | ExactIndex:
        """Return an index of label embeddings, each with its constant as one more column."""
        coef, last = store_of(coef).dense(), np.array(intercept, dtype=np.float32)
        if squared:
            last -= np.einsum("ij,ij->i", coef, coef)
        index = self._make(n_jobs=self._n_jobs, random_state=0)
        return index.build(np.hstack([coef, last[:, None]]), queries)
