"""The page and the picture of many_classes.py, from its figures."""

import _common
import _runner

NAME = "many_classes"
MOST_EXACT = 100_000  # classes, beyond which exact search is timed by some samples


def page(searches):
    kept, show = _runner.kept(NAME), _common.figure
    parts = [
        "# Dense rows and very many classes",
        _runner.source(NAME),
        "CPU seconds of one thread.",
    ]
    if "lanes" in kept:
        found = sorted(kept["lanes"].items(), key=lambda item: int(item[0]))
        rows = [[d, *(show(f[c]) for c in ("lanes", "blas", "ratio"))] for d, f in found]
        header = ["dimensions", "search, GFlop/s", "BLAS, GFlop/s", "time by that of BLAS"]
        parts += ["## A search of dense rows", _common.table(header, rows)]
    if "dense" in kept:
        columns = "n", "d", "k", "fit", "product", "ratio", "p1"
        rows = [
            [name, *(show(f[c]) if isinstance(f[c], float) else f[c] for c in columns)]
            for name, f in kept["dense"].items()
        ]
        header = ["data", "rows", "dimensions", "classes", "fit, s", "X @ W.T, s", "ratio", "P@1"]
        parts += ["## PPDSparseClassifier on embeddings", _common.table(header, rows)]
    if "topk" in kept:
        columns = "best", "partition", "all", "product"
        rows = [
            [f["k"], f["d"], f["n"], *(show(f[c]) for c in columns)]
            for _, f in sorted(kept["topk"].items())
        ]
        header = [
            "classes",
            "dimensions",
            "rows",
            "five best",
            "product and partition",
            "all scores",
            "product",
        ]
        parts += ["## Prediction of dense rows", TOPK_TEXT, _common.table(header, rows)]
    if "rows" in kept:
        rows = []
        for key, f in kept["rows"].items():
            measured = [show(f[c]) if c in f else "" for c in ("fit", "ms", "p1", "gap")]
            rows.append([key.split()[1], f["n"], f["d"], f["k"], *measured])
        header = [
            "search",
            "rows",
            "dimensions",
            "classes fitted",
            "fit, s",
            "core-ms a class",
            "P@1 among them",
            "largest gap",
        ]
        parts += ["## Many rows", ROWS_TEXT, _common.table(header, rows)]
    if "memoir" in kept:
        parts += ["## MemoirSVC by search", MEMOIR_TEXT, memoir_table(kept["memoir"])]
        parts.append(memoir_picture(kept["memoir"], searches))
    if "ldgs" in kept:
        parts += ["## LDGSClassifier by gradient", LDGS_TEXT, ldgs_table(kept["ldgs"])]
    return "\n\n".join(parts)


def ldgs_table(kept):
    header = "classes", "gradient", "ran", "rows", "passes", "fit, s", "ms a sample", "accuracy"
    columns = "n", "passes", "fit", "sample_ms", "accuracy"
    rows = [
        [f["k"], f["search"], f["ran"], *(_common.figure(f[column]) for column in columns)]
        for f in kept.values()
    ]
    return _common.table(header, rows)


LDGS_TEXT = f"""The same rows. "exact" is the gradient of all classes; "chunks" that of the classes
which spherical indexes of the chunks name, "hnsw" one graph of all columns (Algorithm 1). Exact
gradients of more than {MOST_EXACT:,} classes are timed by 1500 samples and not fitted."""

TOPK_TEXT = """Microseconds a row, on a machine without AVX-512. The product and the partition, for
as many best, are NumPy's."""

ROWS_TEXT = """Two threads, seconds of the clock. The classes fitted are the first of 100,000, of
five rows each; all rows are negatives of theirs. By bytes is what a fit does by itself; float32 is
the search of smaller data."""

MEMOIR_TEXT = f"""Rows in clusters, of every class at least one; lsh with
`min_recall=0`, since its codes fall short of 0.9 on these rows. Exact search of more than
{MOST_EXACT:,} classes is timed by 1500 samples, each of which reads all weights, and not fitted.
The recall is that of the last graph; 1 where none served, and matrix products with all classes that
had moved took its place, as with 100,000 classes and more: what is gained there is theirs. The
figures of a million classes are of a machine without AVX-512, the fit by auto beside other work on
the second core."""


def memoir_table(kept):
    show = _common.figure
    columns = "n", "passes", "fit", "sample_ms", "accuracy", "recall"
    rows = [
        [
            f["k"],
            f["search"],
            f["ran"],
            *(f[c] if isinstance(f[c], int) else show(f[c]) for c in columns),
        ]
        for f in kept.values()
    ]
    header = [
        "classes",
        "search",
        "ran",
        "rows",
        "passes",
        "fit, s",
        "ms a sample",
        "accuracy",
        "recall@10",
    ]
    return _common.table(header, rows)


def memoir_picture(kept, searches):
    figure, (axis,) = _runner.axes(1)
    for d in sorted({f["d"] for f in kept.values()}):
        for search in searches:
            found = [f for f in kept.values() if f["search"] == search and f["d"] == d]
            found.sort(key=lambda f: (f["k"], -f["passes"]))
            if found:  # of several numbers of passes the fewest
                ks, times = zip(*{f["k"]: f["sample_ms"] for f in found}.items(), strict=True)
                axis.loglog(ks, times, "o-", label=f"{search}, {d} dimensions")
    axis.set(xlabel="classes", ylabel="ms a sample and pass")
    axis.legend()
    return _runner.picture(figure, "many_classes", "time of a sample against the number of classes")
