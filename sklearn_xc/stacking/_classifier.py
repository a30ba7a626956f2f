"""A learned stack of classifiers with very many classes or labels."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import has_fit_parameter

from ..base._classifier import HasMethods, Interval, StrOptions, all_or_nothing
from ..model_selection._choices import with_choices_of
from ..model_selection._out_of_fold import Labels
from ..persistence import SaveMixin
from ..utils._matrix import in_rows, n_rows
from ..utils._parallel import effective_threads
from ..utils._records import (
    either,
    is_a,
    is_count,
    is_labels,
    is_not_negative,
    is_number,
    is_truth,
    require_attributes,
    savable,
)
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ._boosting import Trees
from ._final import Form, Linear
from ._fit_parts import TEXTS, PartData, chooses_by_trial, default_parts, fit_part
from ._held_out import StackHeldOut, hold_out, without_labels
from ._input import read_data
from ._judge import hits_of
from ._label_facts import LabelFacts
from ._learn import StackProblem, learn
from ._loaded import check_facts, check_loaded
from ._parts import StackPart, codes_of_part
from ._predictions import StackPredictions
from ._scorer import Stack, gathered


@savable
class TopKStackingClassifier(
    StackPredictions, SaveMixin, ClassifierMixin, MetaEstimatorMixin, _BaseComposition
):
    """Stack of classifiers with very many classes or labels, and a second stage that weighs them.

    Each part names its k best labels of a sample; every label in their union is scored by every
    part. A second stage learns from samples that the parts have not seen how probable a label is by
    these scores, by their distance to the part's best, by the number of samples of the label and by
    how much of its text stands in the sample [1]_.

    Parameters
    ----------
    estimators : list of (str, estimator), default=None
        The parts: classifiers with ``predict_topk``, such as a Pipeline that ends in one, with a
        vectorizer of its own. None is :class:`PPDSparseClassifier`,
        :class:`TopKNeighborsClassifier` and the likeness to each label's mean sample; with
        ``label_features`` also the texts of labels alone; where samples have one class and dense
        weights have at most 50 million numbers, :class:`MemoirSVC`.
    final : {"auto", "linear", "boosting"} or classifier, default="auto"
        The second stage. "linear" is a logistic regression, "boosting" gradient-boosted trees
        (:class:`~sklearn.ensemble.HistGradientBoostingClassifier`), any other a classifier of two
        classes with ``predict_proba``. "auto" is "linear" below 1,500 samples that are held out,
        above it the better of the two; below 20 the mean of the scores of all parts, which has
        nothing to learn from so few.
    k : int, default=30
        Labels that each part names.
    cv : float, default=0.2
        Share of the samples that are held out from copies of the parts, at most 12,000 samples.
        Where these are fewer than 100, and with `refit`, up to five such shares are held out, one
        after the other, and the second stage learns from all.
    refit : bool, default=True
        Whether the parts are fitted again on all samples. False saves that time: the parts then
        have never seen the samples that are held out.
    hidden_labels : float, default=0.2
        With ``label_features``, the share of the labels whose samples are taken away from the parts
        while the second stage learns: it then knows what scores of labels without samples are
        worth.
    n_jobs : int or None, default=None
        Threads of predictions and of the default parts, as in joblib; never changes the result.
    random_state : int, RandomState instance or None, default=None
        Draws the samples that are held out and the labels that are hidden.
    label_names : array-like of shape (n_classes,), default=None
        What predictions call the columns of an indicator, as of :class:`PPDSparseClassifier`.

    Attributes
    ----------
    estimators_ : list of (str, estimator)
        The parts that stay, fitted. One without which held-out samples are predicted as well is
        left out, if these are at least 100.
    final_ : object
        The second stage; None where one part by itself is as good as the stack, and answers.
    validation_scores_ : dict of str to float
        nDCG@5 of each part, and of the "stack", on held-out samples that did not teach it.
    feature_names_final_ : list of str
        What the second stage looks at.
    feature_importances_ : ndarray of float64, shape (n_features,)
        How much each of these says; the sum is 1.
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
        If the parts have it.
    feature_names_in_ : ndarray of str, shape (n_features,)
        If the parts have it.

    See Also
    --------
    TopKNeighborsClassifier : The part that knows of single samples, and texts.
    TopKThresholdClassifier : Decides how many labels a sample gets.
    sklearn.ensemble.StackingClassifier : For few classes: its second stage sees all scores.

    Notes
    -----
    All labels share the second stage, so that one without samples can be judged, and a stack of
    10^5 labels has no more parameters than one of ten. Labels that no part names among its k best
    share one probability, that of being true nevertheless. On held-out samples that did not teach
    it, if at least 100, the stack is ahead of its best part, or that part answers alone, with
    log-odds by a logistic regression on its score.

    References
    ----------
    .. [1] D. H. Wolpert. "Stacked generalization". Neural Networks 5(2), 1992.

    Examples
    --------
    >>> from sklearn_xc import TopKStackingClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, Y = make_xc_classification(900, 500, 40, n_labels=2.0, random_state=0)
    >>> model = TopKStackingClassifier(random_state=0).fit(X[:700], Y[:700])
    >>> labels, p = model.predict_topk(X[700:], k=3, scores="proba")
    >>> labels.shape, bool(((p > 0) & (p <= 1)).all())
    ((200, 3), True)
    """

    _parameter_constraints = {  # noqa: RUF012
        "estimators": ["array-like", None],
        "final": [StrOptions({"auto", "linear", "boosting"}), HasMethods(["fit", "predict_proba"])],
        "k": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Real, 0, 0.5, closed="right")],
        "refit": ["boolean"],
        "hidden_labels": [Interval(Real, 0, 0.5, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "label_names": ["array-like", None],
    }

    def __init__(
        self,
        estimators: Sequence[tuple[str, BaseEstimator]] | None = None,
        final: Form = "auto",
        *,
        k: int = 30,
        cv: float = 0.2,
        refit: bool = True,
        hidden_labels: float = 0.2,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        label_names: ArrayLike | None = None,
    ) -> None:
        self.estimators = estimators
        self.final = final
        self.k = k
        self.cv = cv
        self.refit = refit
        self.hidden_labels = hidden_labels
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.label_names = label_names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters, and with `deep` those of the parts as ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the parts as ``name__parameter``.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self : TopKStackingClassifier
        """
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = [get_tags(estimator) for _, estimator in self.estimators or ()]
        tags.input_tags.sparse = all(tag.input_tags.sparse for tag in given)
        tags.classifier_tags.multi_label = all(
            tag.classifier_tags is None or tag.classifier_tags.multi_label for tag in given
        )
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Route what fit takes in addition to X and y to the parts whose fit has such arguments.

        Returns
        -------
        routing : MetadataRouter
        """
        return MetadataRouter(owner=self).add_self_request(self)

    # ------------------------------------------------------------------------------- fitting

    def fit(
        self,
        X: MatrixLike,
        y: LabelsLike,
        sample_weight: ArrayLike | None = None,
        label_features: MatrixLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Fit the parts, and the second stage on samples that were held out.

        Parameters
        ----------
        X : array-like, sparse, or whatever the parts take
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the second stage, and in parts whose fit takes them. A sample
            of weight zero is not there.
        label_features : array-like or sparse, shape (n_classes, n_features), or sequence of \
                these, default=None
            Texts of the labels in the columns of X, as of
            :meth:`TopKNeighborsClassifier.fit`; parts get them whose fit has this argument.
        classes : array-like of shape (n_classes,), default=None
            With y of one class a sample: all classes, also those that no sample has.

        Returns
        -------
        self : TopKStackingClassifier

        Raises
        ------
        ValueError
            If a parameter or array is not as described, names of parts are there twice, a part
            was fitted on other classes, or no sample that is held out has a label.
        TypeError
            If a part has no ``predict_topk``.
        """
        with all_or_nothing(self):
            X, y = in_rows(X, y, names="Xy")
            if n_rows(X) == 0:
                raise ValueError("X and y have 0 sample(s); a minimum of 5 is required.")
            labels, data, texts = read_data(self, X, y, sample_weight, label_features, classes)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            self._labels = replace(labels, truth=None)
            self._count_rows_with_labels(labels.truth, data.weight)
            self._fit(data.counted(), texts, seed)
        return self

    def _fit(self, data: PartData, texts: list[sparse.csr_array], seed: int) -> None:
        """Fit parts and second stage on data that were checked."""
        # Parts must not have seen the samples that teach the second stage: their scores there would
        # be those of samples learnt by heart. One split, so that each part is fitted once more, not
        # five times. Few samples are worth five: fits are fast, and choices need them.
        rng = np.random.RandomState(seed)
        hidden_share = self.hidden_labels if data.label_features is not None else 0.0
        drawn_from = data.truth, data.weight, self.cv, hidden_share, data.one_a_row, rng
        folds = hold_out(*drawn_from, once=not self.refit)
        parts = self.estimators
        if parts is None:
            parts = default_parts(data, self.n_jobs, seed)
        self._require_takers(parts, data, texts)
        names = [name for name, _ in parts]
        only_texts = [self.estimators is None and name == TEXTS for name in names]
        whole, copies = {}, []
        for (name, part), only in zip(parts, only_texts, strict=True):
            if self.refit and chooses_by_trial(part):
                whole[name] = fit_part(part, data, only)
                part = with_choices_of(part, whole[name])
            copies.append(part)
        stacks = []
        for fold in folds:
            train = data.rows(fold.train, fold.hidden)
            fitted = [fit_part(p, train, o) for p, o in zip(copies, only_texts, strict=True)]
            pairs = zip(names, fitted, strict=True)
            codes = [codes_of_part(name, part, data.classes) for name, part in pairs]
            facts = LabelFacts.of(train.truth, texts)
            stack = Stack(
                [StackPart(name, code) for name, code in zip(names, codes, strict=True)],
                fitted,
                None,
                None,
                facts,
                sparse.issparse(data.X),
                len(data.classes),
                self.k,
                effective_threads(self.n_jobs),
            )
            stacks.append(stack)
        # Parts that stay are fitted on all samples: frequencies, margins and sums of neighbours
        # shift by the fifth that was held out, and features are made so as to shift little.
        problem, self._misses = self._problem(stacks, data, folds)
        learnt = learn(problem, names, codes, self.final, seed)
        self._parts, self.final_, self._alone = learnt.parts, learnt.final, learnt.alone
        self.validation_scores_ = learnt.scores
        self._counted = stack.counted
        estimators = [(names[i], fitted[i]) for i in learnt.chosen]
        if self.refit:
            chosen = [parts[i] for i in learnt.chosen]
            estimators = [(n, whole[n] if n in whole else fit_part(p, data)) for n, p in chosen]
            facts = LabelFacts.of(data.truth, texts)
        self._settle(data, estimators, facts)

    def _require_takers(
        self,
        parts: Sequence[tuple[str, BaseEstimator]],
        data: PartData,
        texts: list[sparse.csr_array],
    ) -> None:
        """Refuse texts that nothing reads, and warn of weights that some parts do not take."""
        takes = any(has_fit_parameter(part, "label_features") for _, part in parts)
        if data.label_features is not None and not texts and not takes:
            raise ValueError(
                "label_features is given, but fit of none of the parts "
                f"{[name for name, _ in parts]} takes it, and X is no sparse matrix whose words "
                "could be looked for in texts"
            )
        without = [name for name, part in parts if not has_fit_parameter(part, "sample_weight")]
        if data.weight is not None and without:
            warnings.warn(
                f"fit of the parts {without} takes no sample_weight: there the weights are used "
                "by the second stage alone",
                UserWarning,
                stacklevel=4,  # the caller of fit
            )

    def _problem(
        self, stacks: list[Stack], data: PartData, folds: list[StackHeldOut]
    ) -> tuple[StackProblem, float]:
        """Return the pairs of held-out samples, and how often a label beyond them is true."""
        blocks, of_labels, hidden, n_hidden = [], [], [], []
        for stack, fold in zip(stacks, folds, strict=True):
            test = data.rows(fold.test)
            for _, found, words in stack.found(test.X):
                place = found.row, found.starts, found.places
                of_labels.append(stack.facts.features(words, *place, stack.n_threads))
                hidden.append(fold.hidden[found.places])
                blocks.append(found)
            n_hidden.append(np.diff(without_labels(test.truth, ~fold.hidden).indptr))
        candidates, rows = gathered(blocks), np.concatenate([fold.test for fold in folds])
        truth = data.truth[rows]
        hits = hits_of(candidates.row, candidates.places, truth)
        n_true = np.diff(truth.indptr)
        # Laplace's rule of succession: never zero, though no label beyond the candidates was true.
        beyond = truth.shape[0] * truth.shape[1] - len(hits)
        misses = (truth.nnz - hits.sum() + 1) / (beyond + 2)
        problem = StackProblem(
            candidates,
            hits,
            n_true,
            np.concatenate(hidden),
            np.concatenate(n_hidden),
            None if data.weight is None else data.weight[rows],
            np.concatenate(of_labels),
        )
        return problem, float(misses)

    def _settle(
        self, data: PartData, estimators: list[tuple[str, BaseEstimator]], facts: LabelFacts
    ) -> None:
        """Take over the parts that stay."""
        self.estimators_ = estimators
        self._parts = [
            part.with_codes(codes_of_part(name, estimator, data.classes))
            for part, (name, estimator) in zip(self._parts, estimators, strict=True)
        ]
        self._facts = facts
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            found = [getattr(e, name) for _, e in estimators if hasattr(e, name)]
            if found:
                setattr(self, name, found[0])

    # --------------------------------------------------------------------------- what is fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in vars(self)

    def _stack(self) -> Stack:
        """Return what predicts."""
        return Stack(
            self._parts,
            [estimator for _, estimator in self.estimators_],
            self.final_,
            self._alone,
            self._facts,
            self._counted,
            len(self.classes_),
            self.k,
            effective_threads(self.n_jobs),
        )

    def _check_loaded(self, mapped: bool) -> None:
        super()._check_loaded(mapped)
        require_attributes(
            self,
            estimators_=is_a(list),
            _parts=is_a(list),
            _labels=is_a(Labels),
            final_=either(None, is_a(Linear, Trees)),
            _alone=either(None, is_a(tuple)),
            _facts=is_a(LabelFacts),
            _counted=is_truth,
            _misses=is_not_negative,
            validation_scores_=is_a(dict),
            n_features_in_=is_count,
            feature_names_in_=is_labels,
            _share_with_labels=is_number,
        )
        check_loaded(self)

    def _check_late(self, name: str, value: Any) -> None:
        super()._check_late(name, value)
        if name == "_facts":
            check_facts(self, value)
