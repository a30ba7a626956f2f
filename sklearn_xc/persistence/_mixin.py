"""The mixin that saves estimators, and the functions that save and load them."""

import warnings
from collections.abc import Set as AbstractSet
from numbers import Real
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
from ..utils._callbacks import CALLBACKS
from ..utils._locks import ForkSafeRLock
from ..utils._records import DECLARED
from ..utils._typing import LabelsLike
from ._decoder import Decoder, Origin
from ._encoder import Encoder, Survey
from ._file import DAMAGES, FileLike, Reader, write
from ._names import with_names
from ._steps import is_step
from ._weights import DTYPES

__all__ = ["SaveMixin", "load", "save", "save_problems"]

StoredDType: TypeAlias = Literal["float32", "float16"]

VERSION = "_sklearn_xc_version"  # in a pickle
_READING = ForkSafeRLock()  # held while attributes of a mapped file become attributes in memory


class SaveMixin:
    """Mixin of ``save``, and of the way back for :func:`load`.

    Parameters and whatever else ``vars`` shows are saved, in the kinds of values that
    `_encoder.Encoder` knows. A subclass checks them in ``_check_loaded`` before any kernel can see
    them, and names all that a file may hold in the call of ``require_attributes`` there; one with
    attributes that are made again when they are needed adds their names to ``_not_saved``, one with
    parameters that name files or folders lists them in ``_places``.
    Linear weights of a mapped file are in ``_loaded``, as `LoadedWeights`, until all is read.
    """

    # Made again where they are needed. A file that held an index could contradict its weights.
    _not_saved = "_index_cache", "_origin", "_warned_of_empty", "_column_map", CALLBACKS
    _shown_otherwise = ()  # attributes that a property shows in another form
    _absent = {}  # noqa: RUF012  method that users look for in vain -> what to use
    # Parameters that name files or folders: the machine that loads decides, not the file.
    _places = ()

    def save(
        self, path: FileLike, *, dtype: StoredDType = "float32", threshold: float = 0.0
    ) -> None:
        """Save the fitted estimator in a file that :func:`sklearn_xc.load` reads.

        The file holds raw arrays and JSON, nothing that could be executed, and a checksum of every
        byte. It is complete or not there: whatever ends the call early leaves the file of before.

        Parameters
        ----------
        path : str, path-like or binary file object
            Name of the file, replaced if it exists; or an object with ``write``, such as
            ``io.BytesIO``, that the bytes are written to.
        dtype : {"float32", "float16"}, default="float32"
            How the weights are stored. float16 rounds them to eleven binary digits; the loaded
            model computes in float32 again.
        threshold : float, default=0.0
            Sparse weights of a magnitude up to it are left out.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator has not been fitted.
        TypeError
            If a parameter or attribute cannot be saved, such as a function.
        ValueError
            If `dtype` or `threshold` is not as described, or not for this estimator.
        OSError
            If the directory does not exist, or the file cannot be written.
        """
        check_is_fitted(self)
        _write(self, path, dtype, threshold)

    def _state_to_save(self, encoder: Encoder) -> dict[str, Any]:
        """Return all that is not a parameter, by name."""
        self._read_all()
        return {name: value for name, value in vars(self).items() if name not in self._not_saved}

    def _set_loaded_state(self, state: dict[str, Any], origin: Origin | None) -> None:
        """Take over the attributes of a file, by name.

        With an `origin` arrays may be mapped, and some attributes still be missing, which are read
        from there.
        """
        vars(self).update(state)
        # With the state as it was read: what the user has replaced since is not read again.
        if origin is not None:
            self._origin = origin, state
        self._check_loaded(origin is not None)

    def _check_loaded(self, mapped: bool) -> None:
        """Raise ValueError if the attributes are of the wrong kind or do not fit together.

        If `mapped`, large arrays are in a mapped file, where only their shapes are looked at, and
        attributes with sparse matrices may still be missing. It is called again once all is in
        memory, before anything is trained.
        """

    def _refuse_undeclared(self, names: AbstractSet[str]) -> None:
        """Raise ValueError for attributes of a file that no test of the class is for."""
        # Methods find attributes by name, also optional ones: one that no test is for could be
        # anything where a kernel takes an array of a certain length.
        unknown = names - DECLARED.get(type(self), set())
        if unknown:
            raise ValueError(f"{min(unknown)!r} is no attribute of a fitted {type(self).__name__}")

    def _check_late(self, name: str, value: Any) -> None:
        """Raise ValueError if an attribute that was read late does not fit the others."""

    def _read_all(self) -> None:
        """Read into memory what is still in a mapped file, before it is changed or copied.

        Threads may ask for it at once; others see the mapped state or the one in memory, whole.
        """
        if "_origin" not in vars(self):
            return
        # One lock for all models, which a thread may take again: an estimator inside another is
        # read in the midst of reading that one.
        with _READING.held:
            if "_origin" not in vars(self):  # another thread was first
                return
            (origin, placed), state = self._origin, {}
            for name, value in origin.read().items():
                mine = vars(self).get(name)
                if isinstance(mine, SaveMixin):
                    mine._read_all()
                elif name not in vars(self) or mine is placed.get(name):  # not replaced since
                    state[name] = value
            # A copy takes in the state and is checked; if that fails, this model is as it was.
            whole = object.__new__(type(self))
            vars(whole).update(vars(self))
            del whole._origin
            whole._set_loaded_state(state, None)
            # One assignment: a thread that predicts meanwhile sees all attributes mapped or none.
            self.__dict__ = vars(whole)

    def __getattr__(self, name: str) -> Any:
        """Read an attribute that is still in a mapped file when it is first used."""
        # Python calls this only for names that it has not found. By `vars`, since `self._loaded`
        # would end here again.
        loaded = vars(self).get("_loaded")
        if name == "coef_" and loaded is not None:
            return loaded.coef()
        origin, placed = vars(self).get("_origin", (None, None))
        # Sparse matrices are late: they have to be read to be checked, which would take from
        # mapping what it is for.
        if origin is None or name not in origin.late():
            if name in self._absent:
                kind = type(self).__name__
                raise AttributeError(f"{kind} has no {name}: {self._absent[name]}")
            return object.__getattribute__(self, name)  # raises AttributeError, in Python's words
        with _READING.held:
            if name not in vars(self):
                if name not in placed:  # a copy that a prediction took may have read it
                    value = origin.read([name])[name]
                    self._check_late(name, value)
                    placed[name] = value
                vars(self)[name] = placed[name]
        return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        self._read_all()
        return {**super().__getstate__(), VERSION: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if (version := state.pop(VERSION, __version__)) != __version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=f"{__version__} of sklearn-xc",
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        super().__setstate__(state)


def _write(
    estimator: BaseEstimator,
    path: FileLike,
    dtype: str,
    threshold: float,
    notes: dict[str, Any] | None = None,
) -> None:
    """Encode an estimator, or a step of scikit-learn, and write the file; see `save`."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {list(DTYPES)}, got {dtype!r}")
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not threshold >= 0:
        raise ValueError(f"threshold must be a number from 0 on, got {threshold!r}")
    encoder = Encoder(dtype, threshold)
    ours = isinstance(estimator, SaveMixin)
    model = encoder.estimator(estimator) if ours else encoder.step(estimator)
    if (dtype != "float32" or threshold) and not encoder.n_weights:
        raise ValueError(
            f"dtype={dtype!r} and threshold={threshold!r} are for linear weights, and "
            f"{type(estimator).__name__} has none"
        )
    manifest = {"library": "sklearn-xc", "version": __version__, "model": model}
    if notes is not None:
        manifest["notes"] = notes
    write(path, manifest, encoder.segments, _require_loadable)


def _require_loadable(path: Path) -> None:
    """Raise ValueError unless a file that was just written can be loaded."""
    # Mapped, so that large arrays are not read again: what is left are the rules of loading, which
    # a model that a user has edited may break. Better now than when the model is gone.
    reader = Reader(path, True)
    try:
        decoder = Decoder(reader, True)
        decoder.decode(reader.manifest["model"])
        for estimator in decoder.estimators:
            # Late attributes are checked when they are first used: so they are used here.
            for name in estimator._origin[0].late() if "_origin" in vars(estimator) else ():
                getattr(estimator, name)
            if "_origin" in vars(estimator):
                estimator._check_loaded(False)
    except DAMAGES as error:
        raise ValueError(
            f"save: load would refuse this model ({error}), and nothing was written; please report "
            "how it was made"
        ) from error


def save(
    estimator: BaseEstimator,
    path: FileLike,
    *,
    names: LabelsLike | None = None,
    dtype: StoredDType = "float32",
    threshold: float = 0.0,
) -> None:
    """Save a fitted estimator, or a whole Pipeline, in one file without pickle.

    Parameters
    ----------
    estimator : estimator
        Fitted: one of this package, or a :class:`~sklearn.pipeline.Pipeline`,
        :class:`~sklearn.compose.ColumnTransformer` or :class:`~sklearn.pipeline.FeatureUnion` of
        these and of scikit-learn's vectorizers of texts and dicts, encoders, scalers, imputers,
        binarizers, ``FunctionTransformer`` (of a NumPy function), ``TruncatedSVD``, ``PCA``,
        ``SelectKBest``, ``VarianceThreshold``, ``FrozenEstimator``, nested in any way; the page
        "Saving and loading a model" has the list. Of a search, such as
        :class:`~sklearn.model_selection.GridSearchCV`, the best estimator is saved. Parameters that
        the machine decides which loads, ``memory`` and ``n_jobs`` of scikit-learn's steps,
        ``scratch`` and ``checkpoint`` of ours, are left out.
    path : str, path-like or binary file object
        Name of the file, replaced if it exists; complete or not there, as by the method ``save``.
        Or an object with ``write``, such as ``io.BytesIO``.
    names : array-like of shape (n_classes,) or MultiLabelBinarizer, default=None
        What the classifier calls its labels from then on, in the order of its ``classes_``.
    dtype : {"float32", "float16"}, default="float32"
        How linear weights are stored.
    threshold : float, default=0.0
        Sparse linear weights of a magnitude up to it are left out.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator has not been fitted.
    TypeError
        If it holds a step or a value that a file cannot hold, which is named.
    ValueError
        If an argument is not as described.
    OSError
        If the directory does not exist, or the file cannot be written.

    See Also
    --------
    load : The way back.
    save_problems : Says before a fit what cannot be saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_xc import PPDSparseClassifier, load, predict_topk, save
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> pipeline = make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0))
    >>> pipeline = pipeline.fit(passages, ["sort", "sort", "sum", "sum"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(pipeline, Path(folder, "tagger.sxc"))
    ...     loaded = load(Path(folder, "tagger.sxc"))
    >>> predict_topk(loaded, ["how to sort?"], k=1)[0].tolist()
    [['sort']]
    """
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    check_is_fitted(estimator)
    if names is not None:
        estimator = with_names(estimator, names)
    _write(estimator, path, dtype, threshold)


def save_with_notes(estimator: BaseEstimator, path: FileLike, notes: dict[str, Any]) -> None:
    """Save a fitted estimator as :func:`save` does, and an object of JSON that `load` ignores."""
    check_is_fitted(estimator)
    _write(estimator, path, "float32", 0.0, notes)


def read_notes(path: FileLike | bytes) -> dict[str, Any]:
    """Return the object of JSON that a model was saved with, empty if there was none."""
    notes = Reader(path, True).manifest.get("notes")
    return notes if isinstance(notes, dict) else {}


def save_problems(estimator: BaseEstimator) -> list[str]:
    """Say what of an estimator :func:`save` would refuse, before it is fitted.

    Parameters
    ----------
    estimator : estimator
        Fitted or not: a Pipeline, a search, or any other.

    Returns
    -------
    problems : list of str
        A sentence for each step, parameter or attribute that a model file cannot hold; empty if
        nothing stands in the way.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_xc import PPDSparseClassifier, save_problems
    >>> words = TfidfVectorizer(input="file")
    >>> save_problems(make_pipeline(words, PPDSparseClassifier()))
    ["parameter 'input' of TfidfVectorizer is 'file', and in a model file it has to be 'content'"]
    >>> save_problems(make_pipeline(TfidfVectorizer(), PPDSparseClassifier()))
    []
    """
    estimator = getattr(estimator, "best_estimator_", getattr(estimator, "estimator", estimator))
    survey = Survey()
    if isinstance(estimator, SaveMixin):
        survey.estimator(estimator)
    else:
        survey.step(estimator)
    return survey.problems


def load(path: FileLike | bytes, mmap_mode: Literal["r"] | None = None) -> Any:
    """Load an estimator that was saved with its method ``save``, or by :func:`save`.

    Nothing in a file is executed, whoever wrote it: it holds numbers and texts only, and the
    estimators that it can name are those of this package and the few of scikit-learn that
    :func:`save` lists.

    Parameters
    ----------
    path : str, path-like, bytes-like or binary file object
        Name of a file; or the bytes of one; or an object with ``read`` that gives them, to its end.
    mmap_mode : {None, "r"}, default=None
        None reads the file and verifies the checksum of every byte. "r" maps it into memory, which
        takes no time: the operating system reads what a prediction needs when it needs it, and all
        processes share that. Only the manifest and small arrays are verified then; what is
        guaranteed is on the page "Saving and loading a model".

    Returns
    -------
    estimator : estimator
        As it was when it was saved. ``coef_`` of a mapped model with sparse weights is made when
        first used; pickling a mapped model, copying it or training it further reads it into
        memory first.

    Raises
    ------
    OSError
        If the file does not exist or cannot be read.
    ValueError
        If it is not a model, if it was truncated, damaged or edited, or needs a newer version of
        the package.
    MemoryError
        If it is not mapped and larger than the limit on memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_xc import PPDSparseClassifier, load
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, Y = make_xc_classification(n_samples=500, n_features=1000, n_classes=50, random_state=0)
    >>> model = PPDSparseClassifier(random_state=0).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.sxc")
    ...     model.save(path)
    ...     loaded = load(path)
    >>> print((loaded.predict_topk(X)[0] != model.predict_topk(X)[0]).sum(), "answers differ")
    0 answers differ
    """
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode must be None or 'r', got {mmap_mode!r}")
    reader = Reader(path, mmap_mode == "r")
    try:
        model = Decoder(reader, reader.mapped).decode(reader.manifest["model"])
        if not isinstance(model, SaveMixin) and not is_step(model):
            raise ValueError("it holds no estimator")
    except DAMAGES as error:
        reader.refuse_content(error)
    return model
