"""Second stages: from the features of pairs of sample and label to log-odds."""

from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

from ..utils._records import is_array, is_number, record
from ._boosting import Trees, fit_trees

Form: TypeAlias = str | BaseEstimator  # of a second stage: "linear", "boosting" or a classifier
MOST_PAIRS = 150_000  # that teach a logistic regression: more change no digit that counts
LARGEST = 30.0  # of log-odds: float64 still tells the probability from 1


@record(coef=is_array(np.float64), intercept=is_number, scales=is_array(np.float64, least=0))
class Linear:
    """Logistic regression on features as they are.

    `scales` are their standard deviations, by which coefficients can be compared.
    """

    def __init__(self, coef: np.ndarray, intercept: float, scales: np.ndarray) -> None:
        self.coef, self.intercept, self.scales = coef, intercept, scales

    def _check_record(self) -> None:
        if self.coef.shape != self.scales.shape:
            raise ValueError("coefficients and scales of different numbers of features")

    @property
    def n_features(self) -> int:
        """How many features it takes."""
        return len(self.coef)

    def log_odds(self, features: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Return the log-odds of pairs, float64."""
        return np.clip(features @ self.coef + self.intercept, -LARGEST, LARGEST)

    def importances(self) -> np.ndarray:
        """Return how much each feature says, not normalised."""
        return np.abs(self.coef) * self.scales

    def contributions(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each feature adds to the log-odds of each pair, and what is there before."""
        return features * self.coef, np.full(len(features), self.intercept)


def fit_linear(
    features: np.ndarray, hits: np.ndarray, weight: np.ndarray | None, rng: np.random.RandomState
) -> Linear:
    """Return a logistic regression on standardised features, C = 1."""
    if len(features) > MOST_PAIRS:
        some = np.sort(rng.permutation(len(features))[:MOST_PAIRS])
        features, hits = features[some], hits[some]
        weight = None if weight is None else weight[some]
    # Standardised, so that C = 1 means the same for a score, a share and a number of samples; then
    # coefficients go back to the features as they are, which saves a pass in each prediction. A
    # feature that never changes gets none.
    mean, scales = features.mean(axis=0), features.std(axis=0)
    model = LogisticRegression(C=1.0, max_iter=1000)
    model.fit((features - mean) / np.where(scales > 0, scales, 1), hits, weight)
    coef = np.where(scales > 0, model.coef_[0] / np.where(scales > 0, scales, 1), 0)
    return Linear(coef, float(model.intercept_[0] - mean @ coef), scales)


class Given:
    """A user's classifier with ``predict_proba``, fitted on two classes: wrong and right."""

    def __init__(self, classifier: BaseEstimator, n_features: int) -> None:
        self.classifier, self.n_features = classifier, n_features

    def __repr__(self) -> str:
        return f"Given({self.classifier!r})"

    def log_odds(self, features: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Return the log-odds of pairs, float64."""
        p = np.asarray(self.classifier.predict_proba(features))[:, -1].astype(np.float64)
        # Trees and neighbours give probabilities of 0 and 1, whose log-odds are infinite.
        least = np.exp(-LARGEST)
        p = np.clip(p, least, 1 - least)
        return np.log(p) - np.log1p(-p)

    def importances(self) -> np.ndarray | None:
        """Return what the classifier says of it, or None."""
        if hasattr(self.classifier, "feature_importances_"):
            return np.asarray(self.classifier.feature_importances_, dtype=np.float64)
        if hasattr(self.classifier, "coef_"):
            return np.abs(np.ravel(self.classifier.coef_)).astype(np.float64)
        return None

    def contributions(self, features: np.ndarray) -> None:
        """Return None: nothing is known of what each feature adds."""
        return None


def fit_given(
    classifier: BaseEstimator, features: np.ndarray, hits: np.ndarray, weight: np.ndarray | None
) -> Given:
    """Return a copy of a user's classifier, fitted on pairs."""
    classifier = clone(classifier)
    if weight is None:
        classifier.fit(features, hits)
    else:
        classifier.fit(features, hits, sample_weight=weight)
    return Given(classifier, features.shape[1])


def fit_final(
    final: Form,
    features: np.ndarray,
    hits: np.ndarray,
    weight: np.ndarray | None,
    seed: int,
    trial: bool = False,
) -> Linear | Trees | Given:
    """Return a second stage: "linear", "boosting", or a copy of a classifier.

    Boosted trees are fewer in a `trial`, of which only the quality is looked at.
    """
    rng = np.random.RandomState(seed)
    if isinstance(final, str):
        if final == "linear":
            return fit_linear(features, hits, weight, rng)
        return fit_trees(features, hits, weight, rng, trial)
    return fit_given(final, features, hits, weight)
