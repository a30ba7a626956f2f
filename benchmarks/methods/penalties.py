"""Penalties that PPDSparseClassifier chooses, compared with a grid and with label trees.

    python -m benchmarks.methods.penalties [--data "codespell_fix, 30 %" ...] [--part grid trees]
    python -m benchmarks.methods.penalties --part auto [--data ...] [--note TEXT]
    python -m benchmarks.methods.penalties --part long [--data ...]

`grid`: PPDSparseClassifier() and all pairs of L1 and L2, in units of the rows, on test rows; one
thread where it is timed. `auto`: the first of these again beside a grid that is kept, which no rule
changes.
`long`: the default and its penalties given, on sets whose fit takes a second or more; no grid.
`trees`: PECOS XR-Linear and omikuji (three wide trees) on the same rows, two threads.
Writes measurements/penalties.md.
"""

import time

import numpy as np
import scipy.sparse as sp

from benchmarks import _common, _environment, _penalties_data, _runner

L1, L2 = (0.003, 0.01, 0.03, 0.1, 0.3), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
TREES = {"pecos_xr": "PECOS XR-Linear", "omikuji_wide": "omikuji"}
BAR_GRID, BAR_TREES, BAR_COST = 1.0, 0.3, 1.5
LONG = ("codespell_fix", "delicious", "eurlex4k_shape, 40 %", "yso_finna_en_small")
CAPTION = f"""\
*P@1* and *nDCG@5* of `PPDSparseClassifier()` on at most {_penalties_data.MOST_TEST_ROWS:,} test
rows that have a label; *lost* are points to the best of a grid of l1 in
{", ".join(map(str, L1))} and l2 in {", ".join(map(str, L2))}, in units of the rows, each column for
itself and chosen on the test rows, which favours the grid; *by rows* the same for `l1="rows",
l2="rows"`, penalties that do not look at the labels. *in sight*: whether the set was looked at when
the rule was chosen. *cpu s / given*: processor seconds of the fit over the seconds of a fit with
the chosen penalties given, whose processor seconds stand beside."""


def measures(Y, best):
    """Precision@1 and nDCG@5 in per cent, of rows that have a label."""
    from sklearn_xc.metrics import ndcg_at_k, precision_at_k

    labelled = np.diff(Y.indptr) > 0
    Y, best = Y[labelled], best[labelled]
    return [100 * precision_at_k(Y, best, k=1), 100 * ndcg_at_k(Y, best, k=5)]


def fitted(split, n_jobs=1, **penalties):
    """Fit, and what the fit has come to: measures, wall and processor seconds, the model."""
    from sklearn_xc import PPDSparseClassifier

    model = PPDSparseClassifier(n_jobs=n_jobs, random_state=0, **penalties)
    began = time.perf_counter(), time.process_time()
    model.fit(split.X, split.Y)
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    return [*measures(split.Y_test, model.predict_topk(split.X_test, 5)[0]), *seconds], model


def measure_auto(split):
    """The default, and its penalties given."""
    fitted(split, l1="rows", l2="rows", tol=0.5)  # warm-up
    auto, model = fitted(split)
    times = model.penalty_factors_
    given, _ = fitted(split, **{f"l{i + 1}": f"{t}*rows" for i, t in enumerate(times)})
    length = np.sqrt(np.median(_squares(split.X)))
    return {
        "auto": auto,
        "given": given,
        "l1, l2": [model.l1_ / length, model.l2_ / length**2],
        "factors": list(times),
        "million weights": model.coef_.nnz / 1e6,
    }


def measure_grid(split):
    """The default, its penalties given, and all pairs."""
    figures = {"sizes": [*split.X.shape, split.Y.shape[1]], **measure_auto(split)}
    figures["rows"], plain = fitted(split, l1="rows", l2="rows")
    units = plain.l1_, plain.l2_
    length = np.sqrt(np.median(_squares(split.X)))
    figures["grid"] = grid = {}
    for l1 in L1:
        for l2 in L2:
            pair = f"{l1 * length / units[0]:.8g}*rows", f"{l2 * length**2 / units[1]:.8g}*rows"
            grid[f"{l1:g}, {l2:g}"] = fitted(split, 2, l1=pair[0], l2=pair[1])[0][:2]
    return figures


def _squares(X):
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.square(X).sum(axis=1)
    squares = np.asarray(squares).ravel()
    return squares[squares > 0]


def measure_trees(split):
    """Measures and seconds of each tree, None where it cannot be had."""
    found = {}
    for system in TREES:
        made = _environment.best_labels(system, split.X, split.Y, split.X_test)
        if made is None:
            return None
        found[system] = [*measures(split.Y_test, made[0]), *made[1]]
    return found


# ------------------------------------------------------------------------------------------- page


def losses(figures):
    """Points lost by the default to the best of the grid: P@1, nDCG@5."""
    return np.max(list(figures["grid"].values()), axis=0) - figures["auto"][:2]


def row_of(name, figures, trees):
    lost, old = losses(figures), np.max(list(figures["grid"].values()), axis=0)
    seen = "yes" if name in _penalties_data.DECIDED else "no"
    cells = [name, "{:,}".format(figures["sizes"][0]), f"{figures['sizes'][2]:,}", seen]
    cells += [f"{p:.1f}" for p in figures["auto"][:2]]
    cells += ["{:.2g}, {:.2g}".format(*figures["l1, l2"])]
    cells += [f"{p:.1f}" for p in lost] + [f"{p:.1f}" for p in old - figures["rows"][:2]]
    for system in TREES:
        there = trees.get(name, {}).get(system)
        cells += ["-"] * 2 if there is None else [f"{p:.1f}" for p in there[:2]]
    auto, given = figures["auto"], figures["given"]
    return [*cells, f"{auto[3] / given[3]:.1f}", _common.figure(given[3])]


def long_fits(long):
    """A table of what the choice costs where a fit takes a second or more."""
    if not long:
        return []
    header = ["data", "P@1", "nDCG@5", "factors", "cpu s", "given cpu s", "cpu s / given"]
    rows, over = [], []
    for name, figures in sorted(long.items()):
        auto, given = figures["auto"], figures["given"]
        over += [name] * (auto[3] > BAR_COST * given[3])
        cells = [name, *(f"{p:.1f}" for p in auto[:2])]
        cells += ["{:.2g}, {:.2g}".format(*figures["factors"])]
        cells += [_common.figure(auto[3]), _common.figure(given[3]), f"{auto[3] / given[3]:.2f}"]
        rows.append([*cells, f"{figures['million weights']:.2f}"])
    return [
        "## Fits of more than a second",
        f"A choice may take half the processor seconds of the fit; missed on "
        f"{', '.join(over) or 'none'}.",
        _common.table([*header, "million weights"], rows),
    ]


def page(grids, trees, long, note):
    names = sorted(grids, key=lambda name: -losses(grids[name]).max())
    lost = np.array([losses(grids[name]) for name in names])
    unseen = np.array([name not in _penalties_data.DECIDED for name in names])
    by_rows = np.array(
        [
            np.max(list(g["grid"].values()), axis=0) - g["rows"][:2]
            for g in (grids[n] for n in names)
        ]
    )
    header = ["data", "rows", "labels", "in sight", "P@1", "nDCG@5", "l1, l2", "P@1 lost"]
    header += ["nDCG@5 lost", "P@1 lost by rows", "nDCG@5 lost by rows"]
    header += [f"{name} {what}" for name in TREES.values() for what in ("P@1", "nDCG@5")]
    header += ["cpu s / given", "given cpu s"]
    return "\n\n".join(
        [
            "# Penalties that the data choose",
            _result("sets", lost, by_rows)
            + " "
            + _result(
                "sets that were not in sight when the rule was chosen",
                lost[unseen],
                by_rows[unseen],
            ),
            f"The bar is {BAR_GRID:g} point on every set. It is missed on "
            + (
                ", ".join(
                    n for n, points in zip(names, lost, strict=True) if points.max() > BAR_GRID
                )
                or "none"
            )
            + ".",
            _ahead(grids, trees),
            _common.table(header, [row_of(name, grids[name], trees) for name in names]),
            CAPTION,
            *long_fits(long),
            *_runner.note("penalties", note),
            _runner.source("penalties"),
        ]
    )


def _ahead(grids, trees):
    """On which sets a tree is ahead in P@1 or nDCG@5."""
    behind = {}
    for name in grids:
        there = [t[:2] for t in trees.get(name, {}).values() if t]
        if there:
            behind[name] = (np.max(there, axis=0) - grids[name]["auto"][:2]).max()
    ahead = sorted((n for n, points in behind.items() if points > BAR_TREES), key=behind.get)
    sets = ", ".join(f"{n} ({behind[n]:.1f})" for n in reversed(ahead)) or "none"
    return (
        f"The better tree is ahead by more than {BAR_TREES:g} points, in precision@1 or nDCG@5, on "
        f"{len(ahead)} of {len(behind)} sets: {sets}."
    )


def _result(which, lost, by_rows):
    within = int((lost.max(axis=1) <= BAR_GRID).sum())
    ours, theirs = ("{:.1f} and {:.1f}".format(*points.mean(axis=0)) for points in (lost, by_rows))
    return (
        f"The default penalties are within {BAR_GRID:g} point of the best of a grid on {within} of "
        f"{len(lost)} {which}, in precision@1 and nDCG@5. On average they lose {ours} points; "
        f"penalties that follow the rows alone lose {theirs}."
    )


def main():
    data = [*_penalties_data.DECIDED, *_penalties_data.UNSEEN]
    parser = _runner.parser(__doc__, data=data, parts=("grid", "trees", "auto", "long"), note=True)
    options = parser.parse_args()
    for name in [] if options.report else options.data:
        split = _penalties_data.split_of(name)
        if "long" in options.part and name in LONG:
            _runner.keep("penalties", "long", name, found := measure_auto(split))
            print(name, found, flush=True)
        figures = _runner.kept("penalties").get("grid", {}).get(name)
        if "grid" in options.part or "auto" in options.part:
            again = measure_auto(split) if figures and "grid" not in options.part else None
            figures = figures | again if again else measure_grid(split)
            _runner.keep("penalties", "grid", name, figures)
            print(name, losses(figures).round(2), figures["l1, l2"], flush=True)
        wanted = "trees" in options.part and sp.issparse(split.X)
        if wanted and (found := measure_trees(split)) is not None:
            _runner.keep("penalties", "trees", name, found)
            print(name, found, flush=True)
    kept = _runner.kept("penalties")
    text = page(kept["grid"], kept.get("trees", {}), kept.get("long", {}), options.note)
    (_runner.MEASUREMENTS / "penalties.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
