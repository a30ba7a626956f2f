"""Samples and labels that join a fitted TopKNeighborsClassifier."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..base._label_texts import read_texts
from ..base._labels import LabelEncoding, encode_indicator
from ..base._multiclass import known_codes
from ..base._named_classes import encoding_of, read_classes
from ..base._new_classes import append_names, grown_classes
from ..base._validation import grades_of, validate_more
from ..utils._given_labels import in_order_of, is_numbered, label_names
from ..utils._typing import LabelsLike, MatrixLike
from ._auto import DEFAULTS
from ._input import indicator_of, wider_encoding, with_new_labels
from ._row_parts import unit_rows
from ._scorer import VoteSettings
from ._texts import LabelTexts


class NeighborsGrowth:
    """Mixin of ``partial_fit`` and ``add_labels``."""

    def partial_fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | None = None,
    ) -> Self:
        """Append samples, whose labels may be new; the model knows both at once.

        The cost follows the number of new samples: all others are copied once each time that their
        number doubles. New classes among sorted ones renumber the labels of all. The settings
        stay as they are; before any :meth:`fit` "auto" is 100, 3, 0 and 1.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            An indicator with more columns than before has new labels in the last ones; columns of
            a DataFrame go by their names.
        classes : array-like of shape (n_classes,), default=None
            All classes from this call on, also those without samples; by default those of before
            and those in y. With an indicator the names of all its columns.
        sample_weight : array-like of shape (n_samples,), default=None
        label_features : as of :meth:`fit`, default=None
            Further texts of the labels.

        Returns
        -------
        self : TopKNeighborsClassifier

        Raises
        ------
        ValueError
            If an argument is not as described, `classes` leaves out one of before or does not name
            a class of y, or the labels are of another kind than before.
        """
        with self._all_or_nothing():
            if not self.__sklearn_is_fitted__():
                given = {name: getattr(self, name) for name in VoteSettings._fields}
                auto = [name for name, value in given.items() if value == "auto"]
                given |= {name: getattr(DEFAULTS, name) for name in auto}
                self._fit(X, y, sample_weight, label_features, classes, given)
                return self
            # A failure further on restores the attributes, and nothing that they hold changes in
            # place.
            y, classes = self._by_names(y, classes)
            rows, y, weight = validate_more(self, X, y, sample_weight)
            self._require_rows(self._row_parts.in_form(rows))
            Y = self._classes_of_part(y, classes)
            if label_features is not None:
                given = label_features, self.n_features_in_, self._row_parts.dense, classes
                self._add_texts(self._texts_of(*given))
            self._append(rows, Y, weight)
            vars(self).pop("_scorer", None)
        return self

    def _by_names(
        self, y: LabelsLike, classes: ArrayLike | None
    ) -> tuple[LabelsLike, ArrayLike | None]:
        """Return the columns of a table in the order of labels, new ones last, and their names."""
        known, names = self.classes_, label_names(y)
        if self._encoding.kind != "multilabel" or names is None:
            return y, classes
        if classes is not None:
            return in_order_of(y, np.asarray(classes)), classes
        # Columns of a later table may come in another order and with new names between the known
        # ones: known labels keep their columns, new ones follow.
        there = set(known.tolist())
        new = [name not in there for name in names.tolist()]
        if is_numbered(names) or (is_numbered(known) and all(new)):  # one of them has no names
            return y, None
        if all(new) or not any(new):
            return in_order_of(y, known), None
        classes = append_names(known, names[new])
        return in_order_of(y, classes), classes

    def _classes_of_part(self, y: LabelsLike, classes: ArrayLike | None) -> sparse.csr_array:
        """Return the indicator of y of a later call; takes in its new labels."""
        known = self._encoding
        if known.kind == "multilabel":
            if y.ndim != 2:
                raise ValueError(
                    f"y of the calls before was an indicator, but now has shape {y.shape}"
                )
            names = None if classes is None else np.asarray(classes)
            Y = encode_indicator(y, None, grades_of(self))[1]
            encoding = wider_encoding(known, Y.shape[1], names)
            self._grow(encoding, np.arange(known.n_classes))
            return Y
        if sparse.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
            raise ValueError(
                f"y of the calls before held one class a sample, but now has shape {y.shape}"
            )
        y = column_or_1d(y, warn=True)
        named = None if classes is None else read_classes(classes)
        grown, places = grown_classes(known.classes_, y, named)
        self._grow(encoding_of(grown), places)
        return indicator_of(known_codes(y, grown), len(grown))

    def _grow(self, encoding: LabelEncoding, places: np.ndarray) -> None:
        """Bring all that is kept of labels to their places among more of them."""
        # Sorted classes move: frequencies, labels of samples and texts go to the new places. Of an
        # indicator, whose new columns are the last, nothing moves.
        n_labels = encoding.n_classes
        if n_labels == len(self.classes_):
            return
        frequencies = np.zeros(n_labels)
        frequencies[places] = self._frequencies
        self._frequencies = frequencies
        self._row_labels = self._row_labels.with_labels(n_labels, places)
        if self._texts is not None:
            self._texts = self._texts.with_labels(n_labels, places)
        self._set_encoding(encoding)

    def _add_texts(self, texts: LabelTexts) -> None:
        """Add texts of labels to those of the model."""
        self._texts = texts if self._texts is None else self._texts.joined(texts)

    def add_labels(self, label_features: MatrixLike, names: ArrayLike | None = None) -> Self:
        """Add labels that no sample has, by their texts.

        Parameters
        ----------
        label_features : array-like or sparse, shape (n_new, n_features), or sequence of these
            Their texts, as in :meth:`fit`.
        names : array-like of shape (n_new,), default=None
            Classes, where a sample has one; otherwise the names of the new columns, where those of
            before have names.

        Returns
        -------
        self : TopKNeighborsClassifier

        Raises
        ------
        ValueError
            If names are missing, given where labels have none, or there already; if the texts do
            not fit the samples.
        """
        check_is_fitted(self)
        with self._all_or_nothing():
            self._read_all()
            parts = self._row_parts
            rows, line_of, n_new = read_texts(label_features, self.n_features_in_, parts.dense)
            encoding, places, new = with_new_labels(self._encoding, n_new, names)
            self._grow(encoding, places)
            self._add_texts(LabelTexts.of(unit_rows(rows), new[line_of], len(self.classes_)))
            vars(self).pop("_scorer", None)
        return self
