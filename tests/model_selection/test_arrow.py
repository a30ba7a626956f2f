"""Tables and lists of Arrow, which have names of columns, and no brackets that take samples."""

import numpy as np
import pytest

from sklearn_xc import LabelTextClassifier, PPDSparseClassifier, TopKCalibratedClassifier
from sklearn_xc.metrics import precision_at_k
from sklearn_xc.model_selection import train_test_split

pa = pytest.importorskip("pyarrow")
ROWS = np.eye(5)[np.arange(60) % 5]


def test_folds_of_tables():
    X = pa.table({f"f{j}": ROWS[:, j] for j in range(5)})
    y = pa.table({name: ROWS[:, j].astype(int) for j, name in enumerate("dbcae")})
    model = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0)).fit(X, y)
    assert model.predict_topk(X, k=1)[0].ravel().tolist() == list("dbcae") * 12
    train, test = train_test_split(X, y, random_state=0)[:2]
    assert train.column_names == test.column_names
    assert len(train) + len(test) == 60


def test_lists_of_labels():
    texts, y = ["red sky", "blue sea"] * 10, pa.array([["red", "sky"], ["blue"]] * 10)
    model = LabelTextClassifier(PPDSparseClassifier(random_state=0)).fit(texts, y)
    assert precision_at_k(y, model.predict_topk(texts, k=1)[0], k=1) == 1
    with pytest.raises(ValueError, match="a list of labels for each sample"):
        PPDSparseClassifier().fit(ROWS[:20], y)
