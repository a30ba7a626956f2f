"""Ctrl-C at any moment, once or often, leaves no lock held and no file behind."""

import contextlib
import gc
import os
import random
import signal
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import sklearn_xc
from sklearn_xc import PPDSparseClassifier
from sklearn_xc._kernels.common import _whole_changes
from sklearn_xc.persistence import _file
from sklearn_xc.utils._interrupts import to_the_end
from sklearn_xc.utils._locks import ForkSafeLock

X, Y = np.eye(12), np.arange(12) % 4


@pytest.fixture(autouse=True)
def no_collection():
    """Keep the collector out: Ctrl-C in a finalizer is only printed, an error to pytest."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@contextmanager
def interrupted_at(seconds):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of signals")
def test_a_lock_is_free_after_ctrl_c():
    lock, moments = ForkSafeLock(), random.Random(0)
    for _ in range(3000):
        with suppress(KeyboardInterrupt), interrupted_at(1e-6 + moments.random() * 4e-5):
            for _ in range(100):
                with lock.held:
                    pass
        assert not lock.held.locked()


def test_an_action_is_done_to_its_end():
    calls = []

    def action():
        calls.append(len(calls))
        if len(calls) < 4:
            raise KeyboardInterrupt(len(calls))
        return "done"

    with pytest.raises(KeyboardInterrupt, match="1"):
        to_the_end(action)
    assert calls == [0, 1, 2, 3]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of signals")
def test_many_ctrl_c_while_a_change_is_taken_back():
    model = PPDSparseClassifier(random_state=0).fit(X, Y)
    before, moments, kept = vars(model).copy(), random.Random(0), []
    package = os.path.dirname(sklearn_xc.__file__)

    def interrupt(_, frame):
        # Only in the change and in what it calls of ours: never in hooks of pytest.
        while frame.f_code.co_filename.startswith((package, contextlib.__file__)):
            frame = frame.f_back
        if frame.f_code is change.__code__:
            raise KeyboardInterrupt

    def change():
        with model._all_or_nothing():
            while True:
                model.classes_ = None

    handler = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        for _ in range(300):
            try:
                signal.signal(signal.SIGALRM, interrupt)
                # A second one 20 microseconds after the first: in the way out of the block.
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + moments.random() * 1e-4, 2e-5)
                change()
            except KeyboardInterrupt as error:
                signal.setitimer(signal.ITIMER_REAL, 0)
                kept.append(error)  # its frames, whose end would restore the model too
            assert vars(model) == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert len(kept) == 300
    assert not _whole_changes.changing


def test_ctrl_c_as_the_file_is_opened(monkeypatch, tmp_path):
    """It may come when the file is there, and nobody has its number yet."""
    model, original = PPDSparseClassifier(random_state=0).fit(X, Y), os.open
    model.save(tmp_path / "model")

    def opened(path, flags, *arguments, **options):
        handle = original(path, flags, *arguments, **options)
        if flags & os.O_EXCL:
            os.close(handle)
            raise KeyboardInterrupt
        return handle

    with monkeypatch.context() as patch:
        patch.setattr(_file.os, "open", opened)
        with pytest.raises(KeyboardInterrupt):
            model.save(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.filterwarnings("ignore")  # of the file that nobody has closed
def test_a_folder_of_checkpoints_is_free_when_its_fit_is_forgotten(tmp_path, monkeypatch):
    """Ctrl-C before the lock is given back: it goes with the object."""
    from sklearn_xc.ppdsparse import _checkpoint

    model = PPDSparseClassifier(random_state=0, checkpoint=tmp_path / "blocks")
    if _checkpoint.fcntl is None:
        pytest.skip("no locks of files")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_checkpoint.Checkpoint, "__exit__", interrupt)
        with suppress(KeyboardInterrupt):
            model.fit(X, Y)
    found = []
    thread = threading.Thread(target=lambda: found.append(model.fit(X, Y)))
    thread.start()
    thread.join()
    assert found == [model]
