"""Text in, names out: a vectorizer, texts of labels, and a classifier that takes both."""

from collections.abc import Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base._classifier import HasMethods, all_or_nothing, as_it_is, check_parameters
from ..base._explanation import Explanations
from ..base._predict_topk import PredictsTopK
from ..base._topk_predictor import AnswersSingleRows
from ..model_selection._choices import choices_of, named_inside
from ..persistence import SaveMixin
from ..stacking._classifier import TopKStackingClassifier
from ..topk._predict import PredictorOfPipeline, topk_predictor
from ..topk._restriction import Restriction
from ..utils._available import available_if
from ..utils._records import is_a, is_labels, is_text, require_attributes, savable
from ..utils._typing import LabelsLike, Matrix
from ..utils._unwrap import Inner
from ._base import best_classes
from ._kept_texts import KeptTexts
from ._label_forms import LISTS, read_targets
from ._label_text_growth import TextGrowth, has
from ._vectorizing import as_label_features, fitted_vectorizer, read_label_texts, read_rows


@savable
class LabelTextClassifier(
    PredictsTopK,
    AnswersSingleRows,
    TextGrowth,
    SaveMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Text in, names out: a classifier that reads what labels are called.

    Names, synonyms and descriptions of labels go through the vectorizer of the samples, and on to
    the classifier as its `label_features`. Labels that no sample has are found by their texts. A
    Pipeline cannot do it: it does not transform arguments of `fit` by steps that it fits.

    Parameters
    ----------
    classifier : estimator, default=None
        A classifier whose `fit` takes `label_features`; None is
        ``TopKStackingClassifier(random_state=0)``, the most precise. It holds out samples and fits
        each of its parts at least twice: ``PPDSparseClassifier(random_state=0)`` takes at most two
        fifths of the time, :class:`TopKNeighborsClassifier` can take in samples and labels later.
    vectorizer : transformer, default=None
        From texts to samples of numbers; None is ``TfidfVectorizer(sublinear_tf=True,
        dtype=np.float32)``. It learns the words of samples and label texts, so that a name whose
        word no sample has is known. The idf of a
        :class:`~sklearn.feature_extraction.text.TfidfVectorizer`, alone or in a
        :class:`~sklearn.pipeline.FeatureUnion`, is of the samples only, since texts are short and
        would make the words of names look frequent [1]_; other vectorizers are fitted on both.
    label_texts : dict, Series or DataFrame, default=None
        From label to its text, or a list of texts such as synonyms. Of a DataFrame, the index
        holds labels and each column texts. None or NaN is no text. Its labels are labels of the
        model, with samples or without.

    Attributes
    ----------
    classifier_ : estimator
        Fitted.
    vectorizer_ : transformer
        Fitted.
    classes_ : ndarray, shape (n_classes,)
        Names of the labels: those in y and in `label_texts`.
    label_texts_ : dict
        From label to the list of its texts, of all calls so far; also of a loaded model.

    See Also
    --------
    TopKStackingClassifier : The default, and what its second stage reads of texts.
    PPDSparseClassifier : Takes `label_features`, and says how texts are trained on.
    TopKNeighborsClassifier : Takes them too, and new samples and labels at any time.

    Notes
    -----
    `save` writes one file, of the vectorizer, the classifier, the names and `label_texts_`. The
    parameter `label_texts`, such as a DataFrame, is None in a loaded model; to fit it again pass
    ``label_texts=model.label_texts_``.

    References
    ----------
    .. [1] G. Salton and C. Buckley. Term-weighting approaches in automatic text retrieval.
       Information Processing & Management 24(5), 1988.

    Examples
    --------
    >>> from sklearn_xc import LabelTextClassifier
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> labels = ["sort", "sort", "sum", "sum"]
    >>> texts = {"sort": "sort", "sum": ["sum", "total"], "inv": "inverse of a matrix"}
    >>> model = LabelTextClassifier(label_texts=texts).fit(passages, labels)
    >>> model.predict(["the matrix inverse", "the total"]).tolist()
    ['inv', 'sum']
    """

    _parameter_constraints = {  # noqa: RUF012
        "classifier": [HasMethods(["fit", "predict"]), None],
        "vectorizer": [HasMethods(["fit", "transform"]), None],
        "label_texts": [dict, HasMethods(["items"]), None],
    }
    _places = ("label_texts",)

    def __init__(
        self,
        classifier: BaseEstimator | None = None,
        vectorizer: BaseEstimator | None = None,
        *,
        label_texts: Any = None,
    ) -> None:
        self.classifier = classifier
        self.vectorizer = vectorizer
        self.label_texts = label_texts

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.classifier_tags.multi_label = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "classifier_" in vars(self)

    # ------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: Sequence[str],
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the vectorizer on samples and label texts, and the classifier on both.

        Parameters
        ----------
        X : sequence of str
        y : array-like of shape (n_samples,), list of lists of labels, or indicator
            One label a sample; the labels of each sample; or an indicator of shape (n_samples,
            n_classes), whose columns have the names of a DataFrame, of the classifier's
            `label_names`, or their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
        **fit_params : dict
            Given to the classifier's fit.

        Returns
        -------
        self : LabelTextClassifier

        Raises
        ------
        ValueError
            If X holds no texts, label_texts is not as described, or it names a label that an
            indicator has no column for.
        TypeError
            If label_texts are given and the classifier's fit takes no `label_features`.
        """
        with all_or_nothing(self):
            check_parameters(self)
            if sample_weight is not None:
                fit_params["sample_weight"] = sample_weight
            self._fit("fit", X, y, read_label_texts(self.label_texts), fit_params)
        return self

    def _labels_of_texts(self) -> list:
        """Return labels that a fit knows in addition to those in y."""
        return list(read_label_texts(self.label_texts))

    def _given_classifier(self) -> BaseEstimator:
        """Return the classifier to copy: by default a stack."""
        return (
            TopKStackingClassifier(random_state=0) if self.classifier is None else self.classifier
        )

    def _fit(
        self, method: str, X: Sequence[str], y: LabelsLike, texts: dict, fit_params: dict[str, Any]
    ) -> None:
        """Fit both, the classifier by `fit` or a first `partial_fit`."""
        rows = read_rows(X)
        if not rows:
            raise ValueError("X has 0 texts; at least one sample is needed")
        classifier = clone(self._given_classifier())
        targets = read_targets(y, texts, len(rows), classifier)
        if texts and "label_features" not in signature(getattr(classifier, method)).parameters:
            raise TypeError(
                f"label_texts are given, but {method} of {type(classifier).__name__} takes no "
                "label_features"
            )
        # float32, as the classifiers have it: half the memory, no copy.
        vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
        vectorizer = vectorizer if self.vectorizer is None else self.vectorizer
        all_texts = [text for of_label in texts.values() for text in of_label]
        self.vectorizer_ = fitted_vectorizer(vectorizer, rows, all_texts)
        # Lists become an indicator; the classifier learns their names, if it can, so that its own
        # answers and explanations name labels.
        if targets.form == LISTS and "label_names" in classifier.get_params(deep=False):
            classifier.set_params(label_names=targets.labels)
        params = dict(fit_params)
        if texts:
            params["label_features"] = self._label_features(texts, targets.labels)
        # Labels of texts alone are classes too, and a first part may lack classes of later ones.
        if targets.form == "classes" and (texts or method == "partial_fit"):
            params["classes"] = targets.labels
        getattr(classifier, method)(self.vectorizer_.transform(rows), targets.y, **params)
        self.classifier_, self._form = classifier, targets.form
        self.classes_ = np.asarray(classifier.classes_)
        if targets.form != "classes":
            self.classes_ = targets.labels
        self._kept_texts = KeptTexts.of(texts, self.classes_)

    def _choices(self) -> dict[str, Any]:
        """Return what the classifier inside has chosen, for copies of this estimator."""
        if self.classifier is None:  # a stack, which chooses nothing
            return {}
        return named_inside("classifier", choices_of(self.classifier_))

    @property
    def label_texts_(self) -> dict[Any, list[str]]:
        """The texts of labels: label -> list of str."""
        check_is_fitted(self)
        now = as_it_is(self)
        kept = vars(now).get("_kept_texts")  # files of before have none
        return {} if kept is None else kept.by_label(now.classes_)

    def _label_features(self, texts: dict, labels: ArrayLike) -> list[Matrix] | None:
        """Return the texts of labels by the words of the vectorizer."""
        return as_label_features(self.vectorizer_, texts, np.asarray(labels).tolist())

    # ----------------------------------------------------------------------------- prediction

    def _names(self) -> np.ndarray | None:
        """Return names of the classifier's labels where it has numbers for them, else None."""
        if self._form == "classes" or np.array_equal(self.classifier_.classes_, self.classes_):
            return None
        return self.classes_

    def _model_and_rows(self, X: Sequence[str]) -> tuple[Self, Matrix]:
        """Return the model of one moment, and the features of X by its vectorizer."""
        check_is_fitted(self)
        now = as_it_is(self)
        return now, now._rows(X)

    def predict(self, X: Sequence[str]) -> Matrix | list[list]:
        """Predict the label or labels of each text.

        Parameters
        ----------
        X : sequence of str

        Returns
        -------
        y : ndarray of shape (n_samples,), list of lists of labels, or indicator
            In the form of fit's y.
        """
        now, rows = self._model_and_rows(X)
        found = now.classifier_.predict(rows)
        if now._form != LISTS:
            return found
        found = sparse.csr_array(found)
        return [
            now.classes_[np.sort(found.indices[start:stop])].tolist()
            for start, stop in zip(found.indptr[:-1], found.indptr[1:], strict=True)
        ]

    def _rows(self, X: Sequence[str]) -> Matrix:
        return self.vectorizer_.transform(read_rows(X))

    def _topk(
        self, rows: Matrix, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return best_classes(self.classifier_, rows, k, "decision", only)

    def _topk_probabilities(
        self, rows: Matrix, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return best_classes(self.classifier_, rows, k, "proba", only)

    def _predictor(self, k: int | None, scores: str, only: dict[str, Any]) -> "TextPredictor":
        now = as_it_is(self)
        if now._names() is not None:
            raise ValueError(
                f"topk_predictor: {type(now.classifier_).__name__} knows its labels by number; "
                "use predict_topk"
            )
        answer = topk_predictor(now.classifier_, k, scores, **only)
        return TextPredictor(Inner(now.classifier_, [now.vectorizer_], False), answer)

    @available_if(has("decision_function"))
    def decision_function(self, X: Sequence[str]) -> np.ndarray:
        """Compute scores of all labels by the classifier.

        Parameters
        ----------
        X : sequence of str

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        now, rows = self._model_and_rows(X)
        return now.classifier_.decision_function(rows)

    @available_if(has("predict_proba"))
    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """Compute probabilities of all labels by the classifier.

        Parameters
        ----------
        X : sequence of str

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        now, rows = self._model_and_rows(X)
        return now.classifier_.predict_proba(rows)

    @available_if(has("explain"))
    def explain(
        self, X: Sequence[str], labels: LabelsLike = None, k: int | None = 5
    ) -> Explanations:
        """Explain answers of the classifier by the words of the vectorizer.

        Parameters
        ----------
        X : sequence of str
        labels, k : object
            As of :func:`sklearn_xc.explain`.

        Returns
        -------
        explanations : Explanations
        """
        now, rows = self._model_and_rows(X)
        # Features of a row of numbers are words only to the vectorizer, which has their names.
        given, method = {"labels": labels, "k": k}, now.classifier_.explain
        if "feature_names" in signature(method).parameters and hasattr(
            now.vectorizer_, "get_feature_names_out"
        ):
            given["feature_names"] = now.vectorizer_.get_feature_names_out()
        return method(rows, **given)

    def score(self, X: Sequence[str], y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of samples whose label, or whole set of labels, is predicted.

        Parameters
        ----------
        X : sequence of str
        y : in the form of fit's y
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        now, rows = self._model_and_rows(X)
        if now._form != LISTS:
            return now.classifier_.score(rows, y, sample_weight)
        same = [set(a) == set(b) for a, b in zip(self.predict(X), y, strict=True)]
        weight = None if sample_weight is None else np.asarray(sample_weight)
        return float(np.average(np.array(same, dtype=float), weights=weight))

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(
            self,
            classifier_=_is_estimator,
            vectorizer_=_is_estimator,
            classes_=is_labels,
            _form=is_text,
            _kept_texts=is_a(KeptTexts),
        )
        kept = vars(self).get("_kept_texts")
        if kept is not None and len(kept.places) and kept.places.max() >= len(self.classes_):
            raise ValueError("it holds texts of labels that there are not")


def _is_estimator(value: object) -> bool:
    """Return whether a loaded value is an estimator."""
    return isinstance(value, BaseEstimator)


class TextPredictor(PredictorOfPipeline):
    """Predictor of single texts; samples that are no texts are refused."""

    def __call__(self, X: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best labels of each text, and their scores.

        Parameters
        ----------
        X : sequence of str

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of float32, shape (n_samples, k)
        """
        return super().__call__(read_rows(X))
