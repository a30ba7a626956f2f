"""Threads at one object: each answer is of one state, and no call disturbs another."""

import pickle
import threading
import warnings

import numpy as np
from fuzz.broken_calls import task
from fuzz.walks import model_of
from sklearn.base import clone

from sklearn_xc import load, mips


def threads(rng, folder):
    """One of the ways below."""
    ways = predictions_beside_fits, queries_beside_builds, calls_on_a_mapped_model
    ways[rng.integers(len(ways))](rng, folder)


def predictions_beside_fits(rng, folder):
    """Predictions while another thread fits the same model: of the old one, or of the new one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, model = rng.normal(size=(60, 8)), model_of(rng)
        if "warm_start" in model.get_params():
            model.set_params(warm_start=False)
        labels = [np.array([f"{name} {c}" for c in np.arange(60) % 6]) for name in ("a", "b")]
        try:
            answers = [clone(model).fit(X, y).predict(X).tolist() for y in labels]
        except ValueError:  # not of one class a row
            return
        model.fit(X, labels[0])
        found, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                found.append(model.predict(X).tolist())

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for i in range(6):
                model.fit(X, labels[(i + 1) % 2])
        finally:
            stop.set()
            thread.join()
        if any(answer not in answers for answer in found):
            raise AssertionError("an answer is of neither model")


def queries_beside_builds(rng, folder):
    """Queries while another thread builds and updates the index: rows of one state."""
    kinds = mips.ExactIndex, mips.HNSWIndex, mips.SimpleLSHIndex, mips.SphericalIndex
    tables = [rng.normal(size=(n, 6)).astype(np.float32) for n in (80, 200)]
    tables[1] *= 10
    index = kinds[rng.integers(len(kinds))](min_recall=0.5, random_state=0).build(tables[0])
    wrong, stop = [], threading.Event()

    def ask():
        queries = tables[0][:20]
        while not stop.is_set():
            ids, scores = index.query(queries, 3)
            exact = [np.take_along_axis(queries @ t.T, ids % len(t), axis=1) for t in tables]
            fits = [ids.max() < len(t) for t in tables]
            near = [np.allclose(e, scores, rtol=1e-3, atol=1e-3) for e in exact]
            if not any(f and n for f, n in zip(fits, near, strict=True)):
                wrong.append(ids)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for i in range(8):
            index.build(tables[(i + 1) % 2])
    finally:
        stop.set()
        thread.join()
    if wrong:
        raise AssertionError("an answer is of neither table")


def calls_on_a_mapped_model(rng, folder):
    """Threads that pickle, save and ask one mapped model at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _, X = task(rng, folder)
        expected = model.predict_topk(X, 1)[1]
        mapped, errors, barrier = load(folder / "broken", "r"), [], threading.Barrier(4)

        def work(number):
            barrier.wait()
            try:
                if number == 1:
                    mapped.save(folder / "other")
                other = pickle.loads(pickle.dumps(mapped)) if number else mapped
                np.testing.assert_array_equal(other.predict_topk(X, 1)[1], expected)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
