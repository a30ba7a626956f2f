"""The run function of LDGS: units and weights to start from, passes, the model they lead to."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..training._epochs import Passes, make_passes
from ..training._rows_seen import RowsSeen
from ..training._waiting import BEGINNING
from ..utils._callbacks import Progress
from ..utils._csr import stretches
from ..utils._parallel import single_threaded_blas
from ..utils._rows import Rows
from ._auto import MOSTLY_ZEROS, PRIOR, LDGSCall, Plan, make_plan, rate_of, settings_of
from ._candidate_gradients import Positives
from ._features import FeatureSteps, FeatureWeights
from ._layers import ColumnLayout, Start, Weights, require_weights
from ._plain_steps import LDGSPlainSteps, Unchanged
from ._prediction import N_VALIDATION, best_threshold, precision_at_1
from ._ridge import automatic_ridge
from ._state import LDGSState
from ._steps import LDGSSteps
from ._units import Change, Units

ENTRIES_AT_ONCE = 2**20


class LDGSProblem(NamedTuple):
    """Data of one call of fit or partial_fit."""

    rows: Rows
    positives: Positives
    sample_weight: np.ndarray | None  # float32 (n_samples,)
    held_out: np.ndarray  # bool (n_samples,)
    n_classes: int
    multilabel: bool
    whole: bool  # whether this is a fit, or a part of what `partial_fit` is given
    n_texts: int = 0  # how many of the last rows are texts of labels; of a part not known, and 0

    @classmethod
    def of(
        cls,
        model: BaseEstimator,
        rows: Rows,
        positives: Positives,
        sample_weight: np.ndarray | None,
        held_out: np.ndarray | None = None,
        n_texts: int = 0,
    ) -> Self:
        """Return the problem of an estimator whose classes are known; a part where none are held
        out.
        """
        whole, n_classes = held_out is not None, len(model.classes_)
        if held_out is None:
            held_out = np.zeros(rows.shape[0], dtype=bool)
        multilabel = model._encoding.kind == "multilabel"
        return cls(rows, positives, sample_weight, held_out, n_classes, multilabel, whole, n_texts)

    def visited(self) -> np.ndarray:
        """Return the samples to train on."""
        weight = self.sample_weight
        counted = ~self.held_out if weight is None else ~self.held_out & (weight > 0)
        return np.flatnonzero(counted)

    def samples(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows that are not of texts."""
        return rows[rows < self.rows.shape[0] - self.n_texts]

    def in_form(self, form: str) -> Self:
        """Return the data with rows as this form takes them: sparse by features, dense by
        columns.
        """
        rows = self.rows
        if form == "features":
            rows = rows.as_sparse()
        return self._replace(rows=rows.as_dense() if form == "columns" else rows)

    def lengths(self) -> np.ndarray:
        """Return the lengths of all rows, float64 (n_samples,)."""
        if self.rows.dense:
            return np.sqrt(self.rows.squared_norms())
        indptr, lengths = self.rows.indptr, np.zeros(self.rows.shape[0])
        for some, entries in stretches(indptr):
            squares = np.square(self.rows.data[entries], dtype=np.float64)
            # row by row, not by differences of running sums, which one long row would round off
            n = some.stop - some.start
            of_row = np.repeat(np.arange(n), np.diff(indptr[some.start : some.stop + 1]))
            lengths[some] = np.sqrt(np.bincount(of_row, weights=squares, minlength=n))
        return lengths

    def moments(
        self, samples: np.ndarray, weight: np.ndarray
    ) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
        """Yield some rows, a stretch at a time: their weight, and of each column mean and squares.

        Yields what `Units.with_columns` takes.
        """
        X = self.rows.matrix()
        size = max(1, ENTRIES_AT_ONCE // max(1, X.shape[1]))
        for start in range(0, len(samples), size):
            part = X[samples[start : start + size]].astype(np.float64)
            w = weight[start : start + size]
            total = w.sum()
            mean = w @ part / total
            part -= mean
            yield total, mean, w @ (part * part)

    def seen_by(self, units: Units | None, samples: np.ndarray) -> Units | None:
        """Return the units with some of the samples; None for None."""
        if units is None:
            return None
        weight = np.ones(len(samples))
        if self.sample_weight is not None:
            weight = self.sample_weight[samples].astype(np.float64)
        lengths = self.lengths()[samples]
        units = units.with_lengths(lengths, weight)
        if units.by_column:
            for moments in self.moments(samples, weight):
                units = units.with_columns(*moments)
        return units

    def in_units(self, change: Change) -> Self:
        """Return the rows in the units of a `Change`."""
        rows, shift, scale = self.rows, change.shift, change.scale
        if shift is None and np.ndim(scale) == 0:
            if np.float32(scale) == 1:  # rows of unit length: X is not copied
                return self
            return self._replace(rows=rows._replace(data=rows.data * np.float32(scale)))
        X = rows.matrix()
        if shift is not None:
            X = X - shift
        data = (X * scale).astype(np.float32).ravel()
        return self._replace(rows=rows._replace(data=data))


class LDGSOutcome(NamedTuple):
    """Result of training."""

    model: tuple  # label embeddings, intercepts, table of features or None, threshold of labels
    plan: Plan
    state: LDGSState
    alpha: float
    passes: Passes  # their scores are precision@1
    n_scored: float  # classes a sample


def first_state(
    params: BaseEstimator,
    rows: Rows,
    n_classes: int,
    single: bool = False,
    n_columns: int | None = None,
) -> tuple[Plan, LDGSState]:
    """Return the plan and the state before a cold start, by the parameters of an estimator.

    `single` says that the rows are all, and have one label each; `n_columns`, by default all of
    theirs, how many have weights.
    """
    few = not rows.dense
    if params.learning_rate == "auto":
        n_entries = len(rows.data) if few else np.count_nonzero(rows.data)
        few = n_entries < MOSTLY_ZEROS * max(1, rows.shape[0] * rows.shape[1])
    # `few` decides for sparse steps, whatever holds X: entries are counted where "auto" measures X.
    plan = make_plan(params, few, n_columns or rows.shape[1], n_classes, single)
    by_column = plan.form == "columns"
    units = Units(by_column, by_column and params.fit_intercept) if plan.in_units else None
    if params.similarity != "linear" and params.learning_rate == "auto":
        # Of lengths only, from which the rate of distances is taken.
        units = Units()  # not for X: distances have its unit, and so have steps
    return plan, LDGSState(plan.form, units, RowsSeen())


def without_far_rows(
    state: LDGSState, rows: Rows, sample_weight: np.ndarray | None, known: bool = False
) -> Rows:
    """Return rows with none far longer than typical ones, if the scale of the rows is measured.

    `known` says that the length of a typical row is known from earlier calls.
    """
    if state.units is None:
        return rows
    return rows.shortened(sample_weight, state.units.length if known else None)


def having_seen(state: LDGSState, problem: LDGSProblem) -> LDGSState:
    """Return the state with the samples of a problem in what is known of the rows."""
    problem = problem.in_form(state.form)
    seen = state.seen.with_hashes(problem.rows.hashes(), problem.sample_weight)
    return replace(state, seen=seen, units=problem.seen_by(state.units, problem.visited()))


def plan_of_part(params: BaseEstimator, hidden_dim: int | None, gradient: str, form: str) -> Plan:
    """Return the plan of one more part: only what a parameter names may have changed."""
    if params.gradient != "auto":
        gradient = params.gradient
    # Steps by feature are exact only: another gradient needs embeddings of rows.
    if form == "features" and gradient != "exact":
        form = "rows"
    rate = rate_of(params, form)
    return Plan(form, hidden_dim, gradient, rate, False)


def require_same_layer(hidden_dim: int | str | None, start: Start, plan: Plan) -> None:
    """Refuse to go on from weights with another layer than is wanted now."""
    width = None if start.table is None else start.table.shape[1]
    wanted = plan.hidden_dim if hidden_dim == "auto" else hidden_dim
    if width != wanted:
        raise ValueError(
            f"hidden_dim={hidden_dim!r} is not that of the fit before; set warm_start=False to "
            "start anew"
        )


def _begin_and_span(
    problem: LDGSProblem, state: LDGSState, n_visited: int
) -> tuple[float | None, float]:
    """Return where the passes begin and how long one is, in passes over all samples seen."""
    if problem.whole:
        return None, 1.0
    # Rates fall by passes over all samples seen: a part is as much of a pass as it is of these.
    n_rows = max(1, state.seen.n_rows)
    return state.n_visited / n_rows, n_visited / n_rows


def fit_ldgs(
    problem: LDGSProblem,
    call: LDGSCall,
    state: LDGSState,
    start: Start | None,
    n_before: int,
    progress: Progress,
) -> LDGSOutcome:
    """Make the passes of a call over the samples, after `n_before` of calls before."""
    params, plan = call.params, call.plan
    if start is not None:
        require_same_layer(params.hidden_dim, start, plan)
    steps: LDGSSteps | LDGSPlainSteps
    change: Change | Unchanged
    if plan.plain:
        require_weights(None, problem.n_classes, *[problem.rows.shape[1]] * 2)
        state, steps = having_seen(state, problem), LDGSPlainSteps(problem, start, call)
        plan, change, alpha = steps.plan, Unchanged(), steps.alpha
    else:
        plan, state, steps, change, alpha = _prepare(problem, state, start, call)
    visited, kept = steps.visited, np.flatnonzero(problem.held_out)
    n_threshold, before = len(kept) or len(visited), np.float32(state.threshold)
    if not problem.whole:
        n_threshold = min(state.n_threshold + len(visited), N_VALIDATION)

    def model() -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.float32]:
        """Return the model of this moment, for X as it is."""
        threshold = _moved_threshold(before, n_threshold, problem, steps, call.seed)
        return *change.outside(*steps.model()), threshold

    begin, span = _begin_and_span(problem, state, len(visited))
    with single_threaded_blas():  # once, not with every mini-batch
        passes = make_passes(
            lambda number: steps.epoch(number, begin, span),
            range(n_before, n_before + call.n_passes),
            progress,
            model,
            partial(precision_at_1, steps, kept, problem.sample_weight) if len(kept) else None,
            name="held_out_precision",
            patience=params.n_iter_no_change,
            advice="use a smaller learning_rate",
        )
        # What rows still owe of the ridge belongs to the model.
        steps.finish()
        if problem.whole:
            steps.forget_untouched()
        found = model()
    w, n_scored = steps.weights, steps.n_scored / max(1, steps.n_visited)
    state = replace(
        state,
        n_visited=state.n_visited + float(len(visited) * len(passes.losses)),
        searching=steps.searching,
        threshold=float(found[-1]),
        n_threshold=n_threshold,
        squares=(w.squares_W, w.squares_U),
    )
    return LDGSOutcome(found, plan, state, alpha, passes, n_scored)


def _moved_threshold(
    before: np.float32,
    n_threshold: int,
    problem: LDGSProblem,
    steps: LDGSSteps | LDGSPlainSteps,
    seed: int,
) -> np.float32:
    """Return the score above which labels are predicted; 0 with one label a sample."""
    if not problem.multilabel:
        return np.float32(0)
    visited, kept = steps.visited, np.flatnonzero(problem.held_out)
    validation = kept if len(kept) else problem.samples(visited)
    best = best_threshold(steps, validation, problem.sample_weight, seed)
    # Of a part, a running mean over the last `n_threshold` samples: one part moves it by its share.
    share = 1.0 if problem.whole else min(1.0, len(visited) / n_threshold)
    return np.float32(before + share * (best - before))


def _prepare(
    problem: LDGSProblem,
    state: LDGSState,
    start: Start | None,
    call: LDGSCall,
) -> tuple[Plan, LDGSState, LDGSSteps, Change, float]:
    """Return plan, state and steps of a call, how weights come back to X as it is, and alpha."""
    params, plan, _, seed, n_threads = call
    if problem.whole:
        state = having_seen(state, problem)
    problem, visited = problem.in_form(plan.form), problem.visited()
    weight, n_features = problem.sample_weight, problem.rows.shape[1]
    units, seen = state.units, state.seen
    n_seen = len(visited) if problem.whole else round(seen.n_rows)
    linear, hidden = params.similarity == "linear", plan.hidden_dim is not None
    if units is not None and not linear and params.solver != "sgd":
        # Gradients of squared distances grow with the length of rows; Adagrad divides by it.
        plan = plan._replace(learning_rate=rate_of(params, plan.form) * units.length)
    # The deviations of a few samples may be next to nothing: see `Units.shift_and_scale`.
    few = not problem.whole and seen.n_visits < BEGINNING
    change = Change(units if linear else None, hidden, seen.n_visits if few else None)
    shape = problem.n_classes, n_features
    settings = settings_of(params, plan, shape, n_seen, None if problem.whole else seen)
    dim = n_features if plan.hidden_dim is None else plan.hidden_dim
    layout = ColumnLayout(dim, settings.n_chunks, params.similarity, settings.fit_intercept)
    require_weights(plan.hidden_dim, problem.n_classes, n_features, layout.n_columns)
    weights = _initial(start, plan, layout, shape, seed, change, params.solver != "sgd")
    mean_weight = None
    if weight is not None and not problem.whole:
        # Over all calls: a part of heavy samples takes longer steps than one of light ones.
        mean_weight = seen.weight_of_visits / max(1, seen.n_visits)
    inside = problem.in_units(change)
    if params.alpha == "auto":
        # "auto" is for weights in the units of the steps, with no layer.
        has_prior = linear and not hidden and units is not None
        alpha = automatic_ridge(inside, call, PRIOR)[0] / n_seen if has_prior else 0.0
        strengths = alpha, 0.0
    else:
        alpha, strengths = params.alpha, change.strengths(params.alpha)
    # FeatureSteps for the FeatureWeights that `_initial` makes of this form.
    make: Callable[..., LDGSSteps] = FeatureSteps if plan.form == "features" else LDGSSteps
    steps = make(
        inside.rows,
        problem.positives,
        weight,
        visited,
        weights,
        layout,
        settings,
        seed,
        n_threads,
        searching=start is not None and state.searching,
        mean_weight=mean_weight,
        strengths=strengths,
        shuffled=problem.whole,
    )
    return plan, state, steps, change, alpha


def drawn_table(seed: int, n_features: int, dim: int, units: Units | None) -> np.ndarray:
    """Return a table of features as it is before any step, for X as it is."""
    scale = Change(units, True).scale
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_features, dim), np.float32) * np.float32(scale / np.sqrt(dim))


def _initial(
    start: Start | None,
    plan: Plan,
    layout: ColumnLayout,
    shape: tuple[int, int],
    seed: int,
    change: Change,
    adaptive: bool,
) -> Weights | FeatureWeights:
    """Return the weights to start from, in the units of the steps."""
    (n_classes, n_features), dim, squares = shape, len(layout.plain), None
    if start is not None:
        coef, intercept, table = change.inside(start.coef, start.intercept, start.table)
        squares = start.squares
        by_row = n_features if plan.form in ("hidden", "features") else 0
        # Squares of another form of steps say nothing here: Adagrad begins again.
        if not adaptive or tuple(map(len, squares)) != (n_classes, by_row):
            squares = None
    else:
        coef = np.zeros((n_classes, dim), dtype=np.float32)
        intercept, table = np.zeros(n_classes, dtype=np.float32), None
        if plan.hidden_dim is not None:
            rng = np.random.default_rng(seed)
            table = rng.standard_normal((n_features, dim), np.float32) / np.sqrt(dim)
    if plan.form == "features":
        # A copy in any case: steps change it, and the estimator's weights stay if the fit fails.
        W = np.array(coef.T, dtype=np.float32, order="C")
        return FeatureWeights(W, np.array(intercept, np.float32), adaptive, squares)
    U = None
    if table is not None:
        U = np.zeros((n_features, layout.n_columns), dtype=np.float32)
        U[:, layout.plain] = table
    return Weights(layout.weights(coef, intercept), U, adaptive, squares)
