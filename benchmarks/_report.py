"""The page that run.py writes: one table a data set, and the bars of the first release."""

import _common
import _runner
import _turns
from _common import figure

YARDSTICK_TITLE = "yardstick (C++, AVX-512)"
BY_TURNS = ", by turns (`turns.py`)"
HEADER = [
    "system",
    "train s",
    "predict ms a row",
    "P@1",
    "P@3",
    "P@5",
    "PSP@5",
    "peak MB",
    "model MB",
]


def best(result, field):
    """The best repetition, None where it was not measured."""
    return min(result[field]) if result and result.get(field) else None


def percent(share):
    return "-" if share is None else f"{100 * share:.2f}"


def prediction(result):
    """Time a row; beside it that of a model which is faster when saved and loaded again."""
    as_trained = best(result, "predict_as_trained_ms")
    note = f" ({figure(as_trained)} as trained)" if as_trained else ""
    return figure(best(result, "predict_ms")) + note


def cells(result):
    """A system's figures as the cells of its row."""
    if "n_labels" in result:
        some, every = result["n_labels"]
        about = float(f"{best(result, 'train_s') * every / some:.2g}")
        return [f"about {about:.0f}, by {some} labels", *["-"] * (len(HEADER) - 2)]
    return [
        figure(best(result, "train_s")),
        prediction(result),
        *map(percent, result["precision"]),
        percent(result["psp"]),
        "-" if result["memory_mb"] is None else f"{result['memory_mb']:.0f}",
        figure(result["model_mb"]),
    ]


def one_line(result):
    """Line that run.py prints when a system is done."""
    if "failure" in result:
        return result["failure"]
    return "  ".join(f"{h} {c}" for h, c in zip(HEADER[1:], cells(result), strict=True))


def read_results(data_sets):
    """All figures there are: {data: {system: figures}}."""
    found = _runner.kept("peers")
    return {data: found.get(data, {}) for data in data_sets}


class Bar:
    """One requirement: what, the figure measured, whether it holds (None: not measured)."""

    def __init__(self, text, value, holds):
        self.text = text
        self.value = value
        self.holds = None if value is None else holds(value)

    def line(self):
        verdict = {True: "holds", False: "**does not hold**", None: "not measured"}[self.holds]
        return f"* {self.text}: {verdict}" + ("" if self.value is None else f", {self.value:.2f}")


def ratio(results, data, field, numerator, denominator):
    """Quotient of two systems' best figures."""
    above = best(results[data].get(numerator), field)
    below = best(results[data].get(denominator), field)
    return above / below if above and below else None


def lead(results, data, peer, cut):
    """Points of precision by which we are ahead of a peer at the cut-th cut."""
    ours, theirs = results[data].get("ppdsparse"), results[data].get(peer)
    if not ours or not theirs or "precision" not in ours or "precision" not in theirs:
        return None
    return 100 * (ours["precision"][cut] - theirs["precision"][cut])


def against_one_vs_all(results):
    faster = {"bibtex": 1.5, "cooking_fasttext": 4, "delicious": 2.5, "yso_finna_en_small": 30}
    for data, least in faster.items():
        value = ratio(results, data, "train_s", "pecos_ova", "ppdsparse")
        text = f"{data}: at least {least} times as fast in training as PECOS one-vs-all"
        yield Bar(text, value, lambda v, least=least: v >= least)
    for data in faster:
        for cut, k in enumerate(_common.CUTS):
            text = f"{data}: precision@{k} not more than 0.3 points below PECOS one-vs-all"
            yield Bar(text, lead(results, data, "pecos_ova", cut), lambda v: v >= -0.3)


def against_tree(results):
    slower = {
        "bibtex": 0.5,
        "cooking_fasttext": 0.5,
        "delicious": 0.5,
        **dict.fromkeys(_common.RARE, 1.2),
        "yso_finna_en_small": 1,
        "oewn_hypernym": 1,
        "yso_finna_en": 1,
    }
    for data, most in slower.items():
        text = f"{data}: precision@1 at least 0.5 points above PECOS XR-Linear"
        yield Bar(text, lead(results, data, "pecos_xr", 0), lambda v: v >= 0.5)
        text = f"{data}: training time over that of PECOS XR-Linear at most {most}"
        value = ratio(results, data, "train_s", "ppdsparse", "pecos_xr")
        yield Bar(text, value, lambda v, most=most: v <= most)
        times = _turns.times("fits", data, "ppdsparse", "pecos_xr")
        yield Bar(text + BY_TURNS, times and 1 / times, lambda v, most=most: v <= most)
        text = f"{data}: prediction at least 5 times as fast a row as PECOS XR-Linear"
        ours = best(results[data].get("ppdsparse"), "predict_ms")
        for field, how in {
            "predict_as_trained_ms": "as trained",
            "predict_ms": "reloaded for prediction only",
        }.items():
            theirs = best(results[data].get("pecos_xr"), field)
            value = theirs / ours if ours and theirs else None
            yield Bar(f"{text}, {how}", value, lambda v: v >= 5)
        value = _turns.times("predictions", data, "ppdsparse", "pecos_xr")
        yield Bar(f"{text}, reloaded{BY_TURNS}", value, lambda v: v >= 5)


def of_its_own(results):
    without_bars = {*_common.GENERATED} - {"yso_finna_en_rare"}
    with_bars = [data for data in results if data not in without_bars]
    for data in with_bars:
        text = f"{data}: training time over the yardstick's at the same objective at most 1.3"
        value = ratio(results, data, "train_s", "ppdsparse_y", "yardstick")
        yield Bar(text, value, lambda v: v <= 1.3)
    bibtex = results["bibtex"].get("ppdsparse", {}).get("precision")
    for cut, (k, least) in enumerate(zip(_common.CUTS, (64.4, 39.0, 28.3), strict=True)):
        value = 100 * bibtex[cut] if bibtex else None
        yield Bar(f"bibtex: precision@{k} at least {least}", value, lambda v, b=least: v >= b)
    for data, most in {"yso_finna_en_small": 400, "yso_finna_en": 1200}.items():
        value = results[data].get("ppdsparse", {}).get("memory_mb")
        text = f"{data}: peak memory of training below {most} MB"
        yield Bar(text, value, lambda v, most=most: v < most)
    for data in with_bars[2:]:
        text = f"{data}: two threads at least 1.8 times as fast as one"
        value = ratio(results, data, "train_s", "ppdsparse_1", "ppdsparse")
        yield Bar(text, value, lambda v: v >= 1.8)
        value = _turns.times("fits", data, "ppdsparse", "ppdsparse_1")
        yield Bar(text + BY_TURNS, value, lambda v: v >= 1.8)


def head(results):
    """Where the figures come from."""
    every = [r for systems in results.values() for r in systems.values()]
    versions = {}
    for r in every:
        versions |= r.get("versions", {})
    lines = [
        "# Against other libraries",
        "",
        "Generated by `make bench` (`benchmarks/run.py`); `benchmarks/README.md` says what is",
        "measured and how. Unit-length TF-IDF rows, two threads, each system in its own process",
        "after a warm-up fit, best repetition (one where a fit takes longer than the limit). Peak",
        "memory is that of training beyond the interpreter and the data, the model as it is saved.",
        "",
        "* Machine: " + "; ".join(sorted({r["machine"] for r in every})),
        "* Versions: " + ", ".join(f"{k} {v}" for k, v in sorted(versions.items())),
        "* Measured: " + ", ".join(sorted({f"{r['when']} at {r['commit']}" for r in every})),
        "* Commands: " + "; ".join(f"`{c}`" for c in sorted({r["command"] for r in every})),
    ]
    return "\n".join(lines)


def write(data_sets, titles):
    results = read_results(data_sets)
    if not any(results.values()):
        print("no figures yet: nothing to write")
        return
    titles = titles | {"yardstick": YARDSTICK_TITLE}
    parts = [head(results)]
    for data in data_sets:
        measured = {k: results[data][k] for k in titles if k in results[data]}
        rows = [[titles[k], *cells(r)] for k, r in measured.items() if "failure" not in r]
        if measured:
            parts.append(f"## {data}")
        if rows:
            parts.append(_common.table(HEADER, rows))
        failures = [f"* {titles[k]}: {r['failure']}" for k, r in measured.items() if "failure" in r]
        if failures:
            parts.append("\n".join(failures))
    for title, bars in {
        "Against PECOS one-vs-all": against_one_vs_all(results),
        "Against PECOS XR-Linear": against_tree(results),
        "On its own": of_its_own(results),
    }.items():
        parts.append(f"## Requirements: {title}")
        parts.append("\n".join(bar.line() for bar in bars))
    _runner.write_page("peers", "\n\n".join(parts))
