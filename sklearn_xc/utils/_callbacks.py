"""Progress of a fit: a line for each epoch (`verbose`), and callbacks of scikit-learn.

A fit is decorated with `with_callbacks`, makes ``progress = Progress.of_fit(self, X, y,
sample_weight)``, calls ``progress.start(...)`` once its data are checked, surrounds each epoch with
``progress.begin()`` and ``progress.end(...)``, and closes with ``progress.finish()``. Before
scikit-learn 1.9 there are no callbacks, only the lines.
"""

import copy
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Self

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    FIT_CALLER = 3  # stacklevel of a warning inside fit about a call of fit
except ImportError:  # scikit-learn before 1.9
    FIT_CALLER = 2

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Without callbacks, there is nothing to support."""

    def with_callbacks(method: Callable) -> Callable:
        return method


LOGGER = logging.getLogger("sklearn_xc")  # has the lines of `verbose` too, at the level INFO

# Where scikit-learn keeps the callbacks of an estimator, and what it puts there during a fit, for
# its own clearing up.
CALLBACKS = "_skl_callbacks"
STATE = "_callback_fit_ctx", "_skl_callbacks_to_teardown"


class Progress:
    """Steps of a fit, as callbacks see them and as `verbose` prints them.

    With `verbose` a line follows each step, all of one form::

        LDGSClassifier: pass 3 of 10, loss 1.234, 12 s, about 28 s left

    `told` holds the keyword arguments of every call of a callback; None for no callbacks.
    """

    def __init__(
        self, estimator: Any = None, verbose: int = 0, told: dict[str, Any] | None = None
    ) -> None:
        self._estimator, self._verbose, self._data = estimator, verbose, told or {}
        self._name, self._set_model, self._n_steps, self._done = "step", None, None, 0
        self._root = self._step = None

    @classmethod
    def of_fit(cls, estimator: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return the progress of a fit that callbacks follow, with its arguments as given."""
        supported = hasattr(estimator, "_init_callback_context")
        told = _told(estimator, X, y, sample_weight) if supported else None
        return cls(estimator, estimator.verbose, told)

    def start(
        self,
        n_steps: int | None,
        name: str = "epoch",
        set_model: Callable[..., None] | None = None,
        n_before: int = 0,
    ) -> Self:
        """Begin at most `n_steps` steps, after the data have been checked, and return the progress.

        `n_steps` is None where it is not known, as for a part of `partial_fit`; `name` is the word
        for a step. ``set_model(twin, *weights)`` stores the weights that :meth:`end` gets in a copy
        of the estimator, so that callbacks can predict. Up to `n_before` steps of another kind come
        first, which :meth:`before` follows.
        """
        self._name, self._set_model, self._n_steps, self._done = name, set_model, n_steps, 0
        self._fit_began = self._began = perf_counter()
        if self._data:
            # scikit-learn wants the number of all subtasks before the first of them begins
            self._root = self._estimator._init_callback_context(
                max_subtasks=None if n_steps is None else n_before + n_steps
            )
            self._root.call_on_fit_task_begin(**self._data)
        return self

    @property
    def watched(self) -> bool:
        """Whether the estimator has any callback."""
        return self._root is not None and bool(getattr(self._estimator, CALLBACKS, ()))

    @property
    def followed(self) -> bool:
        """Whether anybody, a callback or a reader, wants to know of each step when it is done."""
        return self.watched or bool(self._verbose)

    @property
    def verbose(self) -> bool:
        """Whether a line is printed for each step, so that a loss is worth its computation."""
        return bool(self._verbose)

    def before(self, n_steps: int, name: str) -> "Progress":
        """Return the progress of steps that come before those of the fit, at most `n_before`."""
        # A copy shares the root context: callbacks see one fit, which only its own progress ends.
        other = copy.copy(self)
        other._n_steps, other._name, other._set_model = n_steps, name, None
        other._done, other._began = 0, perf_counter()
        return other

    def begin(self) -> None:
        """Begin a step."""
        # What is prepared after `start` belongs to no step, and is not in the time left.
        if not self._done:
            self._began = perf_counter()
        # Only then: a context takes longer than the pass over a few samples.
        if self.watched:
            self._step = self._root.subcontext(task_name=self._name)
            self._step.call_on_fit_task_begin(**self._data)

    def end(self, *weights: Any, **reached: float | None) -> bool:
        """Finish a step, and return whether a callback wants it to be the last.

        `weights` are the arguments of `set_model`. `reached` has the results of the step by name,
        such as ``loss=1.234``, which are printed with `verbose`.
        """
        self._done += 1
        if self._verbose:
            self._print(reached)
        if self._step is None:
            return False

        # Called by scikit-learn only if a callback wants a fitted estimator. The weights go on
        # changing, so that the twin, and not the estimator, gets them.
        def attributes() -> dict[str, Any]:
            twin = copy.copy(self._estimator)
            before = vars(twin).copy()
            self._set_model(twin, *weights)
            now = vars(twin).items()
            return {
                name: value
                for name, value in now
                if name not in before or before[name] is not value
            }

        return self._step.call_on_fit_task_end(
            **self._data, reconstruction_attributes=attributes if self._set_model else None
        )

    def _print(self, reached: dict[str, float | None]) -> None:
        """Print and log the line of a step."""
        now = perf_counter()
        parts = [self._name]
        if self._n_steps is not None:
            parts = [f"{self._name} {self._done} of {self._n_steps}"]
        for name, value in reached.items():
            if value is not None:
                parts.append(f"{name.replace('_', ' ')} {value:.4g}")
        parts.append(_duration(now - self._fit_began))
        if self._n_steps is not None:
            # steps take equally long, about: the mean of those done stands for each one left
            left = (now - self._began) / self._done * (self._n_steps - self._done)
            parts.append(f"about {_duration(left)} left")
        line = f"{type(self._estimator).__name__}: {', '.join(parts)}"
        print(line, flush=True)
        LOGGER.info(line)

    def finish(self) -> None:
        """Finish the fit: the estimator is ready to predict."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._data, reconstruction_attributes={})


class InnerFits:
    """Fits of other estimators that a fit is made of, as callbacks see them.

    Callbacks that scikit-learn propagates, such as its progress bar, see the steps of these fits
    too. Before scikit-learn 1.9 nothing is done.
    """

    def __init__(self, estimator: Any, n_fits: int, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator, self._root, self._n_begun = estimator, None, 0
        if hasattr(estimator, "_init_callback_context"):
            self._data = _told(estimator, X, y, sample_weight)
            self._root = estimator._init_callback_context(
                max_subtasks=n_fits, sequential_subtasks=False
            )
            self._root.call_on_fit_task_begin(**self._data)

    def next(self, name: str) -> "InnerFit":
        """Return the next of the fits: an `InnerFit`."""
        if self._root is None:
            return InnerFit()
        context = self._root.subcontext(task_name=name, task_id=self._n_begun)
        self._n_begun += 1
        return InnerFit(context, self._estimator)

    def finish(self) -> None:
        """Finish: the estimator is ready to predict."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._data, reconstruction_attributes={})


class InnerFit:
    """Fit of another estimator, which may happen in a worker."""

    def __init__(self, context: Any = None, caller: Any = None) -> None:
        self._context, self._caller = context, caller

    @contextmanager
    def around(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Iterator[None]:
        """Enter the context of ``estimator.fit(X, y, sample_weight)``."""
        if self._context is None:
            yield
            return
        data = _told(self._caller, X, y, sample_weight)
        with self._context.propagate_callback_context(estimator):
            self._context.call_on_fit_task_begin(**data)
            yield
        self._context.call_on_fit_task_end(**data)


def _told(estimator: Any, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Return the keyword arguments of a call of a callback, in scikit-learn's names."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    return {"estimator": estimator, "X": X, "y": y, "metadata": metadata}


def _duration(seconds: float) -> str:
    """Format seconds in the unit that a reader would choose."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


SILENT = Progress()
