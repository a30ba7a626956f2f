"""All measures of a model on samples that stream in: precision, nDCG, F1, by frequency."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer

from ..metrics import f1_at_k, macro_f1, micro_f1, ndcg_at_k, precision_at_k, psprecision_at_k
from ..topk._predict import predict_topk
from ..utils._propensity import propensities_of
from ..utils._typing import MatrixLike
from ..utils._unwrap import find_inner
from ._label_frequency import counts_by_frequency
from ._training import report_of_training

CUTS = 1, 3, 5
MOST = 10  # best labels of a sample that a threshold chooses from


def support_of(model: Any) -> np.ndarray | None:
    """Return the training samples of each label, where the model has kept them."""
    try:
        return report_of_training(model, "nothing").support
    except (TypeError, AttributeError, ValueError):
        return None


def measured(
    model: Any,
    parts: Iterable[tuple[MatrixLike, list[list]]],
    n_train: int | None,
    threshold: float | None = None,
) -> dict:
    """Return the measures of a model on samples that come in parts of (X, lists of labels).

    Labels that the model does not know count as true, and are never found. F1 of sets is that of
    the labels with a probability (or score) from `threshold` on; without one, where samples have
    one label, that of the best label.
    """
    inner = find_inner(model, "predict_topk").estimator
    classes, truth, best, values = inner.classes_, [], [], []
    # A threshold may keep more labels than the largest cut looks at.
    most = min(max(CUTS) if threshold is None else MOST, len(classes))
    scores = "proba" if hasattr(inner, "predict_proba") else "decision"
    # X is dropped part by part; labels and the best of them are small.
    for X, labels in parts:
        truth += map(set, labels)  # lists of 0 and 1 would be read as an indicator
        some, of_some = predict_topk(model, X, most, scores=scores)
        best.append(some)
        values.append(of_some)
    if not truth:
        raise ValueError("there are no samples with labels to measure with")
    best, values = np.concatenate(best), np.concatenate(values)
    if best.dtype.kind in "bf":  # which metrics would take for scores
        best = best.astype(object)
    cuts, support = [k for k in CUTS if k <= most], support_of(model)
    results = {}
    for name, metric in (("P", precision_at_k), ("nDCG", ndcg_at_k), ("F1", f1_at_k)):
        results |= {f"{name}@{k}": metric(truth, best, k, classes=classes) for k in cuts}
    # Propensities have the factor log(n) - 1, above 0 from three samples on.
    if (
        support is not None and n_train is not None and n_train >= 3
    ):  # labels that training lacks have one too
        more = sorted({label for one in truth for label in one} - set(classes.tolist()))
        of_labels = propensities_of(np.append(support, np.zeros(len(more))), n_train)
        options: dict[str, Any] = {"classes": [*classes.tolist(), *more], "propensities": of_labels}
        results |= {f"PSP@{k}": psprecision_at_k(truth, best, k, **options) for k in cuts}
    # Sets of labels: from the threshold on, or the best one alone.
    chosen = values >= threshold if threshold is not None else np.arange(most) == 0
    if threshold is not None or all(len(labels) == 1 for labels in truth):
        chosen = np.broadcast_to(chosen, best.shape)
        sets = [row[kept].tolist() for row, kept in zip(best, chosen, strict=True)]
        names = MultiLabelBinarizer(sparse_output=True).fit([*truth, *sets])
        both = names.transform(truth), names.transform(sets)
        results |= {"micro-F1": micro_f1(*both), "macro-F1": macro_f1(*both)}
    results = {name: float(value) for name, value in results.items()}
    if support is not None:
        results["by frequency"] = _by_frequency(truth, best[:, : max(cuts)], classes, support)
    return {"samples": len(truth), "labels": len(classes), **results}


def _by_frequency(
    truth: list[list], best: np.ndarray, classes: np.ndarray, support: np.ndarray
) -> list[dict[str, Any]]:
    """Return the share of true labels among the best, by training samples of the label."""
    parts = counts_by_frequency(truth, best, best.shape[1], classes, None, support, None, True)
    bins, n_labels, n_true, _, n_hits = parts
    return [
        {
            "training samples": [int(low), int(high)],
            "labels": int(n),
            "recall": float(hits / true) if true else None,
        }
        for (low, high), n, true, hits in zip(bins, n_labels, n_true, n_hits, strict=True)
    ]


def table(measures: dict) -> str:
    """Return measures as lines of text."""
    lines = [f"{measures['samples']:,} samples, {measures['labels']:,} labels known"]
    cuts = [k for k in CUTS if f"P@{k}" in measures]
    lines.append("".join(["measure".ljust(10), *(f"{f'at {k}':>8}" for k in cuts)]))
    for name in ("P", "nDCG", "PSP", "F1"):
        if f"{name}@{cuts[0]}" in measures:
            values = [f"{measures[f'{name}@{k}']:8.3f}" for k in cuts]
            lines.append("".join([name.ljust(10), *values]))
    if "micro-F1" in measures:
        lines.append(f"micro-F1 {measures['micro-F1']:.3f}, macro-F1 {measures['macro-F1']:.3f}")
    if measures.get("by frequency"):
        lines.append(f"{'training samples of a label':29}{'labels':>8}{'recall':>8}")
        for line in measures["by frequency"]:
            low, high = line["training samples"]
            span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            recall = "-" if line["recall"] is None else f"{line['recall']:.3f}"
            lines.append(f"  {span:27}{line['labels']:8,}{recall:>8}")
    return "\n".join(lines)
