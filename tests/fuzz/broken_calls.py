"""Calls that fail at any moment: what was there before is there afterwards, whole and usable."""

import contextlib
import pickle
import signal
import threading
import warnings

import numpy as np
from fuzz.walks import labels_of, model_of, rows_of, same

from sklearn_xc import load
from sklearn_xc.utils._callbacks import STATE

ALLOCATIONS = "empty", "zeros", "full", "array", "asarray", "concatenate", "ascontiguousarray"
MANY = 30  # Ctrl-C, one after the other


def failing_allocations(rng, folder):
    """The n-th array that a call asks NumPy for is more than there is memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, call, X = task(rng, folder)
        count = _count_allocations(lambda: call(pickle.loads(pickle.dumps(model))))
        for number in rng.integers(0, max(count, 1), 3):
            _broken(model, call, X, folder, _allocation_fails(int(number)), MemoryError)


def interrupts(rng, folder):
    """Ctrl-C once, or many times, at a moment of a call."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, call, X = task(rng, folder)
        for _ in range(3):
            moment = float(10 ** rng.uniform(-4.5, -1.5))
            broken = _interrupted(moment, MANY if rng.integers(2) else 1)
            _broken(model, call, X, folder, broken, KeyboardInterrupt)


def task(rng, folder):
    """A fitted model, a call that changes or saves it, and rows to ask about."""
    while True:
        model, n_features = model_of(rng), int(rng.choice([3, 30]))
        X, y = rows_of(rng, n_features, n=40), labels_of(rng, 40)
        with contextlib.suppress(ValueError, TypeError):
            model.fit(X, y)
            break
    model.save(folder / "broken")
    calls = {
        "fit": lambda m: m.fit(X, y),
        "partial_fit": lambda m: m.partial_fit(X[:7], y[:7]),
        "prune": lambda m: m.prune(0.1),
        "save": lambda m: m.save(folder / "broken"),
        "load": lambda m: load(folder / "broken", "r").predict_topk(X, 1),
        "predict": lambda m: m.predict_topk(X, 1),
    }
    names = [name for name in calls if name in ("load", "predict") or hasattr(model, name)]
    return model, calls[names[rng.integers(len(names))]], X


def _broken(model, call, X, folder, broken, kind):
    """Break a call off: nothing has changed, or all has, and the file is one that loads."""
    before, answer = _own(model), model.predict_topk(X, 1)[1]
    try:
        with broken:
            _marked(call, model)
        return
    except kind:
        pass
    except (ValueError, TypeError):  # refused for itself
        pass
    except IndexError as error:  # by which SciPy replaces an allocation that failed
        if not isinstance(error.__cause__, kind):
            raise
    if not same(_own(model), before):
        # Ctrl-C may come when the change is complete, on the way out of the call.
        after, complete = _own(model), object.__new__(type(model))
        vars(complete).update(before)
        with contextlib.suppress(ValueError, TypeError):
            call(complete)
        if _replaced(after, before) != _replaced(_own(complete), before):
            raise AssertionError("a call that was broken off has changed a part of the model")
        answer = complete.predict_topk(X, 1)[1]
    found = []
    thread = threading.Thread(target=lambda: found.append(model.predict_topk(X, 1)[1]), daemon=True)
    thread.start()
    thread.join(30)
    if not found:
        raise AssertionError("a call that was broken off holds a lock")
    np.testing.assert_array_equal(found[0], answer)
    load(folder / "broken")
    left = [path.name for path in folder.iterdir() if path.suffix == ".tmp"]
    if left and kind is MemoryError:
        raise AssertionError(f"a call that was broken off has left {left}")


def _replaced(after, before):
    """The names of attributes that are there before or after, and are not the same object."""
    return {name for name in after | before if after.get(name) is not before.get(name)}


def _own(model):
    """The attributes but for those that are scikit-learn's, of callbacks."""
    return {name: value for name, value in vars(model).items() if name not in STATE}


@contextlib.contextmanager
def _interrupted(seconds, times):
    """Raise KeyboardInterrupt inside `_marked` only: what watches it has to come to its end."""
    left = [times]

    def interrupt(_, frame):
        while frame is not None and frame.f_code is not _marked.__code__:
            frame = frame.f_back
        if frame is not None and left[0]:
            left[0] -= 1
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 3e-5 if times > 1 else 0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _marked(call, model):
    return call(model)


@contextlib.contextmanager
def _allocations(seen):
    """Call `seen` before each allocation of NumPy's functions by this thread."""
    originals, mine = {name: getattr(np, name) for name in ALLOCATIONS}, threading.get_ident()

    def watched(original):
        def allocate(*arguments, **options):
            if threading.get_ident() == mine:
                seen()
            return original(*arguments, **options)

        return allocate

    try:
        for name, original in originals.items():
            setattr(np, name, watched(original))
        yield
    finally:
        for name, original in originals.items():
            setattr(np, name, original)


def _count_allocations(call):
    count = [0]

    def seen():
        count[0] += 1

    with contextlib.suppress(ValueError, TypeError), _allocations(seen):
        call()
    return count[0]


def _allocation_fails(number):
    left = [number]

    def seen():
        left[0] -= 1
        if left[0] == -1:
            raise MemoryError("as if there were no more")

    return _allocations(seen)
