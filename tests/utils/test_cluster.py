"""Fits on a Dask cluster: the same bits, data sent once, errors that say what is wrong."""

import contextlib
import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from _full import rest_in_full
from _same_model import assert_same_bits
from sklearn.model_selection import GridSearchCV

import sklearn_xc
import sklearn_xc.dask
from sklearn_xc import LDGSClassifier, PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

dask = pytest.importorskip("dask", reason="needs the extra dask")
distributed = pytest.importorskip("distributed", reason="needs the extra dask")

OPTIONS = [
    {},
    {"loss": "hinge", "sparsification": "random", "feature_threshold": 0.1},
    {"warm_start": True},
]


@pytest.fixture(scope="module")
def data():
    """Enough classes for six blocks."""
    return make_xc_classification(2000, 3000, 100, n_labels=2, random_state=0)


@contextlib.contextmanager
def two_workers():
    # Workers import on a busy machine, and answer when they are done. A server that has imported
    # Dask is forked twice (time).
    options = {f"distributed.comm.timeouts.{name}": "600s" for name in ("connect", "tcp")}
    options["distributed.worker.multiprocessing-method"] = "forkserver"
    with (
        dask.config.set(options),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def fit(data, options=None, **more):
    return PPDSparseClassifier(random_state=0, **(options or {}), **more).fit(*data)


@pytest.fixture
def sent(client, monkeypatch):
    """The bytes of all that the client scatters, and of the largest task."""
    from cloudpickle import dumps  # which distributed depends on

    sizes = {"data": [], "task": 0}
    scatter, submit = type(client).scatter, type(client).submit

    def counting_scatter(self, data, *args, **kwargs):
        sizes["data"].append(len(dumps(data)))
        return scatter(self, data, *args, **kwargs)

    def checking_submit(self, function, *args, **kwargs):
        sizes["task"] = max(sizes["task"], len(dumps((function, args, kwargs))))
        return submit(self, function, *args, **kwargs)

    monkeypatch.setattr(type(client), "scatter", counting_scatter)
    monkeypatch.setattr(type(client), "submit", checking_submit)
    return sizes


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "sparsified", "warm"])
@pytest.mark.parametrize("dense", rest_in_full([False, True], False))
def test_same_bits_and_x_is_sent_once(data, sent, options, dense):
    X, Y = data
    if dense:
        # with few zeros: mostly empty rows go through CSR
        X, Y = X[:1000, :300].toarray() + np.float32(0.01), Y[:1000]
    expected = fit((X, Y), options)
    with joblib.parallel_config(backend="dask"):
        model = fit((X, Y), options)
    assert_same_bits(model, expected)
    assert len(sent["data"]) == 1
    # the rows and, when sparse, the columns: values and indices of 4 bytes each
    once = X.nbytes if dense else 16 * X.nnz
    if "feature_threshold" not in options:
        assert sent["data"][0] < 1.2 * once + 300_000
    assert sent["task"] < 50_000


def test_checkpoint_scratch_and_progress(data, client, tmp_path, capsys):
    expected = fit(data)
    both = {"checkpoint": tmp_path / "fit", "keep_checkpoint": True, "scratch": tmp_path / "s"}
    with joblib.parallel_config(backend="dask"):
        found = fit(data, verbose=1, **both)
        assert_same_bits(found.set_params(verbose=0, keep_checkpoint=False), expected)
        lines = capsys.readouterr().out.splitlines()
        files = sorted((tmp_path / "fit").glob("block-*"))
        files[2].unlink()
        assert_same_bits(fit(data, **both).set_params(keep_checkpoint=False), expected)
    assert len(lines) == len(files)
    assert files[2].exists()


def test_searches_and_rates(data, client):
    """A search of parameters fills the workers, and its fits stay where they are."""
    X, Y = data
    grid = {"l1": [0.02, 0.1], "warm_start": [True]}
    search = GridSearchCV(PPDSparseClassifier(random_state=0), grid, cv=2)
    expected = search.fit(X, Y).cv_results_["mean_test_score"]
    y = np.asarray(Y.argmax(axis=1)).ravel()
    ldgs = LDGSClassifier(random_state=0, max_iter=2).fit(X[:2000], y[:2000])
    with joblib.parallel_config(backend="dask"):
        found = search.fit(X, Y).cv_results_["mean_test_score"]
        again = LDGSClassifier(random_state=0, max_iter=2).fit(X[:2000], y[:2000])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again.coef_, ldgs.coef_)


def test_a_search_sends_x_once(data, sent):
    """Four fits of a grid and two workers; the fit on all data, which follows, has its own."""
    X, Y = data
    search = GridSearchCV(PPDSparseClassifier(random_state=0), {"l1": [0.02, 0.1]}, cv=2)
    with joblib.parallel_config(backend="dask"):
        search.set_params(refit=False).fit(X, Y)
    assert sum(size > X.data.nbytes for size in sent["data"]) == 1
    assert sent["task"] < 50_000


@pytest.mark.full
@pytest.mark.parametrize("after", [0.05, 0.4])
def test_a_worker_that_dies(after):
    """Its blocks go to the other; where it had the only data, these are sent again."""
    data = make_xc_classification(6000, 3000, 100, n_labels=2, random_state=0)
    model = PPDSparseClassifier(random_state=0, tol=1e-4)
    expected = PPDSparseClassifier(random_state=0, tol=1e-4).fit(*data)
    with two_workers() as client:
        pid = min(client.run(os.getpid).values())

        def kill():
            time.sleep(after)
            os.kill(pid, signal.SIGKILL)

        thread = threading.Thread(target=kill)
        with joblib.parallel_config(backend="dask"):
            thread.start()
            model.fit(*data)
        thread.join()
    assert_same_bits(model, expected)


def test_workers_of_another_version_or_none(data, client, monkeypatch):
    with joblib.parallel_config(backend="dask"):
        monkeypatch.setattr(sklearn_xc._version, "__version__", "99.0")
        expected = r"2 of 2 workers of the Dask cluster lack sklearn_xc 99.0, .* has "
        model = PPDSparseClassifier()
        with pytest.raises(RuntimeError, match=expected + sklearn_xc.__version__):
            model.fit(*data)
        assert not hasattr(model, "coef_")

        def without(self, *args, **kwargs):
            return {"tcp://there": ModuleNotFoundError("No module named 'sklearn_xc'")}

        monkeypatch.setattr(type(client), "run", without)
        with pytest.raises(RuntimeError, match=r"tcp://there cannot import it .No module named"):
            model.fit(*data)


@pytest.mark.filterwarnings("ignore:Sending large graph")  # says what it is: the model, 12 MB
def test_predictions_of_dask_arrays_on_the_cluster(data, client, tmp_path):
    da = pytest.importorskip("dask.array")
    X, Y = data
    model = fit((X, Y))
    model.save(tmp_path / "model.sxc")
    rows = da.from_array(X[:1000].toarray(), chunks=(250, -1))
    expected = model.predict_topk(X[:1000], k=3)
    for estimator in model, tmp_path / "model.sxc":
        lazy = sklearn_xc.dask.predict_topk(estimator, rows, k=3)
        found = client.gather(client.compute(lazy))
        for some, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(some, wanted)
