"""The experiments of the implicit SGD paper, its figures beside ours.

    python benchmarks/implicit.py [--data bibtex delicious] [--epochs 5] [--report]

Table 3, figures 1 and 2 and appendix G on rows of unit length with their first label. Figures are
kept; the page measurements/implicit.md is written from all of them.
"""

import _common
import _runner
import _softmax_data as data
import numpy as np

from sklearn_xc import ImplicitSoftmaxRegressor

SCRIPT = "implicit"
DATA = ["bibtex", "delicious", "omniglot", "oewn_hypernym", "yso_finna_en_small"]
SOLVERS = {
    "implicit": "implicit",
    "sgd": "vanilla",
    "umax": "U-max",
    "one_vs_each": "OVE",
    "nce": "NCE",
    "importance": "IS",
    "nce-single": "NCE (1, 1)",  # of figure 3: one sample and one class a step
}
RAMAN = {"umax-raman": "U-max, Raman's sum"}
RATES = [10.0**i for i in range(-3, 4)]
FINE_RATES = [0.15, 0.2, 0.3, 0.5, 0.7]  # where plain steps turn unstable
STEPPED_PLAINLY = ["umax", "sgd", "umax-raman"]
PAPER = {  # table 3: training log-loss over that of implicit
    "bibtex": {"implicit": 1, "umax": 9.77, "sgd": 15.18, "one_vs_each": 29.03, "nce": 28.52}
    | {"importance": 32.71},
    "delicious": {"implicit": 1, "umax": 1.11, "sgd": 1.25, "one_vs_each": 1.90, "nce": 1.91}
    | {"importance": 1.89},
}
PAPER_RATES = {  # table 2
    "bibtex": {"implicit": 10, "umax": 0.1, "sgd": 0.01, "one_vs_each": 100, "nce": 100}
    | {"importance": 100},
    "delicious": {"implicit": 0.01, "umax": 0.01, "sgd": 0.001, "one_vs_each": 10, "nce": 1000}
    | {"importance": 1000},
}


def estimator(solver, epochs, **options):
    """As in section 4.1; "exact", which the paper lacks, with its rate, decay and no ridge."""
    published = ImplicitSoftmaxRegressor.PUBLISHED
    of_solver = published.get(solver.replace("-", "_"))
    if of_solver is None:
        of_solver = published["implicit"] | {"solver": solver, "batch_size": None}
        of_solver |= {"n_sampled_classes": None}
    options = of_solver | {"max_iter": epochs} | options
    return ImplicitSoftmaxRegressor(random_state=data.SEED, **options)


def fitted(solver, rows, epochs, **options):
    """The model and its seconds, or None where the weights leave the range of float32."""
    model = estimator(solver, epochs, **options)
    try:
        return _common.timed(model.fit, rows.X, rows.y)[::-1]
    except ValueError as error:
        if "range of float32" not in str(error) and "grew beyond float32" not in str(error):
            raise
        return None, None


def training_loss(model, rows):
    return None if model is None else -model.log_likelihood(rows.X, rows.y)


def sweep(solver, rows, epochs, rates=RATES):
    """Training log-loss at each rate on all rows; None where the fit is not finite."""
    return [
        training_loss(fitted(solver, rows, epochs, learning_rate=rate)[0], rows) for rate in rates
    ]


def run(name, epochs):
    rows = data.load(name, "unit")
    for solver in SOLVERS | RAMAN:
        figures = {"epochs": epochs, "n": len(rows.y), "classes": rows.n_classes}
        figures["losses"] = sweep(solver, rows, epochs)
        if solver in STEPPED_PLAINLY:
            figures["fine_losses"] = sweep(solver, rows, epochs, FINE_RATES)
        finite = [np.inf if loss is None else loss for loss in figures["losses"]]
        best, _ = fitted(
            solver, rows, epochs, learning_rate=RATES[int(np.argmin(finite))], compute_loss=True
        )
        figures |= {"best_rate": best.learning_rate_, "best_curve": best.loss_curve_.tolist()}
        figures["best_error"] = 1 - best.score(rows.X, rows.y)
        tuned, seconds = fitted(
            solver, rows, epochs, learning_rate="auto", compute_loss=True, n_jobs=2
        )
        figures["auto_seconds"] = seconds
        figures["auto_rate"] = tuned.learning_rate_ if tuned else None
        figures["auto_curve"] = tuned.loss_curve_.tolist() if tuned else [None]
        figures["auto_error"] = 1 - tuned.score(rows.X, rows.y) if tuned else None
        data.save(SCRIPT, f"{name}-{solver}", **figures)
        auto, top = figures["auto_curve"][-1], figures["best_curve"][-1]
        print(name, solver, f"auto {figures['auto_rate']} {auto}", end=" ")
        print(f"best {figures['best_rate']:g} {top:.4f}", flush=True)
    exact_optimum(name, rows, epochs)


def exact_optimum(name, rows, epochs):
    """The exact softmax after as many epochs, at the best of its rates."""
    losses = [np.inf if loss is None else loss for loss in sweep("exact", rows, epochs)]
    best = int(np.argmin(losses))
    data.save(SCRIPT, f"{name}-exact", loss=losses[best], rate=RATES[best], epochs=epochs)
    print(name, "exact", RATES[best], losses[best], flush=True)


# ---------------------------------------------------------------------------------- the page


def ratio(value, base):
    return "not finite" if value is None else "-" if not base else _common.figure(value / base)


def table_text(name, results):
    every = {s: results[f"{name}-{s}"] for s in SOLVERS if f"{name}-{s}" in results}
    if "implicit" not in every:
        return []
    base = {key: every["implicit"][f"{key}_curve"][-1] for key in ("auto", "best")}
    rows = []
    for solver, r in every.items():
        paper = (PAPER, PAPER_RATES)
        cells = [
            SOLVERS[solver],
            *(_common.figure(t[name][solver]) if solver in t.get(name, {}) else "-" for t in paper),
        ]
        for key in ("auto", "best"):
            loss = r[f"{key}_curve"][-1]
            rate = r[f"{key}_rate"]
            cells += [ratio(loss, base[key]), data.decimals(loss)]
            cells += [data.decimals(r.get(f"{key}_error")), "-" if rate is None else f"{rate:g}"]
        rows.append(cells)
    first = every["implicit"]
    header = ["solver", "paper, ratio", "rate", "rate by auto, ratio", "log-loss", "error", "rate"]
    header += ["best rate, ratio", "log-loss", "error", "rate"]
    parts = [
        f"## Table 3: {name}",
        f"{first['n']:,} rows, {first['classes']} classes, {first['epochs']} epochs. Training "
        "log-loss after the last epoch, its ratio to that of implicit, and the share of training "
        "rows that are predicted wrongly.",
        _common.table(header, rows),
    ]
    exact = results.get(f"{name}-exact")
    if exact:
        parts.append(
            f"The exact softmax (mini-batches of 16) at its best rate, {exact['rate']:g}, reaches "
            f"{exact['loss']:.3f} in as many epochs."
        )
    return [*parts, verdict(name, every)]


def verdict(name, every):
    """The paper's order of the solvers under the two ways of tuning."""

    def order(curve):
        losses = {SOLVERS[s]: r[curve][-1] for s, r in every.items()}
        finite = {s: loss for s, loss in losses.items() if loss is not None}
        return ", ".join(sorted(finite, key=finite.get))

    of_paper = PAPER.get(name, {})
    paper = ", ".join(SOLVERS[s] for s in sorted(of_paper, key=of_paper.get)) or "not measured"
    return (
        f"From best to worst: paper {paper}; rate by auto "
        f"{order('auto_curve')}; best rates {order('best_curve')}."
    )


def sensitivity_text(name, results):
    rows = []
    for solver, title in (SOLVERS | RAMAN).items():
        r = results.get(f"{name}-{solver}")
        if r:
            cells = ["not finite" if x is None else _common.figure(x) for x in r["losses"]]
            rows.append([title, *cells])
    header = ["solver", *(f"{rate:g}" for rate in RATES)]
    return [f"### {name}", _common.table(header, rows)] if rows else []


def fine_text(name, results):
    rows = []
    for solver in STEPPED_PLAINLY:
        r = results.get(f"{name}-{solver}", {})
        if "fine_losses" in r:
            cells = ["not finite" if x is None else _common.figure(x) for x in r["fine_losses"]]
            rows.append([f"{name}, {(SOLVERS | RAMAN)[solver]}", *cells])
    return rows


def raman_text(name, results):
    ours, theirs = (results.get(f"{name}-{s}") for s in ("umax", "umax-raman"))
    if not ours or not theirs:
        return []
    pairs = [
        (rate, a, b)
        for rate, a, b in zip(RATES, ours["losses"], theirs["losses"], strict=True)
        if a is not None and b is not None
    ]
    ratios = [b / a for _, a, b in pairs]
    better = sum(r > 1 for r in ratios)
    return [
        f"* {name}: the pairwise sum has the lower loss at {better} of the {len(pairs)} rates at "
        f"which both are finite; Raman's loss is {np.exp(np.mean(np.log(ratios))):.2f} times as "
        "high in the geometric mean. At each one's best rate "
        f"{ours['best_curve'][-1]:.3f} (pairwise) and {theirs['best_curve'][-1]:.3f} (Raman)."
    ]


def draw_curves(results, names):
    from matplotlib.ticker import LogLocator, NullLocator

    figure, axes = _runner.axes(len(names), 2)
    for row, key in enumerate(("auto", "best")):
        for axis, name in zip(axes[row * len(names) :], names, strict=False):
            for solver, title in SOLVERS.items():
                r = results.get(f"{name}-{solver}")
                if r and r[f"{key}_curve"][0] is not None:
                    curve = r[f"{key}_curve"]
                    label = f"{title}, {r[f'{key}_rate']:g}"
                    style = "--" if solver == "umax" else "-"  # lies under vanilla
                    axis.plot(range(1, len(curve) + 1), curve, style, label=label)
            tuning = "rate by auto" if key == "auto" else "best rate on all rows"
            axis.set(xlabel="epochs", yscale="log", title=f"{name}, {tuning}")
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_locator(NullLocator())
            axis.legend(fontsize=7)
        axes[row * len(names)].set_ylabel("training log-loss")
    return _runner.picture(figure, "benchmark_implicit_curves", "training log-loss against epochs")


def draw_sensitivity(results, names):
    figure, axes = _runner.axes(len(names))
    for axis, name in zip(axes, names, strict=True):
        for solver, title in (SOLVERS | RAMAN).items():
            r = results.get(f"{name}-{solver}")
            if r:
                losses = [np.nan if x is None else x for x in r["losses"]]
                style = "s--" if solver in RAMAN else "o-"
                axis.plot(RATES, losses, style, markersize=4, label=title)
        axis.axhline(np.log(results[f"{name}-implicit"]["classes"]), color="0.6", linestyle=":")
        axis.set(xlabel="learning_rate", xscale="log", yscale="log", title=name)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("training log-loss after the last epoch")
    return _runner.picture(figure, "benchmark_implicit_rates", "training log-loss against the rate")


def report():
    results = data.read(SCRIPT)
    names = [name for name in DATA if f"{name}-implicit" in results]
    if not names:
        print("no figures yet: nothing to write")
        return
    parts = [data.head("The experiments of implicit SGD", SCRIPT, results), FIRST]
    for name in names:
        parts += table_text(name, results)
    parts += ["## What the tables say", FINDINGS]
    parts += ["## Figure 1: log-loss against epochs", draw_curves(results, names)]
    parts += ["## Appendix G: how much the rate matters", G_TEXT]
    for name in names:
        parts += sensitivity_text(name, results)
    parts += [draw_sensitivity(results, names)]
    parts += [
        "The dotted line is log K, the loss of W = 0. Rates in between, where plain steps turn "
    ]
    parts[-1] += "unstable:"
    fine = [row for name in names for row in fine_text(name, results)]
    parts += [_common.table(["solver", *(f"{rate:g}" for rate in FINE_RATES)], fine)]
    parts += ["## Figure 2: two double sums", "U-max at the seven rates; the paper (Eurlex, ten "]
    parts[-1] += "rates) finds Raman's loss 3.08 times as high on average."
    parts += ["\n".join(line for name in names for line in raman_text(name, results))]
    _runner.write_page("implicit", "\n\n".join(parts))


FIRST = (
    "Rows of unit length, first label, training part of the published split; no intercepts and no "
    "ridge, as in the paper. *Rate by auto*: "
    '`learning_rate="auto"`, close to the published protocol (the best of some rates on a tenth of '
    "the rows, at least 1000, validated on as many others), then all rows; *best rate*: the one "
    "of the seven with the lowest training log-loss on all "
    "rows. Our rates multiply the gradient of one sample; the paper's formulas have a factor N "
    "beside the rate, which the authors' program folds into it. The rates of its table 2 stand in "
    "the tables, and they are of the same order as ours for implicit, U-max and vanilla only if "
    "they are taken to be the program's."
)
FINDINGS = """The paper's order does not come back, and tuning has much to do with it.

* bibtex: that implicit beats OVE, U-max and vanilla does; a factor of 29 over OVE does not (1.5 by
  auto, 2.3 at the best rates), and NCE and importance sampling, which the paper has
  about as bad as OVE, end at half the loss of implicit. The rows are linearly separable (the exact
  softmax goes to zero), so there is no finite optimum from which a biased method could be seen to
  differ: what is compared is how fast the weights grow. Steps on 100 samples and 5 classes then
  gain from less noise; their best rates here lie far from those that table 2 has for them.
* delicious: the best rates put OVE and implicit level, NCE, U-max and vanilla behind, and all of
  them far above the exact softmax: fifty epochs of one class (or five) a row are not convergence.
  By auto the order is the same, but for U-max and vanilla, whose rate is beyond where plain steps
  are stable on all rows: a tenth of them does not tell. By the share of rows that are wrong,
  implicit leads both ways.
* One sample and one class a step, NCE (1, 1), ends behind NCE of 100 samples and 5 classes on
  both.
* U-max is vanilla wherever vanilla is stable, since its threshold is never met there, and finite
  but soon useless at larger rates. Rates in between do not change that: each one's best is the
  other's. They do better than the grid of powers of ten lets them, on bibtex 2.28 at the rate 0.3.
* Raman's double sum does better than the pairwise one at every rate of the grid, against figure 2
  (Eurlex, which is not at hand); between 0.1 and 1 it does so on bibtex but not on delicious. A
  likely reason: u starts at log K, and moves with the rate of the weights. The best u of the
  pairwise sum falls as a row's own class is learned, and where u lags behind, the gradients,
  proportional to exp(-u), are too small; Raman's best u, the log-sum-exp of all scores, stays near
  log K.
* What does come back is appendix G: implicit steps are the only ones that no rate breaks. From 1 to
  1000 their loss changes by a factor of 3.2 (bibtex) and 2.5 (delicious); of the others none stays
  within a factor of 10 over the same rates."""
G_TEXT = "Training log-loss after the last epoch at each `learning_rate` on all rows."


def main():
    parser = _runner.parser(__doc__, data=DATA)
    parser.add_argument("--epochs", type=int, default=50)
    options = parser.parse_args()
    if not options.report:
        for name in options.data:
            run(name, options.epochs)
    report()


if __name__ == "__main__":
    main()
