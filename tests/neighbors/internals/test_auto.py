"""Functions inside of what `neighbors/test_auto.py` tests from outside."""

import numpy as np
import pytest
from _nearest_rows import best, scores
from _neighbors_data import T, X, Y, in_each_form, sparse_rows
from scipy import sparse

from sklearn_xc import TopKNeighborsClassifier
from sklearn_xc.neighbors import _auto
from sklearn_xc.neighbors._scorer import VoteSettings


@pytest.fixture
def trial(monkeypatch):
    """Returns a fitted model and the trial that chose its settings."""
    made = []
    original = _auto.LeaveOneOut.__init__

    def remember(self, *arguments):
        made.append(self)
        original(self, *arguments)

    monkeypatch.setattr(_auto.LeaveOneOut, "__init__", remember)

    def fit(*arguments, **options):
        model = TopKNeighborsClassifier(random_state=0).fit(*arguments, **options)
        return model, made[-1]

    return fit


def left_out(rows, labels, weight, texts, settings):
    """Mean nDCG@5 of each row that is no copy, by models without it and its copies."""
    values, seen = [], set()
    for i, row in enumerate(rows):
        if not row.any() or not labels[i].any() or not weight[i] or tuple(row) in seen:
            continue
        seen.add(tuple(row))
        rest = (rows != row).any(axis=1) & (weight > 0)
        k, p, q, w = settings
        found = scores(rows[rest], labels[rest], row[None], k, p, q, w, texts, weight[rest])
        top = best(found, 5)[0]
        gains = 1 / np.log2(np.arange(2, 7))
        hits = labels[i, top].astype(bool) & (found[0, top] > 0)
        n_true = min(5, int(labels[i].astype(bool).sum()))
        values.append((hits * gains).sum() / gains[:n_true].sum())
    return np.mean(values)


@in_each_form
@pytest.mark.parametrize("settings", [(150, 2.0, 0.0, 0.0), (150, 1.0, 0.5, 2.0)])
def test_a_trial_leaves_rows_and_their_copies_out(trial, form, settings):
    rng = np.random.default_rng(0)
    rows = sparse_rows(90, seed=7) * rng.uniform(0.5, 2, size=(90, 40)).astype(np.float32)
    rows = np.concatenate([rows, rows[:20], rows[:5], rows[:5]])
    labels = (rng.random((len(rows), 12)) < 0.2).astype(int)
    weight = rng.integers(0, 3, len(rows)).astype(float)
    texts = sparse_rows(12, seed=9) * rng.uniform(0.5, 2, size=(12, 40)).astype(np.float32)
    rows, texts = (
        np.asarray(form(M).todense() if sparse.issparse(form(M)) else M) for M in (rows, texts)
    )
    container = sparse.csr_array if sparse.issparse(form(rows)) else np.asarray
    _, made = trial(container(rows), labels, weight, container(texts))
    expected = left_out(rows, labels, weight, [texts], settings)
    assert made.value(VoteSettings(*settings)) == pytest.approx(expected, abs=1e-6)


def test_the_best_of_what_was_tried_is_chosen(trial):
    model, made = trial(X, Y, label_features=T)
    chosen = made.value(model._settings())
    for name, values in _auto.GRID.items():
        for value in values:
            other = model._settings()._replace(**{name: value})
            assert made.value(other) <= chosen + _auto.TOLERANCE


def test_what_is_given_stays():
    given = {"n_neighbors": 3, "frequency_power": 0.2}
    model = TopKNeighborsClassifier(**given, random_state=0).fit(X, Y)
    assert model.n_neighbors_ == 3
    assert model.frequency_power_ == 0.2
    assert model.power_ in _auto.GRID["power"]
