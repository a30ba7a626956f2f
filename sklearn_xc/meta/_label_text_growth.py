"""Samples and labels that join a fitted LabelTextClassifier."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import all_or_nothing, check_parameters
from ..base._new_classes import append_names
from ..utils._available import available_if
from ..utils._typing import LabelsLike
from ._kept_texts import KeptTexts, joined
from ._label_forms import LISTS, read_targets
from ._vectorizing import read_label_texts, read_rows


def has(method: str) -> Callable[[Any], bool]:
    """Return a check of whether the classifier has a method."""

    def check(model: Any) -> bool:
        classifier = vars(model).get("classifier_") or model._given_classifier()
        if not hasattr(classifier, method):
            hint = "TopKNeighborsClassifier has partial_fit and add_labels, for one"
            if method == "predict_proba":
                hint = "give the classifier calibration='auto', if it has this parameter"
            raise AttributeError(f"classifier={type(classifier).__name__} has no {method}; {hint}")
        return True

    return check


class TextGrowth:
    """Mixin of ``partial_fit`` and ``add_labels``."""

    @available_if(has("partial_fit"))
    def partial_fit(
        self,
        X: Sequence[str],
        y: LabelsLike,
        label_texts: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on with more samples and texts of labels, by the words of the first call.

        Parameters
        ----------
        X : sequence of str
        y : as in fit, of the same form in all calls
            Lists may name new labels if the classifier adds them by samples alone
            (:class:`TopKNeighborsClassifier`).
        label_texts : dict, Series or DataFrame, default=None
            Further texts; the first call has those of the parameter too.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : LabelTextClassifier
        """
        with all_or_nothing(self):
            check_parameters(self)
            texts = read_label_texts(label_texts)
            params = {} if sample_weight is None else {"sample_weight": sample_weight}
            if not self.__sklearn_is_fitted__():
                texts = {**read_label_texts(self.label_texts), **texts}
                self._fit("partial_fit", X, y, texts, params)
                return self
            # The vocabulary stays that of the first call: columns are features of a fitted
            # classifier, and words that are new have none.
            rows = read_rows(X)
            targets = read_targets(y, texts, len(rows), self.classifier_, self.classes_, self._form)
            if len(targets.labels) > len(self.classes_) and targets.form == LISTS:
                self._require_growth(targets.labels)
                params["classes"] = targets.labels
            elif targets.form == "classes":
                params["classes"] = targets.labels
            if texts:
                params["label_features"] = self._label_features(texts, targets.labels)
            self._change(
                lambda model: model.partial_fit(
                    self.vectorizer_.transform(rows), targets.y, **params
                ),
                targets.labels,
                texts,
            )
        return self

    def _require_growth(self, labels: np.ndarray) -> None:
        """Refuse labels that the classifier cannot take in by samples."""
        if not _adds_by_texts(self.classifier_):
            new = labels.tolist()[len(self.classes_)]
            raise ValueError(
                f"y or label_texts holds {new!r}, which is no label of the model; "
                f"{type(self.classifier_).__name__} takes in new labels by add_labels or fit"
            )

    @available_if(has("add_labels"))
    def add_labels(
        self, label_texts: Any, X: Sequence[str] | None = None, y: LabelsLike = None
    ) -> Self:
        """Add labels by their texts and, where the classifier learns from samples, by samples.

        Parameters
        ----------
        label_texts : dict, Series or DataFrame
            From the new labels to their texts, which go by the words that the model knows.
        X : sequence of str, default=None
            Samples, which a classifier that is trained needs as negatives of the new labels;
            :class:`TopKNeighborsClassifier` takes none.
        y : as in fit, default=None
            Their labels.

        Returns
        -------
        self : LabelTextClassifier

        Raises
        ------
        ValueError
            If a label is there already, X and y are missing, or given where they are not used.
        """
        check_is_fitted(self)
        with all_or_nothing(self):
            texts = read_label_texts(label_texts)
            known = set(self.classes_.tolist())
            if again := [label for label in texts if label in known]:
                raise ValueError(f"label_texts names {again[0]!r}, which the model has already")
            if not texts:
                raise ValueError("label_texts names no label")
            if _adds_by_texts(self.classifier_):
                if X is not None or y is not None:
                    raise ValueError(
                        f"add_labels of {type(self.classifier_).__name__} takes texts alone; give "
                        "samples to partial_fit"
                    )
                self._add_by_texts(texts)
            else:
                self._add_by_rows(texts, X, y)
        return self

    def _add_by_texts(self, texts: dict) -> None:
        """Add labels by texts alone."""
        new = list(texts)
        names = None if self._form != "classes" and self._names() is not None else new
        features = self._label_features(texts, new)
        labels = append_names(self.classes_, np.array(new))
        self._change(lambda model: model.add_labels(features, names), labels, texts)

    def _add_by_rows(self, texts: dict, X: Sequence[str] | None, y: LabelsLike) -> None:
        """Add labels by samples and texts."""
        if X is None or y is None:
            raise ValueError(
                f"add_labels of {type(self.classifier_).__name__} needs samples as well as texts, "
                "as negatives of the new labels: give X and y"
            )
        rows = read_rows(X)
        targets = read_targets(y, texts, len(rows), self.classifier_, self.classes_, self._form)
        n_known, features = len(self.classes_), self.vectorizer_.transform(rows)
        # Of one class a sample the new classes are in y; of an indicator they are columns.
        if self._form == "classes":
            new = np.setdiff1d(targets.labels, self.classes_)
            if len(lacking := np.setdiff1d(new, targets.y)):
                raise ValueError(
                    f"label_texts names {lacking.tolist()[0]!r}, which no sample in y has: "
                    f"{type(self.classifier_).__name__} adds classes by samples"
                )
            Y, names = targets.y, None
        else:
            new, Y = targets.labels[n_known:], sparse.csc_array(targets.y)[:, n_known:].tocsr()
            names = new if self._names() is None else None
        of_new = self._label_features(texts, new)
        self._change(
            lambda model: model.add_labels(features, Y, names=names, label_features=of_new),
            targets.labels,
            texts,
        )

    def _change(self, change: Callable[[Any], Any], labels: np.ndarray, texts: dict) -> None:
        """Change the classifier, or restore it, and take over its labels and their texts."""
        # `all_or_nothing` of this wrapper restores attributes, of which the classifier is one and
        # the same object before and after: what is inside it needs a guard of its own.
        known = self.label_texts_
        with all_or_nothing(self.classifier_):
            change(self.classifier_)
        self.classes_ = np.asarray(self.classifier_.classes_)
        if self._form != "classes" and self._names() is not None:
            self.classes_ = labels
        self._kept_texts = KeptTexts.of(joined(known, texts), self.classes_)


def _adds_by_texts(classifier: BaseEstimator) -> bool:
    """Say whether add_labels takes texts first, and no samples."""
    add = getattr(classifier, "add_labels", None)
    return add is not None and next(iter(signature(add).parameters)) == "label_features"
