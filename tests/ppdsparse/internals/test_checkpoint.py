"""Functions inside of what `ppdsparse/test_checkpoint.py` tests from outside."""

import subprocess
import sys

import numpy as np
import pytest
from _checkpoints import X, Y, assert_same
from sklearn.base import clone

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.ppdsparse import _checkpoint, _solver


class StoppedError(RuntimeError):
    pass


def stopped_after(n_blocks, monkeypatch, model, *data):
    """A fit that fails in its (n_blocks + 1)-th block."""
    solve, n_solved = _solver.solve_classes, []

    def solve_some(*arguments):
        if len(n_solved) == n_blocks:
            raise StoppedError
        n_solved.append(1)
        return solve(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(_solver, "solve_classes", solve_some)
        with pytest.raises(StoppedError):
            model.fit(*data)
    return model


@pytest.mark.parametrize(
    "options",
    [{}, {"warm_start": True}, {"loss": "hinge"}, {"n_jobs": 2}],
    ids=["plain", "warm", "hinge", "threads"],
)
def test_the_same_fit_resumes(folder, monkeypatch, options):
    options = {"l1": "rows", "l2": "rows", **options}  # whose fit is the only one that solves
    expected = PPDSparseClassifier(random_state=0, **options).fit(X, Y)
    model = PPDSparseClassifier(random_state=0, checkpoint=folder, **options)
    if "n_jobs" not in options:
        stopped_after(4, monkeypatch, model, X, Y)
        assert not hasattr(model, "coef_")
        assert len(list(folder.glob("block-*"))) == 4
    solved = []
    solve = _solver.solve_classes
    monkeypatch.setattr(_solver, "solve_classes", lambda *a: solved.append(1) or solve(*a))
    assert_same(model.fit(X, Y), expected)
    assert not folder.exists()
    model.set_params(keep_checkpoint=True).fit(X, Y)
    n_blocks = len(list(folder.glob("block-*")))
    assert n_blocks > 8
    assert len(solved) == 2 * n_blocks - (0 if "n_jobs" in options else 4)
    solved.clear()
    if len(options) == 2:  # of a warm start the next fit is another one
        assert_same(clone(model).set_params(n_jobs=2, verbose=0).fit(X, Y), expected)
        assert not solved


def test_a_drawn_seed_is_that_of_the_fit_that_began(folder, monkeypatch):
    model = stopped_after(3, monkeypatch, PPDSparseClassifier(checkpoint=folder), X, Y)
    first = clone(model).set_params(keep_checkpoint=True).fit(X, Y)
    assert_same(model.fit(X, Y), first)


def test_other_data_or_parameters_are_refused_by_name(folder, monkeypatch):
    model = PPDSparseClassifier(random_state=0, checkpoint=folder)
    stopped_after(2, monkeypatch, model, X, Y)
    before = sorted(folder.iterdir())
    other = X.copy()
    other.data[5] *= 2
    weight = np.ones(len(Y.toarray()), dtype=np.float32)
    for changed, data, name in [
        ({}, (other, Y), ": X differ"),
        ({}, (X, Y[::-1]), ": y differ"),
        ({}, (X, Y, 2 * weight), ": sample_weight differ"),
        ({"l1": 0.5}, (X, Y), "the parameter l1 differ"),
        ({"random_state": 1}, (X, Y), "the parameter random_state differ"),
        ({"loss": "hinge", "tol": 0.1}, (X, Y), "the parameter loss, the parameter tol differ"),
    ]:
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**changed).fit(*data)
    monkeypatch.setattr(_checkpoint, "__version__", "0.0")
    with pytest.raises(ValueError, match="the version of sklearn-xc differ"):
        clone(model).fit(X, Y)
    assert sorted(folder.iterdir()) == before


def test_a_disk_that_is_full(folder, monkeypatch):
    """The fit ends with an error, and what was written stays for the next one."""
    write, n_written = _checkpoint.write, []

    def full(path, *content):
        if len(n_written) == 6:
            raise OSError(28, "No space left on device", str(path))
        n_written.append(path)
        write(path, *content)

    model = PPDSparseClassifier(random_state=0, checkpoint=folder)
    with monkeypatch.context() as patch:
        patch.setattr(_checkpoint, "write", full)
        with pytest.raises(OSError, match="No space left"):
            model.fit(X, Y)
    assert not hasattr(model, "coef_")
    assert len(list(folder.glob("block-*"))) == 5
    assert_same(model.fit(X, Y), PPDSparseClassifier(random_state=0).fit(X, Y))


def test_copies_for_a_calibration_and_added_labels_have_none(folder, monkeypatch):
    model = PPDSparseClassifier(
        random_state=0, checkpoint=folder, calibration="sigmoid", calibration_cv=2
    )
    stopped_after(3, monkeypatch, model, X, Y[:, :150])
    # The fit had begun, as its penalties were chosen; the copies have written no classes.
    assert not list(folder.glob("block-*"))
    model.fit(X, Y[:, :150])
    assert not folder.exists()
    model.set_params(calibration=None).add_labels(X, Y[:, 150:])
    assert not folder.exists()
    assert len(model.classes_) == 200


def test_two_fits_at_one_folder(folder, monkeypatch):
    """The second is refused while the first one writes, also from another process."""
    pytest.importorskip("fcntl")
    solve, code = (
        _solver.solve_classes,
        (
            "import sys, numpy; from sklearn_xc import PPDSparseClassifier\n"
            "PPDSparseClassifier(checkpoint=sys.argv[1]).fit(numpy.eye(6), [0, 1, 2] * 2)"
        ),
    )
    seen = []

    def solve_beside(*arguments):
        if not seen:
            with pytest.raises(ValueError, match="is being written to by another fit: wait for"):
                PPDSparseClassifier(random_state=0, checkpoint=folder).fit(X, Y)
            other = subprocess.run(
                [sys.executable, "-c", code, folder], capture_output=True, text=True, check=False
            )
            seen.append(other.stderr.strip().splitlines()[-1])
        return solve(*arguments)

    monkeypatch.setattr(_solver, "solve_classes", solve_beside)
    model = PPDSparseClassifier(random_state=0, checkpoint=folder, l1="rows", l2="rows").fit(X, Y)
    assert "is being written to by another fit" in seen[0]
    assert not folder.exists()
    monkeypatch.undo()
    again = PPDSparseClassifier(random_state=0, checkpoint=folder, l1="rows", l2="rows").fit(X, Y)
    assert_same(again, model)
