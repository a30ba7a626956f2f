"""MEMOIR in parts: what a call of `partial_fit` of MemoirSVC does."""

from sklearn.utils import check_random_state

from ..training._minibatches import sorted_by_class
from ..utils._matrix import as_rows
from ..utils._random import stream
from ._data import MemoirData
from ._seen import begin, mean_weight_of, take_in, with_weight_of_classes
from ._train import MemoirProblem, fit_memoir


def train_on_part(self, X, codes, sample_weight, first):
    """Make one pass over more samples, in the order given.

    Parameters
    ----------
    X : ndarray or csr_array of float32 (n_samples, n_features)
    codes : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or None
    first : bool
        Whether no fit or part came before.
    """
    self._refuse_calibration()
    n_before, n_calls = 0 if first else self.n_iter_, vars(self).get("n_iter_", 0)
    weight = with_weight_of_classes(self, codes, sample_weight, first)
    data = MemoirData(as_rows(X), codes, weight).counted()
    seed = check_random_state(self.random_state).randint(2**31)
    seed = int(stream(seed, "part", n_before).integers(2**31))
    start = begin(self, None) if first else self._saved
    if first:
        self._coordinates = data.coordinates(self)
    data, before = data.inside(self._coordinates), mean_weight_of(self._seen)
    of_rows = data.rows.features, data.rows.shape[1]
    data = data.narrowed(self._keep_columns(*of_rows, first, data.rows.dense))
    start = start and self._saved
    weight, mean_weight = take_in(self, *data.measures())
    if start is not None and before not in (0, mean_weight):
        start = start.in_weights_of(before / mean_weight)
    # In the order given, so that parts of a stream do what the whole would do.
    known = mean_weight, self._n_visited, sorted_by_class(data.codes)
    problem = MemoirProblem(data.rows, data.codes, weight, len(self.classes_), *known)
    outcome = fit_memoir(
        problem,
        *self._settings(),
        start,
        n_passes=1,
        seed=seed,
        n_jobs=self.n_jobs,
        progress=self._progress_of_part(),
    )
    self._keep(outcome, len(data.codes))
    self.n_iter_ = n_calls + 1
