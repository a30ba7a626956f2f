"""Options of save, and models whose file is mapped."""

import copy
import pickle

import numpy as np
import pytest
from _saved_models import (
    MODES,
    NAMES,
    Y_TEXT,
    X,
    assert_same_arrays,
    assert_same_predictions,
)
from scipy import sparse

from sklearn_xc import (
    load,
)

# --------------------------------------------------------------------------------------- options


def test_float16_halves_the_weights(models, tmp_path):
    for name in NAMES:
        model = models[name]
        model.save(tmp_path / "full")
        model.save(tmp_path / "half", dtype="float16")
        assert (tmp_path / "half").stat().st_size < (tmp_path / "full").stat().st_size
        eager, mapped = load(tmp_path / "half"), load(tmp_path / "half", "r")
        assert_same_predictions(eager, mapped)
        rounded = model.coef_.copy()
        if sparse.issparse(rounded):
            rounded.data = rounded.data.astype(np.float16).astype(np.float32)
            rounded.eliminate_zeros()
        else:
            rounded = rounded.astype(np.float16).astype(np.float32)
        assert_same_arrays(eager.coef_, rounded)
        assert_same_arrays(mapped.coef_, rounded)
        assert_same_arrays(eager.intercept_, model.intercept_)


def test_threshold_leaves_out_small_weights(models, tmp_path):
    model = models["ppdsparse"]
    threshold = float(np.median(np.abs(model.coef_.data)))
    model.save(tmp_path / "model", threshold=threshold)
    expected = model.coef_.copy()
    expected.data[np.abs(expected.data) <= threshold] = 0
    expected.eliminate_zeros()
    for mode in MODES:
        loaded = load(tmp_path / "model", mode)
        assert_same_arrays(loaded.coef_, expected)
        assert loaded.coef_.nnz < model.coef_.nnz
    other = copy.deepcopy(model)
    other.coef_ = expected
    assert_same_predictions(other, loaded)


def test_explicit_zeros_are_not_stored(models, tmp_path):
    model = copy.deepcopy(models["ppdsparse"])
    coef = model.coef_.copy()
    coef.data[::3] = 0
    model.coef_ = coef
    model.save(tmp_path / "model")
    coef.eliminate_zeros()
    assert_same_arrays(load(tmp_path / "model").coef_, coef)


def test_weights_put_in_place_by_the_user(models, tmp_path):
    model = copy.deepcopy(models["multilabel"])
    model.coef_ = model.coef_.toarray().astype(np.float64)
    model.save(tmp_path / "model")
    for mode in MODES:
        loaded = load(tmp_path / "model", mode)
        assert isinstance(loaded.coef_, np.ndarray)
        assert_same_predictions(models["multilabel"], loaded)
        loaded.intercept_ = loaded.intercept_ + 1
        np.testing.assert_allclose(
            loaded.decision_function(X), model.decision_function(X) + 1, atol=1e-5
        )
        loaded.coef_ = models["multilabel"].coef_ * 2
        assert_same_arrays(loaded.coef_, models["multilabel"].coef_ * 2)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"dtype": np.float16}, "dtype must be one of"),
        ({"threshold": -1}, "threshold must be a number from 0"),
        ({"threshold": float("nan")}, "threshold must be a number from 0"),
        ({"threshold": True}, "threshold must be a number from 0"),
        ({"threshold": "0.1"}, "threshold must be a number from 0"),
    ],
)
def test_wrong_options(models, options, match, tmp_path):
    with pytest.raises(ValueError, match=match):
        models["ppdsparse"].save(tmp_path / "model", **options)


def test_options_that_do_not_fit_the_weights(models, tmp_path):
    with pytest.raises(ValueError, match="is dense"):
        models["implicit_softmax"].save(tmp_path / "model", threshold=0.1)
    model = copy.deepcopy(models["multilabel"])
    model.coef_ = model.coef_ * np.float32(1e9)
    with pytest.raises(ValueError, match="float16 ends at 65504"):
        model.save(tmp_path / "model", dtype="float16")
    with pytest.raises(ValueError, match="mmap_mode must be None or 'r'"):
        load(tmp_path / "model", mmap_mode="w+")


# ----------------------------------------------------------------------------------- mapped files


def test_mapped_models_read_only_what_they_need(models, tmp_path, monkeypatch):
    """With no array taken for small, everything that can stays in the file."""
    monkeypatch.setattr("sklearn_xc.persistence._file.SMALL", 0)
    for name in NAMES:
        models[name].save(tmp_path / name)
        loaded = load(tmp_path / name, "r")
        assert_same_predictions(models[name], loaded)
        index = loaded._model()
        for part in ("classes", "weights", "full_weights"):
            assert not getattr(index, part).flags.writeable
            assert not getattr(index, part).flags.owndata
        assert "coef_" not in vars(loaded)
        assert "dual_coef_" not in vars(loaded)
        assert_same_arrays(loaded.coef_, models[name].coef_)
        if name == "ppdsparse":
            assert_same_arrays(loaded.dual_coef_, models[name].dual_coef_)
        copied = pickle.loads(pickle.dumps(loaded))
        assert "_origin" not in vars(copied)
        assert_same_predictions(models[name], copied)


def test_mapped_model_outlives_the_file(models, tmp_path):
    models["memoir"].save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    models["ppdsparse"].save(tmp_path / "model")  # another one takes its name
    assert_same_predictions(models["memoir"], loaded)
    (tmp_path / "model").unlink()
    loaded.partial_fit(X, Y_TEXT)
    assert_same_predictions(copy.deepcopy(models["memoir"]).partial_fit(X, Y_TEXT), loaded)


def test_changes_to_a_mapped_model_are_kept(models, tmp_path):
    models["multilabel"].save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r").set_params(n_jobs=2)
    loaded.dual_gap_ = np.arange(3)
    loaded.intercept_ = models["multilabel"].intercept_ + 1
    copied = copy.deepcopy(loaded)
    assert copied.n_jobs == 2
    assert copied.dual_gap_.tolist() == [0, 1, 2]
    assert_same_arrays(copied.intercept_, models["multilabel"].intercept_ + 1)
    assert_same_arrays(copied.coef_, models["multilabel"].coef_)


def test_a_failed_fit_leaves_a_mapped_model_in_use(models, tmp_path):
    models["memoir"].save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    with pytest.raises(ValueError, match="NaN"):
        loaded.partial_fit(X[:2] * np.nan, Y_TEXT[:2])
    assert_same_predictions(models["memoir"], loaded)


def test_mapped_model_on_many_rows(models, tmp_path):
    """More rows than are looked up at once."""
    models["ppdsparse"].save(tmp_path / "model")
    many = sparse.csr_array(sparse.vstack([X] * 4))
    assert_same_predictions(models["ppdsparse"], load(tmp_path / "model", "r"), many)


def test_unknown_attributes_of_loaded_models(models, tmp_path):
    models["ppdsparse"].save(tmp_path / "model")
    for mode in MODES:
        loaded = load(tmp_path / "model", mode)
        assert not hasattr(loaded, "loss_curve_")
        with pytest.raises(AttributeError, match="'PPDSparseClassifier' object has no attribute"):
            _ = loaded.nothing
