"""The choice of l1 and l2: fits of a few classes, scored on held-out samples.

Which penalties are right depends on how clean the labels are, which samples alone do not tell:
where samples of one label are nearly alike, little shrinkage is right, and where labels are mostly
chance, much. The pilot holds out some samples, fits the labels that they may be taken for on the
other samples, and keeps the pair of penalties that ranks the labels of the held-out samples best.

The pilot is small. It fits the labels of the held-out samples and of their nearest neighbours, as
many as a share of the work of the whole fit allows, on the positives of these labels and some of
all other samples, and each fit begins with the dual variables of an earlier one.
"""

from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse

from ..base._classifier import BaseXCClassifier
from ..base._labels import pattern_of
from ..metrics._gains import ndcg_of_rows
from ..utils._callbacks import Progress
from ..utils._coordinates import Coordinates
from ..utils._parallel import in_threads, local_workers
from ..utils._rows import Rows
from ..utils._scratch import Scratch
from ..utils._stacked_rows import stacked
from ._factor_search import Pair, choose_factors
from ._problem import OneVsRestProblem, in_units
from ._solver import arrange, fit_classes

# Factors on the penalties that the rows suggest, which are the first pair.
L1_FACTORS, L2_FACTORS = (0.02, 0.2, 1.0, 4.0), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SINGLE = 0.2, 0.3  # factors where no label has two samples
TOL = 0.1  # of the fits: with 0.05 they take a fifth longer and choose no better

MOST_DRAWN, FEWEST_HELD = 500, 100  # held-out samples that are drawn; fewest of all
FEWEST_FOR_WORK = 75  # of all where there are more, but with too many classes to fit
DRAWN_AT_ONCE = 25  # whose labels and neighbours' labels come in together; fewest that are drawn
# Further samples of a label of each drawn one, which cost no further classes: so many, or as many
# as make up for few that are drawn.
MORE, WITH_MORE = 3, 200
HELD_SHARE = 5  # one in so many positives of a label is held out, or one of two to nine
# Labels of the neighbours of a held-out sample, at least, and among how many samples these are.
N_NEIGHBOURS, MOST_SEARCHED = 3, 50_000
FEW_CLASSES = 100  # which are those of the drawn samples anyway
# Visits of samples by a fit, for a class and for each of its positives: within a third of what five
# data sets of 160 to 19,000 classes take, half of what a sixth does. A fit of a pilot may have this
# share of those of the whole fit, or as many as have so many entries of samples.
CLASS_VISITS, POSITIVE_VISITS = 3000, 100
# Samples of several labels tell more each and take half.
WORK_SHARE, LEAST_WORK, LEAST_FOR_SEVERAL = 0.08, 1e8, 5e7
ROW_ENTRIES, AT_ONCE = 8, 4  # what a visit costs beside its entries; of dense samples at a time
FEWEST_POSITIVES, POSITIVES_SHARE = 20_000, 10  # positives kept, at most so many or one in so many
# Positives of a class that are sure to be kept, or a quarter of them; of samples of several labels.
MOST_POSITIVES, MOST_OF_SEVERAL = 50, 16
OTHERS_SHARE, MOST_OTHERS = 2, 50_000  # one in so many of the other samples is kept, or fewer
PRODUCTS_AT_ONCE, SCORES_AT_ONCE = 1 << 18, 1 << 18
SEED = 0  # the same samples are held out whatever the seed of the descent

TOP = 5
ONE_LABEL = 1.3  # labels of a sample, below which it counts as a sample of one
LOWEST = -1e9  # score of a class without positives


def choose_penalties(
    problem: OneVsRestProblem, model: BaseXCClassifier, settings: dict[str, Any]
) -> tuple[float, float]:
    """Choose factors on the penalties that the rows suggest.

    A factor is 1 for a penalty that is not "auto" or a multiple of it. Of the model the parameters
    l1, l2 and n_jobs are read.
    """
    units, times = zip(in_units(model.l1, "l1"), in_units(model.l2, "l2"), strict=True)
    if "auto" not in units:
        return 1.0, 1.0
    free = tuple(unit == "auto" for unit in units)
    penalties = problem.penalties
    # Multiples of "auto" are applied to what the pilot chooses, so that it searches without them.
    suggested = penalties._replace(l1=penalties.l1 / times[0], l2=penalties.l2 / times[1])
    n_threads = local_workers(model.n_jobs)
    pilot = pilot_of(problem._replace(penalties=suggested), n_threads)
    if pilot is None:
        single = SINGLE if _labels_are_single(problem) else (1.0, 1.0)
        return single[0] if free[0] else 1.0, single[1] if free[1] else 1.0
    scores = PilotScores(pilot, settings, n_threads)
    with joblib.parallel_config(backend="threading"):  # too small for processes or a cluster
        return choose_factors(
            scores, L1_FACTORS if free[0] else (1.0,), L2_FACTORS if free[1] else (1.0,)
        )


def _labels_are_single(problem: OneVsRestProblem) -> bool:
    """Return whether there are many labels and most of them have one sample."""
    problem = problem.samples()
    counts = _counts_of(pattern_of(problem.Y)[problem.sample_weight > 0])
    return len(counts) >= FEWEST_HELD and np.median(counts[counts > 0]) == 1


def _counts_of(Y: sparse.csr_array) -> np.ndarray:
    """Count the positives of each class."""
    return np.bincount(Y.indices, minlength=Y.shape[1])


# ------------------------------------------------------------------------------- the sub-problem


class Pilot(NamedTuple):
    """A sub-problem and the samples that score its fits."""

    problem: OneVsRestProblem  # of some samples and some classes, in the coordinates of the fit
    held_rows: Rows
    truth: np.ndarray  # bool (n_held, n_classes)
    weight: np.ndarray  # float64 (n_held,)


def pilot_of(problem: OneVsRestProblem, n_threads: int = 1) -> Pilot | None:
    """Hold out samples and choose the classes and samples to fit; None if there are too few."""
    # Texts are never held out: they are no samples.
    rng = np.random.default_rng(SEED)
    with_texts, problem = problem, problem.samples()
    problem = _without_samples_of_weight_zero(problem)
    Y, weight = pattern_of(problem.Y), problem.sample_weight
    draw = _Draw(Y, rng)
    drawn = draw.samples()
    if len(drawn) < FEWEST_HELD // 2:
        return None
    others = np.setdiff1d(np.arange(Y.shape[0]), drawn, assume_unique=True)
    # Labels of the neighbours are those that a held-out sample may be taken for. Few classes are
    # those of the drawn samples anyway.
    neighbours = None
    if Y.shape[1] > FEW_CLASSES:
        neighbours = _Neighbours(problem.rows, rng.permutation(others)[:MOST_SEARCHED], n_threads)
    n_drawn, classes, near = _candidates(problem, draw, drawn, neighbours, DRAWN_AT_ONCE)
    draw.give_back(drawn[n_drawn:])
    held, share = draw.with_more_of_their_labels(drawn[:n_drawn])
    if len(held) < FEWEST_FOR_WORK <= len(drawn):  # labels could not spare what they seemed to
        n_drawn, classes, near = _candidates(problem, draw, drawn, neighbours, FEWEST_FOR_WORK)
        held, share = drawn[:n_drawn], np.ones(n_drawn)
    if len(held) < (FEWEST_HELD if n_drawn == len(drawn) else FEWEST_FOR_WORK):
        return None
    others = np.setdiff1d(np.arange(Y.shape[0]), held, assume_unique=True)
    kept, factor = _training_samples(Y[others][:, classes], others, near, rng)
    part = OneVsRestProblem(
        problem.rows.take(kept),
        problem.Y[kept][:, classes],
        weight[kept] * factor,
        problem.class_weight[classes],
        problem.penalties._replace(coordinates=Coordinates()),  # its weights are not brought back
    )
    part = _with_texts_of(part, classes, with_texts)
    truth = Y[held][:, classes].toarray() > 0
    if Y.shape[1] == 1:  # of two classes, of which the first has no column
        truth = np.hstack([~truth, truth])
    return Pilot(part, problem.rows.take(held), truth, weight[held] * share)


def _with_texts_of(
    part: OneVsRestProblem, classes: np.ndarray, problem: OneVsRestProblem
) -> OneVsRestProblem:
    """Append the texts of some classes to the rows of these classes."""
    if not problem.n_texts:
        return part
    texts = np.arange(len(problem.sample_weight) - problem.n_texts, len(problem.sample_weight))
    if problem.Y.shape[1] > 1:
        texts = texts[np.diff(problem.Y[texts][:, classes].indptr) > 0]
    return part._replace(
        rows=stacked(part.rows, problem.rows.take(texts)),
        Y=sparse.vstack([part.Y, problem.Y[texts][:, classes]], format="csr"),
        sample_weight=np.append(part.sample_weight, problem.sample_weight[texts]),
        n_texts=len(texts),
    )


def _without_samples_of_weight_zero(problem: OneVsRestProblem) -> OneVsRestProblem:
    """Drop the samples that no fit sees."""
    there = problem.sample_weight > 0
    if there.all():
        return problem
    rows, weight = problem.rows.take(there), problem.sample_weight[there]
    return problem._replace(rows=rows, Y=problem.Y[there], sample_weight=weight)


class _Draw:
    """Samples to hold out, drawn so that each label keeps most of its positives."""

    def __init__(self, Y: sparse.csr_array, rng: np.random.Generator) -> None:
        self._Y, self._rng = Y, rng
        self.counts = _counts_of(Y)
        self.left = np.where(self.counts > 1, np.maximum(1, self.counts // HELD_SHARE), 0)

    def samples(self) -> np.ndarray:
        """Draw samples that have a label which others have too."""
        if self._Y.shape[1] == 1:
            order = self._rng.permutation(self._Y.shape[0])
            return order[: min(MOST_DRAWN, len(order) // HELD_SHARE)]
        has_shared = self._Y @ (self.counts > 1).astype(np.int64) > 0
        # A label with one sample could not be learnt without it, and would count as a failure of
        # every pair.
        order = self._rng.permutation(np.flatnonzero(has_shared))
        drawn = []
        for sample in order[: 20 * MOST_DRAWN]:
            if self._take(sample):
                drawn.append(sample)
                if len(drawn) == MOST_DRAWN:
                    break
        return np.array(drawn, dtype=np.int64)

    def with_more_of_their_labels(self, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Add samples that share a label with one that was drawn.

        A group counts as much as one sample, so that frequent labels do not count twice.
        """
        if self._Y.shape[1] == 1:
            return drawn, np.ones(len(drawn))
        columns, taken = sparse.csc_array(self._Y), set(drawn.tolist())
        most = max(MORE, WITH_MORE // len(drawn))
        held, share = [], []
        for sample in drawn:
            label = self._rng.choice(self._shared_labels(sample))
            of_label = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            group = [sample]
            for other in self._rng.permutation(of_label)[: 4 * most]:
                if len(group) > most:
                    break
                if other not in taken and self._take(other):
                    group.append(other)
                    taken.add(int(other))
            held += group
            share += [1 / len(group)] * len(group)
        return np.array(held, dtype=np.int64), np.array(share)

    def _labels(self, sample: int) -> np.ndarray:
        """Return the labels of a sample."""
        return self._Y.indices[self._Y.indptr[sample] : self._Y.indptr[sample + 1]]

    def _shared_labels(self, sample: int) -> np.ndarray:
        """Return the labels of a sample that others have too."""
        labels = self._labels(sample)
        return labels[self.counts[labels] > 1]

    def _take(self, sample: int) -> bool:
        """Hold out a sample if all its labels can spare it."""
        if (self.left[self._shared_labels(sample)] == 0).any():
            return False
        self.left[self._labels(sample)] -= 1
        return True

    def give_back(self, samples: np.ndarray) -> None:
        """Let other samples of the labels of some drawn ones be held out in their place."""
        for sample in samples:
            self.left[self._labels(sample)] += 1


class _Neighbours:
    """The samples of largest cosine among some, with as many labels as `N_NEIGHBOURS` samples of
    one label have.
    """

    def __init__(self, rows: Rows, others: np.ndarray, n_threads: int = 1) -> None:
        self._rows, self._others, self._n_threads = rows, others, n_threads
        searched = rows.take(others)
        # Of the searched samples alone: the length of the one that asks changes no order.
        lengths = np.sqrt(searched.squared_norms())
        self._inverse = np.float32(1 / np.where(lengths > 0, lengths, np.inf))
        columns = searched.matrix().T
        self._columns = columns if rows.dense else columns.tocsr()  # once for all products

    def of(self, held: np.ndarray, k: int) -> np.ndarray:
        """Find the k nearest of each held-out sample: (n_held, k)."""
        k = min(k, len(self._others))
        asked = self._rows.take(held).matrix()
        near = np.tile(self._others[:k], (len(held), 1))
        at_once = max(1, PRODUCTS_AT_ONCE // len(self._others))

        def search(start: int) -> None:
            products = asked[start : start + at_once] @ self._columns
            if self._rows.dense:
                best = np.argpartition(-products * self._inverse, k - 1, axis=1)[:, :k]
                near[start : start + at_once] = self._others[best]
                return
            cosines = products.data * self._inverse[products.indices]
            for i in range(products.shape[0]):
                entries = slice(products.indptr[i], products.indptr[i + 1])
                if n := entries.stop - entries.start:
                    best = np.argpartition(-cosines[entries], min(k, n) - 1)[:k]
                    near[start + i, : len(best)] = self._others[products.indices[entries][best]]

        list(in_threads(search, range(0, len(held), at_once), n_threads=self._n_threads))
        return near


def _candidates(
    problem: OneVsRestProblem,
    draw: _Draw,
    drawn: np.ndarray,
    neighbours: _Neighbours | None,
    fewest: int,
) -> tuple[int, np.ndarray, np.ndarray]:
    """Take drawn samples as long as their labels and neighbours' labels are few enough to fit.

    Returns their number, which is `fewest` at least, the classes and the neighbours.
    """
    Y, counts = problem.Y, draw.counts
    n_labels = Y.nnz / Y.shape[0]
    k = max(1, round(N_NEIGHBOURS / n_labels))
    visits = CLASS_VISITS + POSITIVE_VISITS * counts
    of_pilot = CLASS_VISITS + POSITIVE_VISITS * np.minimum(counts, _most_positives(n_labels))
    entries = len(problem.rows.data) / problem.rows.shape[0]
    entries = ROW_ENTRIES + (entries / AT_ONCE if problem.rows.dense else entries)
    least = LEAST_WORK if n_labels < ONE_LABEL else LEAST_FOR_SEVERAL
    most = max(WORK_SHARE * visits.sum(), least / entries)
    there, near, n_drawn = np.full(Y.shape[1], Y.shape[1] == 1), [], 0
    while n_drawn < len(drawn):
        some = drawn[n_drawn : n_drawn + DRAWN_AT_ONCE]
        more = there.copy()
        nearest = neighbours.of(some, k) if neighbours else some[:0]
        for samples in some, nearest.ravel():
            more[Y[samples].indices] = True
        # Samples that could still be held out, at no cost in classes (`with_more_of_their_labels`).
        spare = draw.left[np.unique(Y[drawn[:n_drawn]].indices)].sum()
        enough = n_drawn + spare / n_labels >= 1.3 * FEWEST_FOR_WORK
        if n_drawn >= fewest and enough and of_pilot[more].sum() > most:
            break
        there, n_drawn = more, n_drawn + len(some)
        near.append(nearest.ravel())
    return n_drawn, np.flatnonzero(there), np.concatenate(near)


def _most_positives(n_labels: float) -> int:
    """Return how many positives of a class are sure to be kept, by the labels of a sample."""
    return MOST_POSITIVES if n_labels < ONE_LABEL else MOST_OF_SEVERAL


def _training_samples(
    Y: sparse.csr_array, samples: np.ndarray, near: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the samples to fit on, and the factors on their weights.

    Neighbours and positives of each class are kept; some of the others stand for all of them.
    """
    order = rng.permutation(len(samples))
    columns = sparse.csc_array(Y[order])
    place = np.arange(columns.nnz) - np.repeat(columns.indptr[:-1], np.diff(columns.indptr))
    n_labels, budget = np.diff(Y.indptr), 2 * max(FEWEST_POSITIVES, Y.nnz // POSITIVES_SHARE)
    of_class = _most_positives(Y.nnz / max(1, np.count_nonzero(n_labels)))
    for most in of_class, of_class // 2, of_class // 4:  # of many labels a sample
        kept = np.zeros(len(samples), dtype=bool)
        kept[order[columns.indices[place < most]]] = True
        if n_labels[kept].sum() <= budget:
            break
    there = np.intersect1d(np.unique(near), samples, assume_unique=True)
    kept[np.searchsorted(samples, there)] = True
    negative = np.flatnonzero(~kept & (n_labels == 0))
    drawn = rng.permutation(negative)[: min(MOST_OTHERS, -(-len(negative) // OTHERS_SHARE))]
    kept[drawn] = True
    factor = np.ones(len(samples), dtype=np.float32)
    # The ones kept stand for all of them: classes meet as much negative weight as in the fit.
    factor[drawn] = len(negative) / max(1, len(drawn))
    return samples[kept], factor[kept]


# ------------------------------------------------------------------------------- its scores


class PilotScores:
    """Scores of held-out samples at pairs of factors, each pair fitted when it is first needed.

    Attributes
    ----------
    one_label : bool
        Whether samples have hardly more than one label each.
    """

    def __init__(self, pilot: Pilot, settings: dict[str, Any], n_jobs: int) -> None:
        self._pilot, self._n_jobs = pilot, n_jobs
        self._settings = settings | {"tol": max(TOL, settings["tol"]), "prune": 0.0}
        self._arranged = arrange(pilot.problem, self._settings, 0.0, n_jobs, Scratch())
        self.one_label = pilot.truth.sum(axis=1).mean() < ONE_LABEL
        self._scores, self._duals = {}, {}

    def of(self, pair: Pair, near: Pair | None = None) -> np.ndarray:
        """Return the score of each held-out sample, from the dual variables of a pair nearby."""
        if pair not in self._scores:
            result = self._fit(pair, self._duals.get(near))
            self._duals[pair] = result["dual"]
            self._scores[pair] = self._rank(result["coef"], result["intercept"])
        return self._scores[pair]

    def mean(self, pair: Pair, near: Pair | None = None) -> float:
        """Return the mean score at a pair."""
        return float(np.average(self.of(pair, near), weights=self._pilot.weight))

    def gain(self, pair: Pair, over: Pair) -> float:
        """Return the mean gain of a pair over another one, in standard errors of this mean."""
        weight = self._pilot.weight / self._pilot.weight.sum()
        before = self.of(over)
        # By sample, so that what is hard about a sample cancels in a mean of differences.
        gains = self.of(pair, over) - before
        mean = weight @ gains
        return float(mean / max(np.sqrt(weight**2 @ (gains - mean) ** 2), 1e-12))

    def _fit(self, pair: Pair, dual: sparse.csr_array | None) -> dict[str, Any]:
        """Fit the pilot at a pair of factors, from dual variables of another pair."""
        problem, penalties = self._pilot.problem, self._pilot.problem.penalties
        of_pair = {"l1": pair[0] * penalties.l1, "l2": pair[1] * penalties.l2}
        with Scratch() as scratch:
            return fit_classes(
                problem,
                self._settings | of_pair,
                feature_threshold=0.0,
                dual=dual,
                keep_dual=True,
                n_jobs=self._n_jobs,
                progress=Progress(),
                scratch=scratch,
                arranged=self._arranged,
            )

    def _rank(self, coef: sparse.csr_array, intercept: np.ndarray) -> np.ndarray:
        """Compute nDCG@5 of each held-out sample; its mean with precision@1 for one label."""
        rows, truth = self._pilot.held_rows.matrix(), self._pilot.truth
        # -1e18 would take all digits of a score in float32.
        lowest, columns = np.maximum(intercept, LOWEST), coef.T.tocsr()
        at_once = max(1, SCORES_AT_ONCE // truth.shape[1])

        def hits_of(start: int) -> np.ndarray:
            some = slice(start, start + at_once)
            scores = rows[some] @ columns
            scores = lowest + (scores.toarray() if sparse.issparse(scores) else scores)
            return _hits(scores, truth[some])

        starts = range(0, len(truth), at_once)
        hits = np.concatenate(list(in_threads(hits_of, starts, n_threads=self._n_jobs)))
        ndcg = ndcg_of_rows(hits, truth.sum(axis=1))
        return (ndcg + hits[:, 0]) / 2 if self.one_label else ndcg


def _hits(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return whether each of the five best classes of a sample is one of its own."""
    if scores.shape[1] == 1:  # of the second of two classes
        scores = np.hstack([-scores, scores])
    k = min(TOP, scores.shape[1])
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(truth, np.take_along_axis(best, order, axis=1), axis=1)
