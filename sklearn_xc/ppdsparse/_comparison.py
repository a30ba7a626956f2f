"""The run function of ``loss="crammer_singer"``: one problem over all classes.

A loose one-vs-rest fit names the classes that each sample may be taken for, and its dual variables
are where the descent begins. Then rounds follow: descent over the pairs of samples and classes, and
a search of all samples for classes within the margin, which also gives the primal objective.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from .._kernels.ppdsparse._class_comparison import ClassComparison, renewed_pairs, search_classes
from ..base._classifier import BaseXCClassifier
from ..base._labels import pattern_of
from ..utils._callbacks import Progress
from ..utils._csr import narrow_pointers
from ..utils._matrix import narrow_indices
from ..utils._memory_limit import require_memory
from ..utils._parallel import effective_threads
from ..utils._rows import Rows
from ..utils._scratch import Scratch
from ._checkpoint import Checkpoint
from ._problem import OneVsRestProblem
from ._solver import LOWEST_SCORE, fit_classes

START_TOL = 0.2  # of the one-vs-rest fit
N_PASSES = 3  # of a descent between two searches
N_FOUND = 30  # classes that a search names for a sample, beside as many as it has, by default
ROWS_AT_ONCE = 4096  # of a search, between two looks for Ctrl-C
REFUSED = {  # parameters that speak of classes solved apart, and what they are by default
    "checkpoint": None,
    "scratch": None,
    "sparsification": None,
    "feature_threshold": 0.0,
    "graded": False,
}
# Starts of the pairs of each sample, their classes (the own one first) and dual variables.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


def require_comparable(model: BaseXCClassifier) -> None:
    """Raise ValueError for labels and parameters that the loss has no meaning for."""
    if model.loss != "crammer_singer":
        return
    if model._encoding.kind == "multilabel":
        raise ValueError(
            "loss='crammer_singer' compares the class of a sample with all others; got an "
            "indicator y: give 1-D y, or loss='squared_hinge'"
        )
    for name, default in REFUSED.items():
        value = getattr(model, name)
        if value != default:
            raise ValueError(
                f"{name}={value!r} is for classes that are solved apart, not for "
                f"loss='crammer_singer'; leave it {default!r}"
            )


class Comparison(NamedTuple):
    """Samples of one class each."""

    rows: Rows  # sparse
    own: np.ndarray  # int32 (n_samples,), the class of each
    costs: np.ndarray  # float32 (n_samples,), factors on the losses, above zero
    kept: np.ndarray  # int64 (n_samples,), their numbers among the samples of the fit
    n_classes: int

    @classmethod
    def of(cls, problem: OneVsRestProblem) -> "Comparison":
        """Take the samples of weight above zero; two classes have one column in the problem."""
        Y = pattern_of(problem.Y)
        if Y.shape[1] == 1:
            own, weight = np.diff(Y.indptr).astype(np.int32), problem.class_weight[0]
        else:
            own, weight = Y.indices.astype(np.int32), problem.class_weight[:, 1]
        costs = (problem.sample_weight * weight[own]).astype(np.float32)
        kept = np.flatnonzero(costs > 0)
        rows = problem.rows if len(kept) == len(own) else problem.rows.take(kept)
        return cls(rows.as_sparse(), own[kept], costs[kept], kept, max(2, Y.shape[1]))

    def pairs(self, dual: sparse.csr_array) -> Pairs:
        """Return starts, classes and dual variables of the pairs that `dual` names.

        It is (n_columns, n_samples), of a one-vs-rest fit or of this loss.
        """
        by_sample = sparse.csr_array(dual.T)[self.kept]
        if dual.shape[0] == 1:  # each sample is in a pair with the other class
            other = 1 - self.own[np.repeat(np.arange(len(self.own)), np.diff(by_sample.indptr))]
            by_sample = sparse.csr_array(
                (by_sample.data, other, by_sample.indptr), shape=(len(self.own), 2)
            )
        n = np.diff(by_sample.indptr)
        sample = np.repeat(np.arange(len(n)), n)
        # An own class's dual variable is the sum of the others: that of one-vs-rest is of no use.
        others = by_sample.indices != self.own[sample]
        sample, classes, alpha = sample[others], by_sample.indices[others], by_sample.data[others]
        sums = np.bincount(sample, alpha, minlength=len(n))
        # sum_k a_k <= C_i, which one-vs-rest duals need not keep.
        scale = np.minimum(1, self.costs / np.maximum(sums, 1e-30))
        starts = np.append(0, np.cumsum(1 + np.bincount(sample, minlength=len(n))))
        # Each sample begins with its own class, so pair p of sample i stands at p + i + 1.
        at = np.arange(len(sample)) + sample + 1
        all_classes, all_alpha = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        all_classes[starts[:-1]], all_alpha[starts[:-1]] = self.own, scale * sums
        all_classes[at], all_alpha[at] = classes, scale[sample] * alpha
        return starts, all_classes, all_alpha


class Model(NamedTuple):
    """Weights of all classes and what they come to."""

    coef: sparse.csr_array
    intercept: np.ndarray
    primal: float
    found: np.ndarray  # int32 (n_samples * n_found + n_pairs,), as `search_classes` leaves it


def compare_classes(
    problem: OneVsRestProblem,
    settings: dict[str, Any],
    *,
    feature_threshold: float,
    dual: sparse.csr_array | None,
    keep_dual: bool,
    n_jobs: int | None,
    progress: Progress,
    scratch: Scratch,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """Solve the problem of all classes together; arguments and result as of `fit_classes`.

    `dual` may be of either loss. The gap is that of the whole problem, the same for each class.
    """
    n_visits = 0.0
    if dual is None:
        # It only has to find which classes a sample may be taken for, and about how much.
        loose = settings | {"tol": max(START_TOL, settings["tol"]), "prune": 0.0}
        start = fit_classes(
            problem,
            loose,
            feature_threshold=feature_threshold,
            dual=None,
            keep_dual=True,
            n_jobs=n_jobs,
            progress=Progress(),
            scratch=scratch,
        )
        dual, n_visits = start["dual"], start["n_visits"]
    comparison = Comparison.of(problem)
    solver = Rounds(comparison, settings, effective_threads(n_jobs))
    model, gap, pairs, n_iter = solver.run(comparison.pairs(dual), progress)
    result = {
        "gap": gap,
        "n_iter": n_iter,
        "n_visits": n_visits + n_iter * len(comparison.own),
        "dual": _duals_of(comparison, pairs, problem.Y.shape),
    }
    coef, intercept = model.coef, model.intercept
    n_active = np.bincount(pairs[1], minlength=comparison.n_classes)
    if problem.Y.shape[1] == 1:
        # One column for two classes: the sign of z_1 - z_0 decides, and so does its size.
        coef, intercept = coef[[1]] - coef[[0]], intercept[[1]] - intercept[[0]]
        n_active = n_active[1:]
    result |= {"gap": np.full(len(intercept), gap), "n_active": n_active}
    coef, intercept = problem.penalties.model_outside(sorted_rows(coef), intercept)
    return result | {"coef": coef, "intercept": intercept}


def _duals_of(comparison: Comparison, pairs: Pairs, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the dual variables by class, (n_columns, n_samples)."""
    starts, classes, alpha = pairs
    sample = np.repeat(comparison.kept, np.diff(starts))
    if shape[1] == 1:
        classes, alpha = np.zeros_like(classes[starts[:-1]]), alpha[starts[:-1]]
        sample = comparison.kept
    there = alpha > 0
    entries = alpha[there], (classes[there], sample[there])
    return sorted_rows(sparse.csr_array(entries, shape=shape[::-1]))


def sorted_rows(csr: sparse.csr_array) -> sparse.csr_array:
    """Return sparse rows without zeros, ascending, with int32 indices; changes them in place."""
    csr.eliminate_zeros()
    csr.sort_indices()
    return narrow_indices(csr)


class Rounds:
    """Rounds of descent, on one thread, and search until the duality gap is closed."""

    def __init__(self, comparison: Comparison, settings: dict[str, Any], n_threads: int) -> None:
        self._data, self._settings, self._n_threads = comparison, settings, n_threads
        # x_{i,0} = 1 is part of ||x_i||^2 where there is an intercept.
        squares = comparison.rows.squared_norms() + bool(settings["intercept"])
        self._squares = np.maximum(squares, 1e-20).astype(np.float32)
        self._n_found = min(settings["n_select"] or N_FOUND, comparison.n_classes - 1)
        counts = np.bincount(comparison.own, minlength=comparison.n_classes)
        self._missing = counts == 0
        self._rng = np.random.default_rng(settings["seed"])

    def run(self, pairs: Pairs, progress: Progress) -> tuple[Model, float, Pairs, int]:
        """Return the model, its gap, its pairs with their dual variables, the number of rounds."""
        settings = self._settings
        progress.start(settings["max_iter"], name="round")
        for number in range(1, settings["max_iter"] + 1):
            progress.begin()
            solver = self._descend(pairs)
            model = self._search(*self._weights(solver), pairs)
            dual = self._dual_objective(model, pairs)
            gap = (model.primal - dual) / max(model.primal, 1e-30)
            if progress.end(gap=gap) or gap <= settings["tol"]:
                break
            if number < settings["max_iter"]:
                # Pairs without a dual variable leave, new violators join: Algorithm 1, steps 2 and
                # 4.
                pairs = renewed_pairs(*pairs, model.found)
        return *self._pruned(model, gap, dual, pairs), pairs, number

    def _descend(self, pairs: Pairs) -> ClassComparison:
        """Make passes over all samples, each in a random order; changes the dual variables."""
        rows, settings = self._data.rows, self._settings
        # A place for each feature of each pair, in three arrays of four bytes.
        n_places = int(np.diff(pairs[0]) @ np.diff(rows.indptr))
        require_memory(
            12 * n_places,
            f"fit: {len(pairs[1])} pairs of a sample and a class",
            "use loss='squared_hinge', which solves classes apart",
        )
        solver = ClassComparison(
            *rows[:3],
            self._squares,
            self._data.costs,
            *pairs,
            (self._data.n_classes, rows.shape[1]),
            settings["l1"],
            settings["l2"],
            settings["intercept"],
        )
        stop = np.zeros(1, dtype=np.int32)
        for _ in range(N_PASSES):
            solver.descend(self._rng.permutation(len(self._squares)).astype(np.int32), stop)
        return solver

    def _weights(self, solver: ClassComparison) -> tuple[sparse.csr_array, np.ndarray]:
        """Return weights and intercepts, the lowest of classes that no sample has."""
        indptr, indices, data, intercept = solver.weights()
        shape = self._data.n_classes, self._data.rows.shape[1]
        coef = sparse.csr_array((data, indices, narrow_pointers(indptr)), shape=shape)
        coef.eliminate_zeros()
        # A class without a sample has no term that would raise it.
        return coef, np.where(self._missing, LOWEST_SCORE, intercept)

    def _search(self, coef: sparse.csr_array, intercept: np.ndarray, pairs: Pairs) -> Model:
        """Score all classes of all samples."""
        data, lists = self._data, coef.tocsc()
        lists = lists.indptr.astype(np.int64), lists.indices.astype(np.int32), lists.data
        n, (starts, classes, _) = len(data.own), pairs
        found, losses = np.empty(n * self._n_found + starts[-1], np.int32), np.float64(data.costs)
        for first in range(0, n, ROWS_AT_ONCE):
            end = min(n, first + ROWS_AT_ONCE)
            places = slice(*(i * self._n_found + starts[i] for i in (first, end)))
            search_classes(
                *data.rows.block(first, end)[:3],
                *lists,
                intercept,
                starts[first : end + 1],
                classes,
                found[places],
                losses[first:end],
                self._n_threads,
            )
        primal = losses.sum() + self._settings["l1"] * np.abs(coef.data).sum(dtype=np.float64)
        return Model(coef, intercept, primal + self._shrinkage(coef, intercept), found)

    def _shrinkage(self, coef: sparse.csr_array, intercept: np.ndarray) -> float:
        """Return l2 / 2 times the squares of weights and intercepts."""
        there = intercept[~self._missing].astype(np.float64)
        squares = np.square(coef.data.astype(np.float64)).sum() + there @ there
        return self._settings["l2"] / 2 * squares

    def _dual_objective(self, model: Model, pairs: Pairs) -> float:
        """Return D, of which `model` has the weights."""
        starts, _, alpha = pairs
        alpha = alpha.astype(np.float64)
        # D = sum a_k - sum a_k^2 / (2 C_i) - l2 / 2 (|w|^2 + b^2), as w = S(v) / l2.
        alpha[starts[:-1]] = 0  # of own classes, which are sums
        costs = np.repeat(self._data.costs, np.diff(starts))
        losses = (alpha - alpha**2 / (2 * costs)).sum()
        return losses - self._shrinkage(model.coef, model.intercept)

    def _pruned(self, model: Model, gap: float, dual: float, pairs: Pairs) -> tuple[Model, float]:
        """Return the model without small weights and its gap, if that is closed as well."""
        # A score moves by sum |w_j x_ij| over what is dropped, and so by `prune` at most.
        largest = self._settings["prune"] / max(self._data.rows.magnitudes().max(), 1e-30)
        if largest <= 0 or gap > self._settings["tol"]:
            return model, gap
        coef = model.coef.copy()
        coef.data[np.abs(coef.data) <= largest] = 0
        coef.eliminate_zeros()
        pruned = self._search(coef, model.intercept, pairs)
        gap_of_pruned = (pruned.primal - dual) / max(pruned.primal, 1e-30)
        if gap_of_pruned <= self._settings["tol"]:
            return pruned, gap_of_pruned
        return model, gap
