"""Blocks of classes on disk while a fit is under way, so that the same fit can resume.

A folder holds one file that says which fit it is of, and one for each block that is solved. Files
are written as models are: beside their place and then into it in one step, with checksums.
"""

import io
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from scipy import sparse

from .._version import __version__
from ..base._classifier import BaseXCClassifier
from ..base._label_texts import NO_TEXTS, Texts
from ..persistence._file import Reader, array_segment, write
from ..utils._typing import Matrix
from ._assembly import SolvedPart

try:
    import fcntl
except ImportError:  # where files cannot be locked so, two fits are not told apart
    fcntl = None

FIT, LOCK = "fit", ".lock"
FORMAT = 2
# Parameters that do not change the weights of a fit, or are compared otherwise.
NOT_COMPARED = {
    "calibration",
    "calibration_cv",
    "checkpoint",
    "keep_checkpoint",
    "n_jobs",
    "random_state",
    "scratch",
    "verbose",
}


class Checkpoint:
    """The folder of a fit, in a ``with``, as it holds the folder until the fit ends.

    `what` makes the fit: parameters by name, and digests of its data.
    """

    def __init__(self, folder: str | os.PathLike, what: dict[str, str]) -> None:
        self._folder, self._what = Path(os.path.abspath(folder)), what
        self._lock: io.FileIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()  # which a process that is killed does too
            self._lock = None

    def _hold(self) -> None:
        """Refuse a folder that another fit, of this process or another, is writing to."""
        os.makedirs(self._folder, exist_ok=True)
        if fcntl is None:
            return
        # a file object, not a number: if Ctrl-C comes before it is closed, it is with the object
        self._lock = open(self._folder / LOCK, "ab", buffering=0)  # noqa: SIM115
        try:
            # A lock of the system ends with the process, whatever ends it; a file that says "taken"
            # stays.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"checkpoint={os.fspath(self._folder)!r} is being written to by another fit: wait "
                "for its end, or give each fit a folder of its own"
            ) from None
        except OSError:  # a file system without locks
            self.__exit__()

    @classmethod
    def of(
        cls,
        model: BaseXCClassifier,
        X: Matrix,
        Y: sparse.csr_array,
        sample_weight: np.ndarray | None,
        dual: sparse.csr_array | None,
        texts: Texts = NO_TEXTS,
    ) -> Self:
        """Return the checkpoint of a fit of a model on data that were validated."""
        parameters = model.get_params(deep=False)
        what = {
            f"the parameter {name}": repr(value)
            for name, value in parameters.items()
            if name not in NOT_COMPARED
        }
        # Other random states draw a seed each time: a fit that resumes takes the one written down.
        if isinstance(model.random_state, (int, np.integer)):
            what["the parameter random_state"] = repr(int(model.random_state))
        data = {"X": X, "y": Y, "sample_weight": sample_weight, "dual_coef_": dual}
        if texts.n:
            data |= {
                "label_features": texts.rows.matrix(),
                "labels of label_features": texts.labels,
            }
        what |= {name: _digest(value) for name, value in data.items()}
        # Blocks of another version may differ in the last bits.
        what["the version of sklearn-xc"] = __version__
        return cls(model.checkpoint, what)

    def begin(self, seed: int) -> int:
        """Make the folder, or check that it is of this fit; returns the seed of the fit.

        Raises ValueError if the folder holds other files, or a fit of other data or parameters, or
        another fit is writing to it, and OSError if it cannot be made or written to.
        """
        if self._folder.exists() and not self._is_unused():
            self._fit()  # or nothing is written to it
        self._hold()
        if self._is_unused():
            content = {"checkpoint": FORMAT, "what": self._what, "seed": seed}
            write(self._folder / FIT, content, [])
            return seed
        found = self._fit()
        different = [name for name, value in self._what.items() if found["what"].get(name) != value]
        if different or found["what"].keys() - self._what.keys():
            named = different or sorted(found["what"].keys() - self._what.keys())
            raise ValueError(
                f"checkpoint={os.fspath(self._folder)!r} is of another fit: {', '.join(named)} "
                "differ; use the same as there, another folder, or delete this one"
            )
        return found["seed"]

    def _is_unused(self) -> bool:
        """Return whether nothing is there, or only what a process killed at its start has left."""
        left = {path.name for path in self._folder.glob(f".{FIT}.*.tmp")}
        return set(os.listdir(self._folder)) - {LOCK} == left

    def _fit(self) -> dict[str, Any]:
        """Return what the folder says of its fit, or raise ValueError."""
        try:
            found = Reader(self._folder / FIT, mapped=False).manifest
            right = found["checkpoint"] == FORMAT and type(found["seed"]) is int
            if not right or not isinstance(found["what"], dict):
                raise ValueError("it is of another format")
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(
                f"checkpoint={os.fspath(self._folder)!r} is not empty, and no folder of an earlier "
                f"fit ({error})"
            ) from error
        return found

    def read(
        self, blocks: list[np.ndarray], n_features: int, n_samples: int
    ) -> Iterator[SolvedPart | None]:
        """Yield the results of the blocks that are there, and None for the others."""
        for number, labels in enumerate(blocks):
            # A damaged file costs one block, not the fit.
            result = None
            if self._path(number).exists():
                try:
                    result = self.read_block(number, labels, n_features, n_samples)
                except ValueError as error:
                    warnings.warn(
                        f"checkpoint: a block of classes is solved again: {error}",
                        UserWarning,
                        stacklevel=2,
                    )
            yield result

    def read_block(
        self, number: int, labels: np.ndarray, n_features: int, n_samples: int
    ) -> SolvedPart:
        """Return the result of a block; ValueError if its file is damaged or of another."""
        return _result(Reader(self._path(number), mapped=False), labels, n_features, n_samples)

    def write(self, number: int, result: SolvedPart) -> None:
        """Keep the result of a block; raise OSError if there is no place for it."""
        write(self._path(number), {"block": number}, [array_segment(a) for a in _arrays(result)])

    def finish(self) -> None:
        """Delete what this fit has written, and the folder if nothing else is in it."""
        for path in [*self._folder.glob("block-*"), self._folder / FIT, self._folder / LOCK]:
            path.unlink(missing_ok=True)
        for path in self._folder.glob(".*.tmp"):  # of a process that was killed while it wrote
            path.unlink(missing_ok=True)
        if not os.listdir(self._folder):
            self._folder.rmdir()

    def _path(self, number: int) -> Path:
        """Return where a block is written."""
        return self._folder / f"block-{number:05d}"


def _digest(value: Matrix | None) -> str:
    """Return a digest of the numbers of an array or a sparse matrix, wherever they lie."""
    if value is None:
        return ""
    parts = (value.data, value.indices, value.indptr) if sparse.issparse(value) else (value,)
    # A digest is of numbers: views and mapped files have the one of a copy.
    parts = [np.ascontiguousarray(part) for part in parts]
    return joblib.hash([value.shape, *parts], hash_name="sha1", coerce_mmap=True)


def _arrays(result: SolvedPart) -> Iterator[np.ndarray]:
    """Yield the arrays of a `SolvedPart`, in its order."""
    for part in result:
        yield from part if isinstance(part, tuple) else (part,)


def _result(reader: Reader, labels: np.ndarray, n_features: int, n_samples: int) -> SolvedPart:
    """Return the result of a block from its file; ValueError if it cannot be one."""
    if len(reader.manifest["segments"]) != 12:
        raise ValueError(f"{reader.path} has another number of arrays than a block")
    arrays = [reader.copy(i) for i in range(12)]
    # `_arrays` writes two of the parts as pairs of lists, of weights and of duals.
    weights, duals = (arrays[6], arrays[7]), (arrays[9], arrays[10])
    part = SolvedPart._make([*arrays[:6], weights, arrays[8], duals, arrays[11]])
    lists = {
        "weights": (part.n_weights, *weights, n_features),
        "duals": (part.n_duals, *duals, n_samples),
    }
    # Kernels and CSR go by these numbers without another look: counts that add up, indices within
    # the data and ascending in each class.
    for name, (counts, entry, value, end) in lists.items():
        if counts.min(initial=0) < 0 or not counts.sum() == len(entry) == len(value):
            raise ValueError(f"{reader.path} has other {name} than it counts")
        if entry.size and not 0 <= entry.min() <= entry.max() < end:
            raise ValueError(f"{reader.path} has {name} beyond the data")
        rises = np.diff(entry, prepend=-1) > 0
        rises[np.cumsum(counts)[:-1][counts[1:] > 0]] = True  # where a class begins
        if not rises.all():
            raise ValueError(f"{reader.path} has {name} out of order")
    one_each = arrays[:6] + [arrays[8], arrays[11]]
    wrong = any(array.shape != labels.shape for array in one_each)
    if wrong or set(part.labels.tolist()) != set(labels.tolist()):
        raise ValueError(f"{reader.path} is of other classes")
    return part
