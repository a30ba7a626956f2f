"""The page and the picture of memoir.py, from its figures."""

import _common
import _runner
import _softmax_data as data
from _memoir_systems import (
    BATCHES,
    CHOICE_SETS,
    CHOICES,
    DIMENSIONS,
    PASSES,
    PASSES_SETS,
    PHASES,
    PROFILE_SETS,
    SCRIPT,
    SETS,
    STRENGTHS,
    SYSTEMS,
    THREAD_SETS,
    TITLES,
)

PAPER_BATCHES = [8.4, 26.6, 30.8, 34.5, 29.3]


# ---------------------------------------------------------------------------------- the page


def percent(value):
    return f"{100 * value:.1f}"


def table_text(name, found):
    rows = []
    for system, title in TITLES.items():
        r = found.get(("table", name, system))
        if r is None:
            continue
        if "failed" in r:
            rows.append([title, *["-"] * 4, f"> {r['failed']}", *["-"] * 3])
            continue
        rows.append(
            [title, percent(r["accuracy"]), percent(r["macro_f1"])]
            + [f"{r['n_scored_']:.0f}" if "n_scored_" in r else "-"]
            + [f"{r['recall_']:.2f}" if "recall_" in r else "-"]
            + [_common.figure(r["seconds"]), _common.figure(r["predict_s"])]
            + [f"{r['memory_mb'] or 0:.0f}", f"{r['n_weights']:,}"]
        )
    if not rows:
        return []
    measured = [r for (part, of, _), r in found.items() if (part, of) == ("table", name)]
    sizes = next((size_text(r) for r in measured if "failed" not in r), "No system ended in time.")
    header = ["system", "accuracy %", "macro-F1 %", "classes scored", "recall@10"]
    header += ["fit s", "predict s", "peak MB", "non-zeros"]
    return [f"### {name}", sizes, _common.table(header, rows)]


def size_text(r):
    """How large the data of a measured fit are."""
    dense = 4 * r["classes"] * r["features"] / 2**20
    return (
        f"{r['n']:,} rows, {r['features']:,} features, {r['classes']:,} classes; "
        f"{r['evaluated']:,} test rows. Dense one-vs-rest weights would take {dense:,.0f} MB, "
        f"{2 * dense:,.0f} in float64, as scikit-learn's."
    )


def choices_text(found):
    sets = [n for n in CHOICE_SETS if any(key[:2] == ("choices", n) for key in found)]
    if not sets:
        return []
    rows = []
    for arm in CHOICES:
        cells = [found.get(("choices", name, arm), {}) for name in sets]
        rows.append(
            [arm]
            + [
                f"{percent(r['accuracy'])} / {percent(r['macro_f1'])}" if "accuracy" in r else "-"
                for r in cells
            ]
        )
    return ["## Choices", CHOICES_TEXT, _common.table(["configuration", *sets], rows)]


def batch_text(found):
    rows = []
    for factor, paper in zip(BATCHES, PAPER_BATCHES, strict=True):
        r = found.get(("batch", "oewn_hypernym", str(factor)), {})
        if "default" in r:
            d, p = r["default"], r["published"]
            rows.append(
                [f"{factor:g}", r["batch_size"]]
                + [percent(d["accuracy"]), percent(d["macro_f1"]), _common.figure(d["seconds"])]
                + [percent(p["accuracy"]), percent(p["macro_f1"]), _common.figure(p["seconds"])]
                + [paper]
            )
    if not rows:
        return []
    header = ["batch / sqrt(K)", "samples", "accuracy %", "macro-F1 %", "fit s"]
    header += ["published: accuracy %", "macro-F1 %", "fit s", "paper, LSHTC1: accuracy %"]
    return ["## Size of a batch (the paper's table 2)", BATCH_TEXT, _common.table(header, rows)]


def l1_text(found):
    kept = [(a, found.get(("l1", "oewn_hypernym", str(a)))) for a in STRENGTHS]
    kept = [(a, r) for a, r in kept if r and "accuracy" in r]
    if not kept:
        return []
    figure, (left, right) = _runner.axes(2)
    alphas = [a for a, _ in kept]
    left.plot(alphas, [r["n_weights"] for _, r in kept], "o-")
    left.set(xscale="log", xlabel="alpha", ylabel="non-zeros", title="size")
    for key, label in ("accuracy", "accuracy"), ("macro_f1", "macro-F1"):
        right.plot(alphas, [r[key] for _, r in kept], "o-", label=label)
    right.set(xscale="log", xlabel="alpha", title="quality on oewn_hypernym")
    right.legend()
    text = "size and quality against the l1 penalty"
    shown = _runner.picture(figure, "benchmark_memoir_l1", text)
    rows = [
        [f"{a:g}", percent(r["accuracy"]), percent(r["macro_f1"]), f"{r['n_weights']:,}"]
        + [_common.figure(r["seconds"]), f"{r['memory_mb'] or 0:.0f}"]
        for a, r in kept
    ]
    header = ["alpha", "accuracy %", "macro-F1 %", "non-zeros", "fit s", "peak MB"]
    return [
        "## Strength of the l1 penalty (the paper's figure 1)",
        L1_TEXT,
        shown,
        _common.table(header, rows),
    ]


def threads_text(found):
    rows = []
    for name in THREAD_SETS:
        one, two = (found.get(("threads", name, str(n)), {}) for n in (1, 2))
        if "failed" in one or "failed" in two:
            continue
        for system in sorted(one.keys() & two.keys() & SYSTEMS.keys()):
            seconds = [part[system]["seconds"] for part in (one, two)]
            rows.append(
                [name, TITLES[system], f"{one[system]['n_scored_']:.0f}"]
                + [percent(one[system]["accuracy"]), *map(_common.figure, seconds)]
                + [_common.figure(seconds[0] / seconds[1])]
            )
    if not rows:
        return []
    header = ["one pass on", "system", "classes scored", "accuracy %"]
    header += ["one thread s", "two threads s", "ratio"]
    return ["## Threads", THREADS_TEXT, _common.table(header, rows)]


def passes_text(found):
    rows = []
    for name in PASSES_SETS:
        for passes in PASSES:
            both = found.get(("passes", name, str(passes)), {})
            for system in both.keys() & SYSTEMS.keys() and ("exact", "hnsw"):
                r = both[system]
                rows.append(
                    [name, passes, TITLES[system], percent(r["accuracy"]), percent(r["macro_f1"])]
                    + [f"{r['n_scored_'] / r['classes']:.2f} K", f"{r['recall_']:.2f}"]
                    + [_common.figure(r["seconds"]), f"{r['memory_mb'] or 0:.0f}"]
                )
    if not rows:
        return []
    header = ["rows", "passes", "system", "accuracy %", "macro-F1 %", "classes scored"]
    header += ["recall@10", "fit s", "peak MB"]
    return ["## A graph on sparse rows", PASSES_TEXT, _common.table(header, rows)]


def profile_text(found):
    rows = []
    for name in PROFILE_SETS:
        for system in ("exact", "hnsw"):
            r = found.get(("profile", name, system), {})
            if "spent" not in r:
                continue
            k = r["classes"]
            rest = r["seconds"] - sum(r["spent"].values())
            rows.append(
                [name, TITLES[system], f"{r['n_scored_'] / k:.2f} K", _common.figure(r["seconds"])]
                + [_common.figure(r["spent"][phase]) for phase in PHASES]
                + [_common.figure(rest), r["calls"]["index built"] + r["calls"]["index updated"]]
            )
    if not rows:
        return []
    header = ["one pass on", "system", "classes scored", "s", *(f"{p}, s" for p in PHASES)]
    header += ["rest, s", "updates of the index"]
    return ["## Where the time of a pass goes", PROFILE_TEXT, _common.table(header, rows)]


def report():
    every = data.read(SCRIPT)
    if not every:
        print("no figures yet: nothing to write")
        return
    found = {(r["part"], r["data"], r["arm"]): r for r in every.values()}
    parts = [data.head("MEMOIR", SCRIPT, every), FIRST, "## Searches and other programs"]
    for name in SETS:
        parts += table_text(name, found)
    parts += passes_text(found) + choices_text(found) + batch_text(found) + l1_text(found)
    parts += threads_text(found) + profile_text(found)
    parts.append(PAPER)
    _runner.write_page("memoir", "\n\n".join(parts))


FIRST = (
    "Rows of unit length and of one class: oewn_hypernym, bibtex, cooking_fasttext and corel5k "
    "TF-IDF with the first label; omniglot pixels; docstrings TF-IDF of words and pairs of words "
    f"reduced to {DIMENSIONS} dense dimensions by a truncated singular value decomposition; "
    "yso_finna_en_small TF-IDF, each row repeated for each of its labels, in the test part too. "
    "*Accuracy* counts test rows of classes never trained on as misses; *macro-F1* is the mean "
    "over the classes that occur in the test rows or the predictions. *Classes scored*: mean "
    "number of classes scored exactly for a training sample; *recall@10*: that of what the index "
    "names, 1 where it fell short of 0.9 and handed over to exact search, as in the rows lsh; "
    "published lsh asks for no recall and uses its codes whatever they find. *Peak MB*: highest "
    "memory of the fit beyond data and libraries. Two threads, where a system uses them; "
    "estimators have their default parameters unless the name says otherwise. Exact search, the "
    "published parameters and the other programs were timed on the machine named above left alone. "
    "Fits with hnsw (one thread) and lsh ran beside other work; those with hnsw were also halted "
    "for many minutes, which counts: their seconds say little. All of these but l1 with hnsw, and "
    "the parts below this one, were measured on another machine of two cores (AMD EPYC), and all "
    "of them before a fit ended without copies of its model, which counts in their memory, and "
    "left the index that predicts to the first prediction, whose seconds have it in other rows."
)
PASSES_TEXT = (
    "Few passes, on one thread, timed beside other work and halted for minutes, which counts. The "
    "graphs, the sketch and what is scored beside them are those of the user guide."
)
CHOICES_TEXT = (
    "Accuracy / macro-F1 in % on a tenth of the training rows, held out; classes that only these "
    "have count as misses. Exact search. *Published*: alpha 1, eta0 0.1, eta_step 0.02, steps not "
    "divided by the size of the batch, the last iterate, dot products, without intercepts; here "
    "ten passes as the default, where the paper stops by held-out macro-F1."
)
BATCH_TEXT = (
    "oewn_hypernym, three passes, exact search; *published* as above. In the paper a batch is also "
    "the interval after which the weights shrink, and with the printed step, which is not divided "
    "by its size, alpha acts `1 / batch` as strongly: the published columns change with the batch "
    "for that reason, ours hardly."
)
L1_TEXT = "oewn_hypernym, the published l1 parameters but for alpha, ten passes, exact search."
THREADS_TEXT = (
    "Steps follow one another by definition; only queries of the index use threads. It is built "
    "on one thread, so that a seed gives one graph. *oewn_hypernym-dense*: its 18,579 classes on "
    f"{DIMENSIONS} dense dimensions, as for docstrings. There a graph costs what the page on "
    "indexes says for so many rows, and it has to be built anew ten times a pass and more."
)
PROFILE_TEXT = (
    "One thread, beside other work on the second core. *oewn_hypernym-all*: training and test rows "
    f"together, 85,685 of 20,305 classes; *-dense*: the same on {DIMENSIONS} dimensions. Between "
    "two builds a tenth of K samples is visited, for each of them moves two classes: a graph that "
    "follows more seldom, whenever a quarter more samples have been visited, made ten passes over "
    "docstrings as fast as exact search, but of an accuracy of 0.6 % instead of 6.2 %, since "
    "classes whose weights have just grown are not found."
)
PAPER = (
    "## The paper's table 3\n\n"
    "On LSHTC1 (126,871 training rows, 12,294 classes): l2 accuracy 34.5 %, macro-F1 24.4 %, "
    "1673 s, 119 MB; l1 31.9 %, 23.6 %, 2204 s, 46 MB; LSH 34.6 %, 24.8 %, 655 s, 218 MB; "
    "one-vs-rest 44.1 %, 27.4 %, 23,056 s, 40.3 GB. These data were not to be had, so no figure "
    "above stands for one of them; the ratio of memories is what carries over. The 40.3 GB are "
    "weights of 409,774 features and all classes in float64."
)
