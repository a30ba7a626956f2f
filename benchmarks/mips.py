"""Recall of each index of inner product search against queries per second.

    python benchmarks/mips.py [--cases NAME ...] [--quick] [--report]

Trained weights of each estimator and generated rows, 10^4 to 10^6 of them. The figures of each case
are kept; a run replaces those it was asked for and writes
doc/benchmark_mips.md and doc/images/benchmark_mips.png from all of them.
"""

import time
import warnings

import _common
import _mips_data
import _runner
import numpy as np

from sklearn_xc.mips import ExactIndex, HNSWIndex, SimpleLSHIndex, SphericalIndex

WANTED = 0.9
REPEATS = 3
BATCH = 512  # queries asked at once; and a second figure with one at a time
ALONE = 50
LONG = 5  # seconds that need not be repeated
FAILED = 0.01  # with a larger share of queries answered exactly a point is not the graph's
SLOWER = 4  # a sweep ends when it takes so many times the exact search
GRAPH_ROWS = 200_000  # of more rows no graph is built here, and fewer queries are asked
INDEXES = {
    "exact": ExactIndex(),
    "hnsw ip": HNSWIndex(reduction="ip", min_recall=0, random_state=0),
    "hnsw xbox": HNSWIndex(reduction="xbox", min_recall=0, random_state=0),
    "spherical": SphericalIndex(min_recall=0, random_state=0),
    "lsh 64": SimpleLSHIndex(min_recall=0, random_state=0),
    "lsh 256": SimpleLSHIndex(n_bits=256, min_recall=0, random_state=0),
}
STYLES = {
    "exact": ("k", "*"),
    "hnsw ip": ("C0", "o"),
    "hnsw xbox": ("C1", "s"),
    "spherical": ("C2", "^"),
    "lsh 64": ("C3", "v"),
    "lsh 256": ("C4", "D"),
}


def efforts(name, n_rows):
    """Effort to sweep: width of the beam, lists read, candidates scored."""
    if name.startswith("hnsw"):
        return [16, 32, 64, 128, 256, 512, 1024]
    if name == "spherical":
        n_lists = round(n_rows**0.5)
        return sorted({max(1, n_lists // 2**i) for i in range(1, 9)})
    return sorted({max(16, n_rows // 2**i) for i in range(2, 12)})


def measure(index, asked, best):
    """Recall@1, recall@10 and seconds a query, in batches and one at a time."""
    seconds, scores = [], None
    for _ in range(REPEATS):
        start = time.perf_counter()
        scores = [index.query(asked[i : i + BATCH], 10)[1] for i in range(0, len_of(asked), BATCH)]
        seconds.append((time.perf_counter() - start) / len_of(asked))
        if seconds[-1] * len_of(asked) > LONG:
            break
    scores = np.concatenate(scores)
    slack = 1e-5 * np.abs(best)
    start = time.perf_counter()
    for i in range(ALONE):
        index.query(asked[i : i + 1], 10)
    alone = (time.perf_counter() - start) / ALONE
    return {
        "recall1": float((scores[:, 0] >= (best - slack)[:, 0]).mean()),
        "recall10": float((scores >= (best - slack)[:, -1:]).mean()),
        "us": 1e6 * min(seconds),
        "us_alone": 1e6 * alone,
    }


def len_of(matrix):
    return matrix.shape[0]


def sweep(name, rows, sample, asked, best, slowest):
    """All efforts of an index; the points as `measure` gives them, and the time of building."""
    index = INDEXES[name]
    seconds, _ = _common.timed(index.build, rows, sample)
    result = {"build": seconds, "mode": index.mode_, "points": []}
    if name == "exact":
        result["points"].append(measure(index, asked, best) | {"effort": None})
        return result
    if index.mode_ == "exact":
        return result
    for effort in efforts(name, rows.shape[0]):
        index._found, index.effort_ = index._found._replace(effort=effort), effort
        index.n_fallbacks_ = 0
        if name.startswith("hnsw"):
            index.query(asked, 10)
        if index.n_fallbacks_ > FAILED * len_of(asked):
            continue
        point = measure(index, asked, best) | {"effort": effort}
        result["points"].append(point)
        print(f"    {effort}: {point['recall10']:.3f} {point['us']:.0f} us", flush=True)
        if point["recall10"] > 0.999 or point["us"] > slowest:
            break
    return result


def run(case, quick):
    rows, sample, asked, text = _mips_data.load(case, quick)
    if rows.shape[0] > GRAPH_ROWS:
        asked = asked[:BATCH]
    text += f" {len_of(asked):,} queries."
    print(f"{case}: {text}", flush=True)
    exact = ExactIndex().build(rows)
    best = exact.query(asked, 10)[1]
    results = {}
    for name in INDEXES:
        if name.startswith("hnsw") and rows.shape[0] > GRAPH_ROWS:
            continue
        print(f"  {name}", flush=True)
        slowest = SLOWER * results["exact"]["points"][0]["us"] if results else None
        results[name] = sweep(name, rows, sample, asked, best, slowest)
        INDEXES[name] = type(INDEXES[name])(**INDEXES[name].get_params())  # let go of the rows
    origin = {"machine": _common.machine(), "commit": _common.commit()}
    origin["when"] = time.strftime("%Y-%m-%d")
    found = {"text": text, "rows": rows.shape[0], "indexes": results}
    if not quick:
        _runner.keep("mips", "cases", case, found | {"origin": origin})


# ------------------------------------------------------------------------------------- the page


def reached(points):
    """The fastest point with the recall wanted, or None."""
    good = [point for point in points if point["recall10"] >= WANTED]
    return min(good, key=lambda point: point["us"]) if good else None


def lines_of(kept):
    """A line of the table for each index of a case."""
    figure = _common.figure
    for name, result in kept["indexes"].items():
        points = result["points"]
        point = reached(points)
        build = figure(result["build"])
        if point is None:
            best = max((p["recall10"] for p in points), default=0)
            yield [name, result["mode"], build, "-", "-", f"at most {best:.3f}", *["-"] * 4]
            continue
        yield [
            name,
            result["mode"],
            build,
            point["effort"] or "-",
            f"{point['recall1']:.3f}",
            f"{point['recall10']:.3f}",
            f"{1e6 / point['us']:,.0f}",
            figure(point["us"]),
            figure(point["us_alone"]),
        ]


def draw(results):
    """Of all sweeps; if of some case only the points of the table are kept the picture stays."""
    if not all(kept.get("whole_sweep", True) for kept in results.values()):
        return
    n_columns = 3
    n_lines = -(-len(results) // n_columns)
    figure, grid = _runner.axes(n_columns, n_lines, figsize=(13, 3.6 * n_lines))
    for axis, (case, kept) in zip(grid, results.items(), strict=False):
        for name, result in kept["indexes"].items():
            points, (colour, marker) = result["points"], STYLES[name]
            for key, line in (("recall10", "-"), ("recall1", ":")):
                axis.semilogy(
                    [p[key] for p in points],
                    [1e6 / p["us"] for p in points],
                    line,
                    color=colour,
                    marker=marker,
                    markersize=4 if key == "recall10" else 2,
                    label=name if key == "recall10" else None,
                )
        axis.axvline(WANTED, color="0.7", linewidth=0.8)
        axis.set(title=case, xlabel="recall@10 (dotted: recall@1)", ylabel="queries a second")
        axis.set_xlim(-0.03, 1.03)
    for axis in grid[len(results) :]:
        axis.set_visible(False)
    grid[0].legend(fontsize=7)
    _runner.picture(figure, "benchmark_mips", "recall against queries a second")


HEAD = """# Inner product search: recall against speed

Generated by `python benchmarks/mips.py`; `--cases` measures some cases anew, `--report` writes the
page from the figures kept.

* Machine: {machine}
* Measured: {when}
* **The machine was shared with other work while these figures were taken**: times of one case can
  be compared with each other, to about a third; recalls are not affected.

One thread. Queries are asked {batch} at a time; the last column is one query at a time. Each index
sweeps its effort (width of the beam, lists read, rows scored); the table gives the fastest setting
with a recall@10 of at least {wanted} on queries that had no part in building. Where there is none,
it says how far the recall goes. Approximate indexes are built on the reduction that they prefer
by themselves (`mode`), but for the two graphs.

![recall against queries a second](images/benchmark_mips.png)
"""
HEADER = [
    "index",
    "mode",
    "build s",
    "effort",
    "recall@1",
    "recall@10",
    "queries a second",
    "µs a query",
    "µs alone",
]


def report():
    kept = _runner.kept("mips").get("cases", {})
    results = {case: kept[case] for case in _mips_data.CASES if case in kept}
    draw(results)
    origins = [result["origin"] for result in results.values()]
    parts = [
        HEAD.format(
            machine="; ".join(sorted({o["machine"] for o in origins})),
            when=", ".join(sorted({f"{o['when']} at {o['commit']}" for o in origins})),
            batch=BATCH,
            wanted=WANTED,
        )
    ]
    for case, result in results.items():
        table = _common.table(HEADER, lines_of(result))
        parts.append(f"## {case}\n\n{result['text']}\n\n{table}")
    _runner.write_page("mips", "\n\n".join(parts))


def main():
    parser = _runner.parser(__doc__)
    parser.add_argument("--cases", nargs="*", choices=list(_mips_data.CASES))
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, nothing kept")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "recall@", RuntimeWarning)
    if not options.report:
        for case in options.cases or _mips_data.CASES:
            run(case, options.quick)
    if not options.quick:
        report()


if __name__ == "__main__":
    main()
