"""Functions inside of what `memoir/test_classifier.py` tests from outside."""

import tracemalloc

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score

from sklearn_xc import MemoirSVC
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.memoir import _growing_weights

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]


# ---------------------------------------------------------------------------------- the rest


def test_early_stopping_scores_are_those_of_the_held_out_samples(digits, monkeypatch):
    from sklearn_xc.memoir import _data as module

    seen = {}

    def kept(*arguments, real=module.held_out_samples):
        seen["mask"] = real(*arguments)
        return seen["mask"]

    monkeypatch.setattr(module, "held_out_samples", kept)
    X, y = digits
    model = MemoirSVC(early_stopping=True, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 3: use a larger max_iter"):
        model.fit(X, y)
    held = seen["mask"]
    expected = f1_score(y[held], model.predict(X[held]), average="macro", zero_division=0)
    assert model.validation_scores_[-1] == pytest.approx(expected)


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("n_epochs", [1, 2])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(n_epochs, digits, monkeypatch):
    from sklearn_xc.memoir._train import MemoirSteps

    model = MemoirSVC(max_iter=4, random_state=0).fit(*digits)
    before = vars(model).copy()
    real = MemoirSteps.epoch

    def interrupted(self, number, first):
        if number == n_epochs:
            raise KeyboardInterrupt
        return real(self, number, first)

    monkeypatch.setattr(MemoirSteps, "epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*digits)
    assert vars(model) == before


def test_a_fit_ends_beside_no_copies_of_its_model(monkeypatch):
    monkeypatch.setattr(_growing_weights, "ENTRIES_AT_ONCE", 2**12)
    X, y = make_xc_classification(4000, 3000, 400, random_state=0)
    model = MemoirSVC(max_iter=2, random_state=0).fit(X, y)
    tracemalloc.start()
    try:
        coef, _ = model._state.saved.model(400, average=True)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = 8 * coef.nnz
    assert size <= kept <= size + 2**16
    assert peak <= 12 * coef.nnz + 2**17  # values class by class beside those feature by feature
