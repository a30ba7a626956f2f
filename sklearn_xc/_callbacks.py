"""Callbacks of scikit-learn 1.9 and newer: told of each epoch of a fit; nothing before.

A fit is decorated with `with_callbacks`, starts with ``progress = self._start_progress(...)`` once
its data are checked, surrounds each epoch with ``progress.begin()`` and ``progress.end(...)``, and
closes with ``progress.finish()``.
"""

import copy

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    FIT_CALLER = 3  # stacklevel of a warning inside fit about a call of fit
except ImportError:  # scikit-learn before 1.9
    FIT_CALLER = 2

    class CallbackSupportMixin:
        """Without callbacks, there is nothing to support."""

    def with_callbacks(method):
        return method


# What scikit-learn keeps on an estimator while it is being fitted, for its own clearing up.
STATE = "_callback_fit_ctx", "_skl_callbacks_to_teardown"


class Progress:
    """A fit's steps, as callbacks see them; does nothing where there are no callbacks.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    n_steps : int or None
        Steps of the fit at most.
    data : dict
        ``X`` and ``y`` as they were given to fit, and ``sample_weight``, which may be None.
    name : str
        What a step is called.
    set_model : callable or None
        ``set_model(twin, *weights)`` stores the weights that :meth:`end` is given in a copy of the
        estimator, so that callbacks can ask for predictions; the weights will change afterwards.
    """

    def __init__(self, estimator=None, n_steps=0, data=None, name="epoch", set_model=None):
        self._estimator, self._name, self._set_model = estimator, name, set_model
        self._root = None
        if hasattr(estimator, "_init_callback_context"):
            weight = data["sample_weight"]
            self._data = {
                "estimator": estimator,
                "X": data["X"],
                "y": data["y"],
                "metadata": None if weight is None else {"sample_weight": weight},
            }
            self._root = estimator._init_callback_context(max_subtasks=n_steps)
            self._root.call_on_fit_task_begin(**self._data)

    @property
    def watched(self):
        """Whether any callback is there to be told."""
        return self._root is not None and bool(getattr(self._estimator, "_skl_callbacks", ()))

    def begin(self):
        """A step begins."""
        if self._root is not None:
            self._step = self._root.subcontext(task_name=self._name)
            self._step.call_on_fit_task_begin(**self._data)

    def end(self, *weights):
        """A step is done; whether a callback wants it to be the last.

        Parameters
        ----------
        *weights : objects
            What `set_model` takes; looked at only if a callback asks for a fitted estimator.

        Returns
        -------
        stop : bool
        """
        if self._root is None:
            return False

        def attributes():
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

    def finish(self):
        """The fit is done, and the estimator ready to predict."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._data, reconstruction_attributes={})


SILENT = Progress()
