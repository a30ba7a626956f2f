"""A model that answers questions in values that JSON takes."""

from functools import cache
from typing import Any

from ..base._explain import explain
from ..base._explanation import Explanation
from ..neighbors._explain import NeighborExplanation
from ..persistence import load
from ..stacking._explain import StackExplanation
from ..topk._predict import predict_topk, topk_predictor
from ..utils._unwrap import find_inner, learner_of
from ._marked_text import marked
from ._reasons import contributions
from ._requests import LIMITS, Question, RefusedError, as_label

MOST_WORDS = 12  # listed with a label
REFUSED = ValueError, MemoryError  # an unknown label, fewer left than k, too much


class Answers:
    """A saved model, mapped, and what it says about texts.

    Parameters
    ----------
    path : str
        A file of :func:`sklearn_xc.save`, with a pipeline that takes texts, or of a
        :class:`LabelTextClassifier`.
    """

    def __init__(self, path: str):
        self._model = load(path, mmap_mode="r")
        self._last, self._vectorizer = find_inner(self._model, "predict_topk").estimator, None
        self._learner = learner_of(self._model)
        if "n_jobs" in self._learner.get_params(deep=False):
            self._learner.set_params(n_jobs=1)  # requests run side by side
        self.classes = self._last.classes_
        self.kind = "probability" if hasattr(self._last, "predict_proba") else "score"
        self._predictors = cache(lambda k: topk_predictor(self._model, k))  # LIMITS["k"] at most
        # One question when the server starts, so that a model of numbers is refused by a sentence
        # and not by the first request.
        try:
            predict_topk(self._model, ["a text"], 1)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} does not answer for texts: save a pipeline that begins with a "
                f"vectorizer ({error})"
            ) from error
        self.explains = self._can_explain()
        self._known = set(self.classes.tolist())
        self._names = [str(name) for name in self.classes.tolist()]
        self._lowered = [name.lower() for name in self._names]

    def _can_explain(self) -> bool:
        """Return whether the model explains, and note which vectorizer made its features."""
        # A wrapper puts a threshold or a calibration on the score that its estimator explains.
        try:
            inner = find_inner(self._model, "explain", into_meta_estimators=True)
        except TypeError:
            return False
        own = getattr(inner.estimator, "vectorizer_", None)  # of a LabelTextClassifier
        self._vectorizer = (inner.transformers or [own])[0]  # also inside a wrapper
        return True

    def about(self) -> dict:
        """Return what a page has to know of the model."""
        limits = {name: LIMITS[name] for name in ("characters", "explained", "letters")}
        return {
            "labels": len(self.classes),
            "scores": self.kind,
            "explains": self.explains,
            "model": type(self._learner).__name__,
            "limits": limits,
        }

    def topk(self, question: Question) -> dict:
        """Return labels and scores of several texts."""
        try:
            # A predictor without restrictions keeps what it prepared for a k; lists of labels are
            # too many for that.
            if question.only:
                only = self._with_labels(question.only)
                found = predict_topk(self._model, question.texts, question.k, **only)
            else:
                found = self._predictors(question.k)(question.texts)
        except REFUSED as error:
            raise _refusal(error) from error
        labels, scores = found
        return {"labels": labels.tolist(), "scores": scores.astype(float).round(6).tolist()}

    def answer(self, question: Question) -> dict:
        """Return the labels of a text, with probabilities or scores, and what made them."""
        only = self._with_labels(question.only)
        # The page asks for five labels whatever is excluded, so k shrinks to what is left.
        excluded = set(only.get("exclude", ()))
        if "labels" in only:
            k = min(question.k, len(set(only["labels"]) - excluded))
        else:
            k = min(question.k, len(self.classes) - len(excluded & self._known))
        if k < 1:
            raise RefusedError("no label is left: all that are allowed are excluded")
        scores = "proba" if self.kind == "probability" else "decision"
        try:
            labels, values = predict_topk(self._model, question.texts, k, scores=scores, **only)
            # Rounded before it is compared: a value that is shown as the threshold is not below it.
            kept = [
                (label, round(value, 6))
                for label, value in zip(labels[0].tolist(), values[0].tolist(), strict=True)
                if question.threshold is None or round(value, 6) >= question.threshold
            ]
            found = [{"label": label, self.kind: value} for label, value in kept]
            if self.explains and found:
                self._explain(question.texts[0], found)
        except REFUSED as error:
            raise _refusal(error) from error
        return {"scores": self.kind, "labels": found}

    def _explain(self, text: str, found: list[dict[str, Any]]) -> None:
        """Add to each label the features that made its score, and the text with their marks."""
        labels = [line["label"] for line in found]
        lines = {line["label"]: line for line in found}
        for item in explain(self._model, [text], labels, None):
            line = lines[item.label]
            line["decision"] = round(item.score, 6)
            if isinstance(item, StackExplanation):
                line["parts"] = _listed(contributions(item))
                # A text has one picture: that of the first part whose features are words.
                by_words = [of for of in item.parts.values() if not _by_rows(of)]
                if not by_words:
                    continue
                item = by_words[0]
            parts = contributions(item)
            if _by_rows(item):
                line["neighbours"] = _listed(parts)
            else:
                line["words"] = _listed(parts)
                line["text"] = marked(text, self._vectorizer, parts)

    def _with_labels(self, only: dict[str, list[str]]) -> dict[str, Any]:
        """Return allowed and excluded labels as the model has them: integers where they are."""
        found = {
            name: [as_label(label, self.classes) for label in labels]
            for name, labels in only.items()
        }
        texts = [label for labels in found.values() for label in labels if isinstance(label, str)]
        if texts and self.classes.dtype.kind in "iu":
            raise RefusedError(f"labels of this model are integers: {texts[0]!r} is none")
        return found

    def suggestions(self, start: str) -> list[str]:
        """Return some labels that hold a text, those that begin with it first."""
        start, found = start[: LIMITS["letters"]].lower(), []
        for place, name in enumerate(self._lowered):
            if start in name:
                found.append((not name.startswith(start), len(name), place))
                # Enough to choose the best from; a single letter may be in a million labels.
                if len(found) >= 50 * LIMITS["suggestions"]:
                    break
        return [self._names[place] for *_, place in sorted(found)[: LIMITS["suggestions"]]]


def _by_rows(item: Explanation) -> bool:
    """Return whether samples, and no features, made a score."""
    return isinstance(item, NeighborExplanation)


def _listed(parts: dict[str, float]) -> list[list[str | float]]:
    """Return the contributions that an answer lists."""
    listed: list[list[str | float]] = [[name, round(part, 6)] for name, part in parts.items()]
    return listed[:MOST_WORDS]


def _refusal(error: Exception) -> RefusedError:
    """Return what a request is told of an error, in a sentence of bounded length."""
    return RefusedError(str(error)[: LIMITS["letters"]] or "out of memory")
