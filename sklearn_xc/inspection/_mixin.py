"""What a linear estimator says of itself: explanations of its scores, a report on its labels."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._explain import explain_rows, weights_at
from ._label_counts import (
    LabelReport,
    counts_of_codes,
    summed_support,
    training_support,
    weights_per_class,
)


class InspectionMixin:
    """Explanations and the label report of a classifier with ``coef_`` and ``intercept_``.

    A model whose scores are linear in the features, but not by ``coef_`` alone, overrides
    :meth:`_weights_at`; one that is linear but for a term common to the features of a row,
    :meth:`_weights_of_label`. What adds classes to a fitted model brings ``_support``, the training
    samples of each class, to the new length; where it does not, there is no report.
    """

    _support = None  # ndarray of int64 (n_classes,)
    _held_out_counts = None  # ndarray of int64 (3, n_classes): true, predicted, both

    def explain(self, X, labels=None, k=5, *, feature_names=None):
        """The features that contribute most to the scores of labels.

        The score of a label is its intercept and the sum of ``w_kj * x_j`` over the features of the
        row. Only the non-zeros of a row and of its labels' weights are looked at.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        labels : label, sequence of labels, one sequence of labels a row, or sparse indicator, \
                default=None
            What to explain. A label, or labels, for all rows; or for each row its own: an array of
            shape (n_samples, n_labels) such as the labels of :meth:`predict_topk`, a list of
            lists, or a sparse indicator as :meth:`predict` returns it. By default the predicted
            labels; where the model predicts none, the best.
        k : int or None, default=5
            Features to list for a label; the others are summed up. None lists all.
        feature_names : array-like of shape (n_features,), default=None
            By default those of the DataFrame given to fit, or ``x0, x1, ...``.

        Returns
        -------
        explanations : Explanations
            A sequence of :class:`sklearn_xc.inspection.Explanation`, row by row, the labels of a
            row by falling score.

        Raises
        ------
        ValueError
            If a label is not in ``classes_`` or named twice for a row, or k or feature_names are
            not as described.

        See Also
        --------
        sklearn_xc.explain : The same through a Pipeline, with the names of its features.
        """
        return explain_rows(self, X, labels, k, feature_names)

    def _predicted_places(self, rows):
        """The places in classes_ of the predicted labels of each row, or of the best label."""
        model, threads = self._model(), self._threads()
        if self._encoding.kind == "binary":
            return (model.scores(rows, threads) > 0).astype(int).tolist()
        best = model.topk(rows, 1, threads)[0].tolist()
        if self._encoding.kind == "multiclass":
            return best
        found = model.positives(rows, threads)
        found = np.split(found.indices, found.indptr[1:-1])
        return [some.tolist() or one for some, one in zip(found, best, strict=True)]

    def _weights_of_label(self, place, features, values):
        """What the score of the label at a place of ``classes_`` is made of.

        Parameters
        ----------
        place : int
        features : ndarray of int (n_listed,)
            Features that a row has, ascending.
        values : ndarray of float32 (n_listed,)
            Their values.

        Returns
        -------
        weights : ndarray of float32 (n_listed,)
            Their weights.
        intercept : float
            What the score holds beside ``weights @ values``.
        """
        if self._encoding.kind != "binary":
            return self._weights_at(place, features), float(self.intercept_[place])
        sign = 1 if place else -1
        return sign * self._weights_at(0, features), sign * float(self.intercept_[0])

    def _weights_at(self, row, features):
        """Weights of some features, ascending, in a row of the weights; ndarray of float32."""
        return weights_at(self.coef_, row, features)

    @property
    def label_report_(self):
        """Training samples, weights and held-out accuracy of every label, a LabelReport.

        Precision and recall are those on the rows that an estimator with ``early_stopping=True``
        kept from training, of the model that it returned, and otherwise nan:
        :func:`sklearn_xc.inspection.label_report` has them for rows of your own.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if self._support is None or len(self._support) != n_classes:  # not as fit has made it
            raise AttributeError("label_report_: the training samples of the labels are not known")
        counts = self._held_out_counts
        if counts is None:
            counts = np.zeros((3, n_classes), dtype=np.int64)
        n_weights = weights_per_class(self.coef_, n_classes)
        return LabelReport(self.classes_, self._support, n_weights, *counts)

    def _set_support(self, Y, sample_weight):
        """Count the samples of a fit, whose labels are `_labels.encode`'s Y."""
        self._support = training_support(Y, sample_weight, len(self.classes_))
        self._held_out_counts = None

    def _extend_support(self, Y, sample_weight, places):
        """Count the samples of labels that join those of a fit.

        Parameters
        ----------
        Y : csr_array (n_samples, n_classes)
            The positives of the new labels.
        sample_weight : ndarray (n_samples,), or None
        places : ndarray of int
            Where the labels of before stand.
        """
        if self._support is not None:
            support = training_support(Y, sample_weight, Y.shape[1])
            support[places] = self._support
            self._support = support
        self._held_out_counts = None

    def _add_support(self, codes, sample_weight, before):
        """Count the samples of a call of partial_fit; see `summed_support`."""
        self._support = summed_support(self.classes_, codes, sample_weight, before)
        self._held_out_counts = None  # of the model before

    def _count_held_out(self, rows, codes):
        """Record for `label_report_` how the model does on rows it was not trained on.

        Parameters
        ----------
        rows : Rows
            As :meth:`_model` scores them.
        codes : ndarray of int (n_samples,)
            Places of the rows' classes in ``classes_``; one class a row.
        """
        predicted = np.array(self._predicted_places(rows)).ravel()
        self._held_out_counts = counts_of_codes(codes, predicted, len(self.classes_))
