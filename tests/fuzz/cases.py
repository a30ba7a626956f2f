"""One random case of each kind; whatever is wrong raises `FoundError`, or ends the process."""

import contextlib
import pickle
import shutil
import warnings
from functools import cache
from numbers import Integral

import numpy as np
from _forged_models import DOCUMENTS, LABELS, MODELS, VALUES, X, Y, fitted, places_of, put, use
from _forged_models import saved_models as save_all
from _malformed import FORMATS, malformed
from _model_file import File
from _sparse_calls import CALLS, ROWS
from fuzz.broken_calls import failing_allocations, interrupts
from fuzz.pipeline_files import pipeline_files
from fuzz.slow_reader import slow_reader
from fuzz.text_files import text_files
from fuzz.threads import threads
from fuzz.walks import walks
from scipy import sparse
from sklearn.utils._param_validation import Interval, Options, StrOptions

from sklearn_xc import PPDSparseClassifier, load, mips
from sklearn_xc.datasets import iter_xc, load_xc
from sklearn_xc.datasets._mapped_csr import write_folder

REFUSED = ValueError, TypeError, MemoryError  # how bad input may be answered


class FoundError(AssertionError):
    """A wrong answer, or an error of a kind that says nothing."""


saved_models = cache(save_all)
model_of = cache(fitted)


# ---------------------------------------------------------------------------------- mapped rows


def mapped_folders(rng, folder):
    """A folder of `load_xc(path, to=...)` with a damaged or an exchanged array, read and fitted."""
    path = folder / f"folder-{rng.integers(2**60)}"
    pieces = [(sparse.csr_matrix(X), sparse.csr_matrix(LABELS))]
    write_folder(pieces, (*X.shape, LABELS.shape[1]), path)
    for _ in range(rng.integers(1, 3)):
        files = sorted(path.iterdir())
        one, other = (files[rng.integers(len(files))] for _ in range(2))
        if rng.random() < 0.7:
            one.write_bytes(_damaged(one.read_bytes(), rng))
        else:
            one.write_bytes(other.read_bytes())
    with contextlib.suppress(*REFUSED):
        for rows, labels in iter_xc(path, int(rng.integers(1, 20))):
            assert rows.shape[0] == labels.shape[0]
    with contextlib.suppress(*REFUSED):
        PPDSparseClassifier(max_iter=2, scratch=folder).fit(*load_xc(path))
    shutil.rmtree(path)


# ------------------------------------------------------------------------------------ model files


def model_files(rng, folder):
    """A file with valid checksums whose content was changed, or raw damage; mapped or not."""
    name = str(rng.choice(list(MODELS)))
    data = saved_models()[name]
    if rng.random() < 0.2:
        data = _damaged(data, rng)
    else:
        file = File(data)
        for _ in range(rng.integers(1, 4)):
            _change(file, rng)
        data = file.bytes()
    path = folder / "model"
    path.write_bytes(data)
    for mode in (None, "r"):
        try:
            model = load(path, mode)
        except ValueError:
            continue
        use(model)
        use(model)


def _damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    end = len(data) if rng.random() < 0.5 else int(rng.integers(len(data)))
    return bytes(data[:end]) + b"x" * int(rng.integers(2))


def _change(file, rng):
    number = int(rng.integers(len(file.arrays)))
    dtype, shape, _ = segment = file.manifest["segments"][number]
    if rng.random() < 0.4 or dtype == "json":
        places = sorted(places_of(file.attributes))
        values = [*VALUES, {"$": "array", "number": number}]
        with contextlib.suppress(KeyError, TypeError):  # an earlier change took its place away
            put(
                file.attributes,
                places[rng.integers(len(places))],
                values[rng.integers(len(values))],
            )
        return
    array = np.frombuffer(file.arrays[number], dtype).reshape(shape).copy()
    kind = rng.integers(5)
    if kind == 0:
        array = array.ravel()[: rng.integers(array.size + 1)]
    elif kind == 1 and array.size:
        wild = [0, -1, 2**31 - 1, 2**62, np.nan, np.inf, rng.integers(100)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.array(wild[rng.integers(len(wild))]).astype(array.dtype, casting="unsafe")
        array.ravel()[rng.integers(array.size)] = value
    elif kind == 2 and array.dtype.kind in "iuf":
        other = rng.choice(["<i4", "<i8", "<f4", "<f8", "|u1"])
        array = np.zeros(array.shape, other)
    elif kind == 3:
        array = array.reshape(rng.permutation([*array.shape, 1]))
    else:
        array = np.repeat(array.ravel(), 2)
    file.arrays[number] = bytearray(array.tobytes())
    segment[:2] = array.dtype.str, [int(n) for n in array.shape]


# ---------------------------------------------------------------------------------------- XC text


def xc_text(rng, folder):
    """Text in and beside the format, read by `load_xc` and by a slow reader."""
    n, d, k = (int(m) for m in rng.integers(0, [5, 6, 6]))
    lines = [_row(rng, d, k) for _ in range(n)]
    text = f"{n} {d} {k}\n" + "\n".join(lines) + ("\n" if lines and rng.random() < 0.8 else "")
    for _ in range(rng.integers(0, 3) if rng.random() < 0.6 else 0):
        at = int(rng.integers(len(text) + 1))
        text = text[:at] + str(rng.choice(list("0123456789:, \n\r\t.-+eEinfax"))) + text[at:]
    path = folder / "data.txt"
    path.write_bytes(text.encode())
    expected = slow_reader(text)
    try:
        found = load_xc(path)
    except ValueError as error:
        if expected is not None:
            raise FoundError(f"{text!r} was refused: {error}") from error
        return
    if expected is None:
        raise FoundError(f"{text!r} was read")
    for matrix, entries in zip(found, expected, strict=True):
        have = {(int(i), int(j)): v for i, j, v in zip(*sparse.find(matrix), strict=True)}
        if have != {place: value for place, value in entries.items() if value != 0}:
            raise FoundError(f"{text!r} was read as {have}")


def _row(rng, d, k):
    labels = ",".join(map(str, rng.integers(0, max(k, 1), rng.integers(0, 3))))
    numbers = ["1", "0", "-2.5", "1e-3", ".5", "3.", "+4", "1e40", "nan", "0x1", "1_0", "", "7e-46"]
    likely = [0.3, 0.1, 0.15, 0.1, 0.08, 0.08, 0.07, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02]
    pairs = [
        f"{rng.integers(0, max(d, 1))}:{rng.choice(numbers, p=likely)}"
        for _ in range(rng.integers(0, 4))
    ]
    return " ".join([labels, *pairs])


# -------------------------------------------------------------------------- arrays as arguments


def sparse_input(rng, folder):
    """A malformed sparse matrix through one public function: refused, by name."""
    broken = malformed(sparse.csr_array(ROWS), str(rng.choice(FORMATS)), rng)
    name = str(rng.choice(list(CALLS)))
    try:
        CALLS[name](broken)
    except ValueError as error:
        if "is not a valid sparse matrix" not in str(error):
            raise FoundError(f"{name} says {error}") from error
        return
    raise FoundError(f"{name} takes it")


def odd_arrays(rng, folder):
    """Arrays of any dtype, layout and content: used or refused."""
    model = fitted_or_not(rng)
    rows = _odd(X.toarray(), rng)
    y = _odd(Y, rng) if rng.random() < 0.3 else Y
    weight = _odd(np.ones(60), rng) if rng.random() < 0.3 else None
    for name, arguments in {
        "fit": (rows, y, weight),
        "partial_fit": (rows, y),
        "predict": (rows,),
        "predict_topk": (rows, int(rng.integers(-1, 9))),
        "decision_function": (rows,),
    }.items():
        if hasattr(model, name):
            with contextlib.suppress(*REFUSED):
                getattr(model, name)(*arguments)


def fitted_or_not(rng):
    name = str(rng.choice([name for name in MODELS if name != "words"]))
    return pickle.loads(pickle.dumps(model_of(name) if rng.random() < 0.7 else MODELS[name]))


def _odd(array, rng):
    kind = rng.integers(14)
    if kind < 6:
        dtypes = ["f2", "f8", "g", "i1", "u8", ">f4", ">i8", "?", "O", "c16", "U3", "S2", "M8[s]"]
        with np.errstate(all="ignore"):
            return array.astype(dtypes[rng.integers(len(dtypes))])
    array = array.astype(np.float32).copy()
    if kind == 6:
        buffer = np.zeros(array.nbytes + 1, np.uint8)
        found = buffer[1:].view(np.float32).reshape(array.shape)  # misaligned
        found[...] = array
        return found
    if kind == 7:
        return np.asfortranarray(array)[::-1]
    if kind == 8:
        return np.lib.stride_tricks.as_strided(
            array, (3, *array.shape[1:]), (0, *array.strides[1:])
        )
    if kind == 9:
        return array[: rng.integers(3)]
    if kind == 10:
        array.ravel()[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 3e38, 1e-45])
    elif kind == 11:
        array *= 10.0 ** rng.integers(-45, 38)
    elif kind == 12:
        return sparse.csr_array(np.atleast_2d(array)).asformat(str(rng.choice(FORMATS)))
    else:
        return array[..., None] if rng.random() < 0.5 else array.ravel()
    return array


# -------------------------------------------------------------------------------- parameters


def parameters(rng, folder):
    """Values drawn from the declared ranges of an estimator, or just outside of one."""
    name = str(rng.choice(list(MODELS)))
    model = pickle.loads(pickle.dumps(MODELS[name]))
    constraints = {k: c for k, c in model._parameter_constraints.items() if k != "n_jobs"}
    names = rng.choice(
        sorted(constraints), size=min(len(constraints), int(rng.integers(1, 5))), replace=False
    )
    outside = rng.random() < 0.2
    for key in names:
        allowed = constraints[key]
        value = _drawn(allowed[rng.integers(len(allowed))], rng, outside)
        if value is not SKIP:
            model.set_params(**{key: value})
    words = name == "words"
    rows = X if rng.random() < 0.5 else X.toarray()
    y = LABELS if rng.random() < 0.3 else Y
    try:
        model.fit(*((DOCUMENTS,) if words else (rows, y)))
    except (*REFUSED, ImportError) as error:
        if not str(error):
            raise FoundError(f"{model} gives {error!r}") from error
        return
    use(model)


SKIP = object()


def _drawn(constraint, rng, outside):
    if isinstance(constraint, Interval):
        return _in_interval(constraint, rng, outside)
    if isinstance(constraint, (StrOptions, Options)):
        options = sorted(constraint.options, key=repr)
        return options[rng.integers(len(options))] if not outside else "nonsense"
    if constraint is None:
        return None
    if constraint == "boolean":
        return bool(rng.integers(2))
    if constraint == "random_state":
        return int(rng.integers(100))
    if constraint == "verbose":
        return 0
    return SKIP


def _in_interval(interval, rng, outside):
    low = -np.inf if interval.left is None else interval.left
    high = np.inf if interval.right is None else interval.right
    whole = interval.type is Integral
    if outside:
        ends = [end for end in (low - 1, high + 1) if np.isfinite(end)]
        return (int if whole else float)(ends[0]) if ends else np.nan
    ends = [end for end in (interval.left, interval.right) if end is not None]
    if rng.random() < 0.3 and ends and not (whole and abs(max(ends, key=abs)) > 1000):
        value = ends[rng.integers(len(ends))]
    elif whole:
        value = int(rng.integers(max(low, 0), min(high, 200) + 1))
    else:
        value = float(np.clip(10.0 ** rng.uniform(-12, 6), low, high))
    return int(value) if whole else float(value)


# ------------------------------------------------------------------------------------ indexes


def indexes(rng, folder):
    """A walk of builds, updates and queries beside brute force."""
    kinds = [mips.ExactIndex, mips.HNSWIndex, mips.SimpleLSHIndex, mips.SphericalIndex]
    kind = kinds[rng.integers(4)]
    index = kind(min_recall=float(rng.choice([0, 0.5, 0.9])), random_state=0)
    rows = None
    for _ in range(rng.integers(2, 8)):
        n, d = int(rng.integers(1, 300)), int(rng.integers(1, 9)) if rows is None else rows.shape[1]
        new = rng.normal(size=(n, d)).astype(np.float32)
        if rng.random() < 0.3:
            new = np.where(rng.random(new.shape) < 0.5, new, 0).astype(np.float32)
        given = sparse.csr_array(new) if rng.random() < 0.3 else new
        step = rng.integers(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if step == 0 or rows is None:
                if rng.random() < 0.2:
                    with contextlib.suppress(ValueError):
                        index.build(np.full((n, d), 3e38, dtype=np.float32))
                        rows = np.full((n, d), 3e38, dtype=np.float32)
                    continue
                index.build(given)
                rows = new.copy()
            elif step == 1:
                ids = rng.permutation(len(rows))[: min(n, len(rows))]
                index.update(ids, given[: len(ids)])
                rows[ids] = new[: len(ids)]
            else:
                _compare(index, rows, given, new, int(rng.integers(1, min(len(rows), 12) + 1)))


def _compare(index, rows, given, queries, k):
    if not np.isfinite(queries.astype(np.float64) @ rows.T.astype(np.float64)).all():
        return
    try:
        ids, scores = index.query(given, k)
    except ValueError as error:
        if "not finite" not in str(error):
            raise
        return
    with np.errstate(over="ignore"):
        exact = (queries.astype(np.float64) @ rows.T.astype(np.float64)).astype(np.float32)
    if ids.min() < 0 or ids.max() >= len(rows) or any(len(set(row)) < k for row in ids.tolist()):
        raise FoundError(f"ids {ids}")
    size = np.abs(queries) @ np.abs(rows).T + 1e-30
    error = np.abs(np.take_along_axis(exact, ids, axis=1) - scores)
    if (error > 1e-4 * np.take_along_axis(size, ids, axis=1)).any():
        raise FoundError(f"scores are wrong by {error.max()}")
    if index.mode_ == "exact":
        best = np.sort(exact, axis=1)[:, ::-1][:, :k]
        if (np.abs(best - scores) > 1e-4 * size.max(axis=1, keepdims=True)).any():
            raise FoundError("not the best")


# ------------------------------------------------------------------------------------- states


def states(rng, folder):
    """Attributes set by hand, or a pickled state that lacks some: exceptions, no crash."""
    model = pickle.loads(pickle.dumps(model_of(str(rng.choice(list(MODELS))))))
    attributes = sorted(name for name in vars(model) if name not in model.get_params(deep=False))
    for name in rng.choice(attributes, size=int(rng.integers(1, 3)), replace=False):
        value = vars(model)[name]
        if rng.random() < 0.2:
            del vars(model)[name]
        else:
            with contextlib.suppress(AttributeError):
                setattr(model, name, _other(value, rng))
    for _ in range(2):
        with contextlib.suppress(Exception):
            _use_all(model)


def _other(value, rng):
    if sparse.issparse(value):
        if value.nnz and rng.random() < 0.8:
            return malformed(value, str(rng.choice(["csr", "csc", "coo", "lil"])), rng)
        return value[: rng.integers(value.shape[0] + 1)]
    if isinstance(value, np.ndarray) and value.size:
        kind = rng.integers(4)
        if kind == 0:
            return value[: rng.integers(len(value))]
        if kind == 1:
            return value.astype(str(rng.choice(["f8", "i8", "i4", "O"])))
        if kind == 2:
            return np.repeat(value, 2, axis=-1)
        return np.full_like(value, rng.choice([-1, 0, 10**6]))
    others = [None, -1, 10**9, "text", np.nan, (), np.zeros(3)]
    return others[rng.integers(len(others))]


def _use_all(model):
    for name in ("predict", "predict_topk", "decision_function", "predict_proba", "explain"):
        with contextlib.suppress(Exception):
            getattr(model, name)(X)
    for name in ("partial_fit", "score"):
        with contextlib.suppress(Exception):
            getattr(model, name)(X, Y)
    with contextlib.suppress(Exception):
        model.score(DOCUMENTS)
    with contextlib.suppress(Exception):
        model.prune(0.1)
    with contextlib.suppress(Exception):
        pickle.loads(pickle.dumps(model)).predict(X)


KINDS = {
    "mapped_folders": mapped_folders,
    "model_files": model_files,
    "pipeline_files": pipeline_files,
    "xc_text": xc_text,
    "text_files": text_files,
    "sparse_input": sparse_input,
    "odd_arrays": odd_arrays,
    "parameters": parameters,
    "indexes": indexes,
    "states": states,
    "walks": walks,
    "threads": threads,
    "failing_allocations": failing_allocations,
    "interrupts": interrupts,
}
