"""Functions inside of what `ldgs/test_plain_steps.py` tests from outside."""

from sklearn_xc import LDGSClassifier
from sklearn_xc.ldgs import _auto


def test_they_are_taken_where_everything_is_automatic():
    plans = [_auto.make_plan(LDGSClassifier(), few, 50, 3000, single=True) for few in (True, False)]
    assert [plan.plain for plan in plans] == [True, True]
    assert [plan.form for plan in plans] == ["features", "columns"]
    for options in (
        {"solver": "adagrad"},
        {"learning_rate": 0.5},
        {"gradient": "mips"},
        {"hidden_dim": 8},
        {"loss": "margin"},
        {"similarity": "sqeuclidean"},
    ):
        assert not _auto.make_plan(LDGSClassifier(**options), True, 50, 3000, single=True).plain
    for n_classes, n_features in ((999, 50), (50_001, 50), (20_000, 10**5)):
        assert not _auto.make_plan(LDGSClassifier(), True, n_features, n_classes, True).plain
    assert not _auto.make_plan(LDGSClassifier(), True, 50, 3000).plain  # several labels, or a part
