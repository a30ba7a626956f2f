"""What LDGSClassifier predicts with: embeddings, scores by distance, the threshold of labels."""

import numpy as np
from scipy import sparse

from .._kernels.ldgs import _row_updates
from ..mips import ExactIndex, HNSWIndex, SphericalIndex
from ..topk._inverted_index import InvertedIndex
from ..utils._locks import ForkSafeLock
from ..utils._matrix import as_matrix, as_rows
from ..utils._random import stream

SCORES_AT_ONCE = 2**22
JUDGED = 2000  # samples that choose the threshold above which labels are predicted
HIGHEST = 100  # of the scores of a sample that take part


def embedded(rows, table, n_threads):
    """Embeddings of samples, ndarray of float32 (n_rows, dim).

    Parameters
    ----------
    rows : Rows
    table : ndarray of float32 (n_features, dim), or None: the samples themselves
    n_threads : int
    """
    if table is None:
        X = as_matrix(rows)
        return X if rows.dense else X.toarray()
    table = np.ascontiguousarray(table, dtype=np.float32)
    if rows.shape[1] != len(table):
        raise ValueError(
            f"X has {rows.shape[1]} features, but input_embeddings_ has {len(table)} rows"
        )
    E = np.empty((rows.shape[0], table.shape[1]), dtype=np.float32)
    begin = np.ascontiguousarray(rows.indptr[:-1])
    _row_updates.combine(
        rows.indices, rows.data, begin, np.diff(rows.indptr), rows.dense, table, E, n_threads
    )
    return E


def dense(coef):
    """Label embeddings, which `sparsify` may have made sparse, as an ndarray of float32."""
    return np.asarray(coef.toarray() if sparse.issparse(coef) else coef, dtype=np.float32)


class Distances:
    """Scores minus the squared distance to each label embedding, plus its intercept.

    Parameters
    ----------
    coef : ndarray of float32 (n_classes, dim)
    intercept : ndarray of float32 (n_classes,)
    binary : bool
        Whether the one score is that of the second class minus that of the first.
    """

    def __init__(self, coef, intercept, binary):
        coef = dense(coef)
        self._whole = np.float32(0 if binary else -1)  # the factor of ||x||^2
        intercept = intercept - np.einsum("ij,ij->i", coef, coef, dtype=np.float64)
        coef = 2 * coef
        if binary:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        last = np.full((len(coef), 1), self._whole, dtype=np.float32)
        self._index = InvertedIndex(np.hstack([coef, last]), intercept.astype(np.float32))

    def _rows(self, rows):
        X = as_matrix(rows)
        return as_rows(np.hstack([X, np.einsum("ij,ij->i", X, X)[:, None]]))

    def topk(self, rows, k, n_threads):
        return self._index.topk(self._rows(rows), k, n_threads)

    def scores(self, rows, n_threads):
        return self._index.scores(self._rows(rows), n_threads)

    def positives(self, rows, n_threads):
        return self._index.positives(self._rows(rows), n_threads)


class Search:
    """An index of label embeddings, built when first asked; anew when they are replaced.

    Parameters
    ----------
    kind : {"spherical", "hnsw", "exact"}
    n_jobs : int or None
    """

    def __init__(self, kind, n_jobs):
        self._make = {"spherical": SphericalIndex, "hnsw": HNSWIndex, "exact": ExactIndex}[kind]
        self._n_jobs = n_jobs
        self._lock, self._built = ForkSafeLock(), (None, None, None)  # of what, and the index

    def topk(self, rows, k, coef, intercept, squared):
        """The k best classes of each row, their scores, and the recall@10 that was measured.

        Parameters
        ----------
        rows : Rows
            Embeddings.
        k : int
        coef, intercept : ndarray of float32 (n_classes, dim) and (n_classes,)
        squared : bool
            Whether scores are minus squared distances.
        """
        X = as_matrix(rows)
        constant = np.ones((rows.shape[0], 1), dtype=np.float32)
        queries = (
            sparse.csr_array(sparse.hstack([X, constant]))
            if sparse.issparse(X)
            else (np.hstack([2 * X if squared else X, constant]))
        )
        with self._lock:
            if self._built[0] is not coef or self._built[1] is not intercept:
                # at once, when it is done: a child may be forked, or the build fail, on the way
                self._built = coef, intercept, self._build(coef, intercept, squared, queries)
            index = self._built[2]
        ids, scores = index.query(queries, k)
        if squared:
            scores = scores - np.einsum("ij,ij->i", X, X)[:, None]
        return ids, scores, index.recall_

    def _build(self, coef, intercept, squared, queries):
        coef, last = dense(coef), np.array(intercept, dtype=np.float32)
        if squared:
            last -= np.einsum("ij,ij->i", coef, coef)
        index = self._make(n_jobs=self._n_jobs, random_state=0)
        return index.build(np.hstack([coef, last[:, None]]), queries)


def score_blocks(steps, samples):
    """Slices of `samples`, and their scores (n, n_classes) while they are trained."""
    size = max(1, SCORES_AT_ONCE // steps.n_classes)
    for start in range(0, len(samples), size):
        part = slice(start, start + size)
        yield part, steps.scores(samples[part])


def precision_at_1(steps, samples, sample_weight):
    """Share of the samples, by their weights, whose best class is one of theirs."""
    hits, positives = np.zeros(len(samples), dtype=bool), steps.positives
    for part, scores in score_blocks(steps, samples):
        hits[part] = [
            best in positives.ids[positives.indptr[i] : positives.indptr[i + 1]]
            for i, best in zip(samples[part], scores.argmax(axis=1), strict=True)
        ]
    weight = None if sample_weight is None else sample_weight[samples].astype(np.float64)
    return float(np.average(hits, weights=weight))


def best_threshold(steps, samples, sample_weight):
    """The score above which labels are best predicted: that of the highest micro-averaged F1.

    Parameters
    ----------
    steps : Steps
        That have been made.
    samples : ndarray of int
        Those to judge by; of more than `JUDGED`, so many are drawn.
    sample_weight : ndarray of float32 (n_samples,), or None
    """
    positives, seed = steps.positives, steps.seed
    if len(samples) > JUDGED:
        rng = stream(seed, "threshold")
        samples = np.sort(rng.choice(samples, JUDGED, replace=False))
    weight = np.ones(len(positives.indptr) - 1) if sample_weight is None else sample_weight
    n_best = min(HIGHEST, steps.n_classes)
    n_positive = np.diff(positives.indptr)[samples] @ weight[samples]
    values, hits, counted = [], [], []
    for part, scores in score_blocks(steps, samples):
        best = np.argpartition(-scores, n_best - 1, axis=1)[:, :n_best]
        values.append(np.take_along_axis(scores, best, axis=1).ravel())
        counted.append(np.repeat(weight[samples[part]], n_best))
        for i, found in zip(samples[part], best, strict=True):
            own = positives.ids[positives.indptr[i] : positives.indptr[i + 1]]
            hits.append(np.isin(found, own))
    values, counted = np.concatenate(values), np.concatenate(counted)
    order = np.argsort(-values, kind="stable")
    values, counted = values[order], counted[order].astype(np.float64)
    found = np.cumsum(np.concatenate(hits)[order] * counted)
    f1 = 2 * found / (np.cumsum(counted) + n_positive)
    last = int(np.argmax(f1))  # the lowest score that is still predicted
    below = values[last + 1] if last + 1 < len(values) else values[last] - 1
    return np.float32((values[last].astype(np.float64) + below) / 2)
