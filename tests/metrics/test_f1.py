"""F1 on sparse labels, held against scikit-learn's."""

import numpy as np
import pytest
import sklearn.metrics
from _ranked_problems import CLASS_NAMES, TRUE_FORMS, problems
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc import metrics


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
@given(problem=problems(min_columns=2), form=st.sampled_from(["csr", "dense", "csc", "frame"]))
def test_f1_of_scikit_learn(average, zero_division, problem, form):
    y_true, y_pred = problem["true"], problem["stored"]
    options = {"sample_weight": problem["sample_weight"], "zero_division": zero_division}
    with np.errstate(invalid="ignore"):
        theirs = sklearn.metrics.f1_score(
            y_true.astype(int), y_pred.astype(int), average=average, **options
        )
    metric = {"macro": metrics.macro_f1, "micro": metrics.micro_f1}[average]
    ours = metric(TRUE_FORMS[form](y_true), TRUE_FORMS[form](y_pred), **options)
    assert ours == pytest.approx(theirs, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("names", ["str", "int", "object"])
@given(
    labels=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9),
    weighted=st.booleans(),
)
def test_f1_of_class_labels(names, labels, weighted):
    y_true, y_pred = CLASS_NAMES[names][np.array(labels).T]
    weights = np.arange(1.0, len(labels) + 1) if weighted else None
    for average, metric in (("macro", metrics.macro_f1), ("micro", metrics.micro_f1)):
        theirs = sklearn.metrics.f1_score(y_true, y_pred, average=average, sample_weight=weights)
        assert metric(y_true, y_pred, sample_weight=weights) == pytest.approx(theirs, abs=1e-12)
