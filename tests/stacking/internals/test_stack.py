"""Functions inside of what `stacking/test_stack.py` tests from outside."""

from _stacked_samples import fitted

from sklearn_xc.stacking import _learn


def test_parts_that_gain_together_stay(monkeypatch):
    """Each of two may look idle where the other is there, and on few rows."""
    monkeypatch.setattr(_learn, "_without_idle_parts", lambda judge, alone: [1])
    assert [name for name, _ in fitted().estimators_] == ["ovr", "near"]
