"""The page and the pictures of ldgs.py, from its figures."""

import _common
import _runner
import _softmax_data as data
import numpy as np
from _ldgs_systems import (
    BESIDE_FASTTEXT,
    CHUNKS,
    CLASS_SYSTEMS,
    CURVES,
    EVALUATED,
    FASTTEXT,
    FASTTEXT_SETS,
    MULTICLASS,
    SCRIPT,
    SYSTEMS,
)

TWINS = {
    "decomposed": "margin",
    "messages": "margin",
    "mips": "margin",
    "mips_wide": "margin",
    "mips_printed": "margin",
    "decomposed_softmax": "softmax",
    "sampled": "softmax",
}
CLASS_TWINS = {
    "mips": "margin",
    "decomposed": "margin",
    "half": "margin",
    "decomposed_softmax": "softmax",
    "half_softmax": "softmax",
}

CURVES_TEXT = """\
With one class a sample, P@3 and P@5 are the shares of samples whose class is among the
first three and five. mu is 1 with one class a sample, 5 with several; the rate falls to
zero over the passes named, and the mini-batches have 32 samples, for all. Seconds are
those of the passes; evaluation between them does not count. Classes scored are those of
the whole fit, the drawn ones of its beginning with them. An index is queried for sqrt(K)
classes, or fewer where all chunks would come to 0.2 K, and on yso_finna_en_small for 300
(margin, on training rows held out: 120 keep 95.7 % of the exact twin, 300 keep 98.2 % in
no more time; the table has one seed, over three of them P@1 is 18.56 and that of the
exact twin 19.04, 97.5 %); `sampled` and `as many as all chunks` take as many as the
chunks and the drawn classes together.

"""
CLASSES_TEXT = """\
Synthetic label embeddings of 128 dimensions in sqrt(K) clusters: normal centres, plus
0.7 times normal noise for a class, plus normal noise for a sample, scaled so that the
score of its own class is 1.5 log K on average. Gradients are thus concentrated on some
classes of the same cluster, as later in training. Mini-batches of 32 samples,
{chunks} chunks; the median of 10 to 60 steps,
{clock}. The exact gradients are
matrix products through BLAS, with the same loss and mini-batches. Indexes are built
again when the steps have cost four times as much; the share of a sample is counted.
The gradient missed is the sum of all errors of the gradients in scores of 64 samples
over the sum of those gradients; with softmax it is mostly the noise of drawn classes,
which has no bias.
"""

# -------------------------------------------------------------------------------------- report


def report(note):
    results = data.read(SCRIPT)
    lines = [data.head("LDGSClassifier", SCRIPT, results), "", *([note, ""] if note else [])]
    lines += report_curves(results) + report_classes(results) + report_fasttext(results)
    _runner.write_page("ldgs", "\n".join(lines))


def report_curves(results):
    lines = ["## Precision by seconds and by passes", ""]
    for name in CURVES:
        found = {
            s: results[f"curves-{name}-{s}"] for s in SYSTEMS if f"curves-{name}-{s}" in results
        }
        if not found:
            continue
        n_classes = next(iter(found.values()))["n_classes"]
        rows = [curve_row(name, system, found, n_classes) for system in found]
        figure = draw_curves(found)
        figure.suptitle(f"{name}, {n_classes} classes")
        header = [
            "gradient",
            "passes",
            "seconds",
            "P@1",
            "P@3",
            "P@5",
            "of its exact twin",
            "classes scored / K",
        ]
        lines += [
            f"### {name}",
            "",
            _common.table(header, rows),
            "",
            _runner.picture(figure, f"ldgs_{name}", f"Precision on {name}"),
            "",
        ]
    if any("training" in result for result in results.values()):
        lines += [f"Precision on training rows is that of {EVALUATED} of them, at random.", ""]
    return lines + CURVES_TEXT.splitlines()


def curve_row(name, system, found, n_classes):
    """Return the last point of a curve, and how much of its exact twin's precision it keeps."""
    result, twin, kept = found[system], found.get(TWINS.get(system)), "-"
    last, passes = result["precision"][-1], len(result["precision"])
    if twin and len(twin["precision"]) == passes:
        kept = f"{100 * last[0] / twin['precision'][-1][0]:.1f} %"
    factor = _common.CUTS if name in MULTICLASS else (1, 1, 1)
    measures = (f"{100 * p * n:.2f}" for p, n in zip(last, factor, strict=True))
    seconds, scored = f"{result['seconds'][-1]:.1f}", f"{result['n_scored'] / n_classes:.3f}"
    return [SYSTEMS[system][0], passes, seconds, *measures, kept, scored]


def draw_curves(found):
    """Precision@1 by seconds and by passes, on test rows and, where it was taken, training rows."""
    kinds = {"precision": "precision@1", "training": "precision@1 on training rows"}
    kinds = {kind: label for kind, label in kinds.items() if any(kind in r for r in found.values())}
    figure, axes = _runner.axes(2, len(kinds))
    for (kind, label), left, right in zip(kinds.items(), axes[::2], axes[1::2], strict=True):
        for system, result in found.items():
            p1 = [100 * point[0] for point in result.get(kind, [])]
            title = SYSTEMS[system][0]
            left.plot(result["seconds"][: len(p1)], p1, ".-", label=title)
            right.plot(range(1, len(p1) + 1), p1, ".-", label=title)
        left.set(xlabel="seconds of training", ylabel=f"{label}, %", xscale="log")
        left.tick_params(axis="x", which="minor", labelsize=6)
        right.set(xlabel="passes")
        right.locator_params(axis="x", integer=True)
    handles = axes[1].get_legend_handles_labels()
    figure.legend(*handles, fontsize=7, ncols=3, loc="outside lower center")
    return figure


def report_classes(results):
    curves = {}
    for system in CLASS_SYSTEMS:
        points = [r for k, r in results.items() if k.rpartition("-")[0] == f"classes-{system}"]
        if points:
            curves[system] = sorted(points, key=lambda point: point["n_classes"])
    if not curves:
        return []
    figure, (axis,) = _runner.axes(1)
    rows, crossings = [], []
    for system, points in curves.items():
        title, twin = CLASS_SYSTEMS[system][0], CLASS_TWINS.get(system)
        sizes = [p["n_classes"] for p in points]
        each = [p["seconds"] + p["again"] for p in points]
        axis.loglog(sizes, [1e3 * t for t in each], "o-" if twin else "s--", label=title)
        exact = {p["n_classes"]: p["seconds"] for p in curves.get(twin, [])}
        gains = [exact[k] / t if k in exact else np.nan for k, t in zip(sizes, each, strict=True)]
        for k, p, gain, t in zip(sizes, points, gains, each, strict=True):
            beside = ["-"] * 4
            if twin:
                lost = "-" if p["missed"] is None else f"{100 * p['missed']:.1f} %"
                again = _common.figure(1e3 * p["again"])
                beside = [f"{gain:.2f}", lost, f"{p['built']:.2f}", again]
            row = [title, f"{k:,}", _common.figure(1e3 * t), f"{p['n_scored']:.0f}", *beside]
            rows.append(row)
        if twin:
            crossings.append(f"* {title}: {crossing(sizes, gains)}; {growth(sizes, each)}.")
    sizes = np.array([p["n_classes"] for p in curves[next(iter(curves))]])
    start = min(p["seconds"] for points in curves.values() for p in points)
    axis.loglog(sizes, 1e3 * start * (sizes / sizes[0]) ** 0.5, "k:", label="sqrt(K)")
    axis.set(xlabel="classes K", ylabel="ms a training sample")
    axis.set_ylim(top=300 * axis.get_ylim()[1])  # room for the legend
    axis.legend(fontsize=7, loc="upper left")
    clock = "two threads"
    if any(point.get("busy") for points in curves.values() for point in points):
        clock = "in time of the processor on one thread, since the machine was busy"
    header = [
        "gradient",
        "K",
        "ms a sample",
        "classes scored",
        "times as fast as exact",
        "gradient missed",
        "first build, s",
        "of it building again, ms",
    ]
    return [
        "## Time by number of classes",
        "",
        *CLASSES_TEXT.format(chunks=CHUNKS, clock=clock).splitlines(),
        "",
        _common.table(header, rows),
        "",
        *crossings,
        "",
        _runner.picture(figure, "ldgs_classes", "Time of a training sample by number of classes"),
        "",
    ]


def crossing(sizes, gains):
    """From which K a gradient is faster than its exact twin, between the sizes measured."""
    if not gains[-1] > 1:
        return "slower than exact"
    last = max((i for i, gain in enumerate(gains) if not gain > 1), default=None)
    if last is None:
        return f"faster than exact from K = {sizes[0]:,} or less"
    low, high = np.log(gains[last : last + 2])
    k = np.exp(np.interp(0, [low, high], np.log(sizes[last : last + 2])))
    return f"faster than exact from about K = {float(f'{k:.1g}'):,.0f}"


def growth(sizes, each):
    slope = np.polyfit(np.log(sizes), np.log(each), 1)[0]
    last = np.log(each[-1] / each[-2]) / np.log(sizes[-1] / sizes[-2]) if len(each) > 1 else slope
    return f"time grows as K^{slope:.2f} over all, K^{last:.2f} at the end"


def report_fasttext(results):
    rows = []
    for name in FASTTEXT_SETS:
        systems = {mode: f"fastText, {mode}" for mode in FASTTEXT} | {
            f"{loss}_{dim}": f"LDGSClassifier, {loss}, hidden_dim={dim}"
            for loss, dim in BESIDE_FASTTEXT
        }
        systems["ppdsparse"] = "PPDSparseClassifier, one-vs-rest without a hidden layer"
        for system, title in systems.items():
            result = results.get(f"fasttext-{name}-{system}")
            if result and "failure" in result:
                rows.append([f"{name}: {title}", result["failure"], "", "", ""])
            elif result:
                rows.append([f"{name}: {title}", *figures(result["seconds"], result["precision"])])
    if not rows:
        return []
    header = ["", "seconds", "P@1", "P@3", "P@5"]
    text = (
        "Rows of TF-IDF, four passes, mu 5; fastText has the words themselves, 100 dimensions, 25 "
    )
    text += "passes, at the first of the rates 0.5, 0.2 and 0.1 with which its weights stay finite."
    text += " Four passes and not ten were taken after both had been seen on these test rows; on "
    text += "rows held out from training four are near the best as well (see the user guide)."
    return ["## Beside fastText", "", text, "", _common.table(header, rows), ""]


def figures(seconds, precisions):
    return [f"{seconds:.1f}", *(f"{100 * p:.2f}" for p in precisions)]
