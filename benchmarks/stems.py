"""Stems in place of words, by language: what StemmedAnalyzer gains.

    python benchmarks/stems.py [--data NAME ...] [--report]

Rows are texts of `tldr_commands` ("what do I want to do" to a command) in one language each, told
by its commonest words, and `esco_occupations` with the names of its labels. TF-IDF of words or of
stems; one thread. Writes measurements/stems.md.
"""

import os

import _common
import _runner
import label_texts
import numpy as np
import scipy.sparse as sp

os.environ.setdefault("OMP_NUM_THREADS", "1")

# The commonest words of a language, by most of which a row is told.
COMMONEST = {
    "english": "the of in to and from with for all",
    "german": "der die das eine einen und mit von für in den zu alle",
    "french": "le la les un une des et du dans avec pour",
    "spanish": "el la los las un una de en con para y del",
    "italian": "il lo la i gli un una di del con per e da",
    "portuguese": "o a os as um uma de em com para e do da",
    "dutch": "de het een en van in met voor alle op",
    "swedish": "en ett och av i med för på alla från till",
    "russian": "в из и с на для файл файла",  # noqa: RUF001
    "indonesian": "yang dan di dari ke dengan untuk",
    "turkish": "bir ve için ile tüm",
}
SETS = {name: set(words.split()) for name, words in COMMONEST.items()}
TLDR = ("german", "french", "spanish", "italian", "portuguese", "dutch", "russian", "turkish")
DATA = ("esco_occupations", *(f"tldr_commands, {language}" for language in TLDR))
MOST_ROWS, MOST_TEST_ROWS = 25_000, 4_000


def language_of(text):
    """The language most of whose commonest words a text has; None where two have as many."""
    words = text.lower().split()
    counts = {name: sum(w in of for w in words) for name, of in SETS.items()}
    first, second = sorted(counts.values(), reverse=True)[:2]
    return max(counts, key=counts.get) if first > second else None


def rows(name):
    """Texts and labels to train on and to test on, and the texts of labels or None."""
    data, _, language = name.partition(", ")
    _, Y, _, Y_test = _common.read_raw(data)
    parts, rng = [], np.random.default_rng(0)
    for part, labels, most in (("train", Y, MOST_ROWS), ("test", Y_test, MOST_TEST_ROWS)):
        texts = label_texts.lines(data, f"{part}_texts.txt.xz")
        kept = [i for i, t in enumerate(texts) if not language or language_of(t) == language]
        kept = rng.permutation(kept)[:most]
        parts.append(([texts[i] for i in kept], sp.csr_matrix(labels)[kept]))
    return *parts, None if language else label_texts.texts_of(data)[: Y.shape[1]]


def ndcg(model, X, Y):
    """nDCG@5 of each row, per cent."""
    top = model.predict_topk(X, 5)[0]
    hit = np.asarray(Y[np.arange(len(top))[:, None], top].todense()) > 0
    gain = 1 / np.log2(np.arange(2, 7))
    ideal = np.append(1, np.cumsum(gain))[np.minimum(np.diff(Y.indptr), 5)]
    return 100 * (hit * gain).sum(axis=1) / ideal


def run(name):
    from sklearn.feature_extraction.text import TfidfVectorizer

    from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier
    from sklearn_xc.feature_extraction import StemmedAnalyzer

    (texts, Y), (asked, Y_test), names = rows(name)
    kinds = {"PPDSparse": PPDSparseClassifier, "nearest": TopKNeighborsClassifier}
    result, language = {"rows": len(texts), "test_rows": len(asked)}, name.partition(", ")[2]
    found = {}
    for form, analyzer in (("words", "word"), ("stems", StemmedAnalyzer(language or "english"))):
        words = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True)
        X = words.fit(texts + (names or [])).transform(texts)
        result[f"features, {form}"] = X.shape[1]
        more = {"label_features": words.transform(names)} if names else {}
        for kind, cls in kinds.items():
            model = cls(random_state=0, n_jobs=1).fit(X, Y, **more)
            found[kind, form] = ndcg(model, words.transform(asked), Y_test)
    for kind in kinds:
        gain = found[kind, "stems"] - found[kind, "words"]
        result[kind] = {form: float(found[kind, form].mean()) for form in ("words", "stems")}
        result[kind] |= {"gain": float(gain.mean()), "error": float(gain.std() / len(gain) ** 0.5)}
    print(name, result, flush=True)
    _runner.keep("stems", "data", name, result)


HEAD = """# Stems in place of words

{source}

nDCG@5 on test rows, by default parameters. The rows of a language are those of tldr_commands most
of whose commonest words are its own; esco_occupations is English, with names of labels. The error
is that of the mean gain over test rows. {gains}
"""


def report():
    header = ["data", "rows", "words", "stems", "system", "nDCG@5, words", "stems", "gain"]
    lines, gains = [], []
    for name, found in _runner.kept("stems").get("data", {}).items():
        for kind in ("PPDSparse", "nearest"):
            one, sizes = found[kind], [found["rows"], found["features, words"]]
            sizes = [f"{n:,}" for n in (*sizes, found["features, stems"])]
            scores = [f"{one[form]:.1f}" for form in ("words", "stems")]
            gain = f"{one['gain']:+.1f} ± {one['error']:.1f}"
            gains.append(one["gain"])
            lines.append([name, *sizes, kind, *scores, gain])
    gained = f"Stems gain in {sum(g > 0 for g in gains)} of {len(gains)} comparisons."
    text = (
        HEAD.format(source=_runner.source("stems"), gains=gained)
        + "\n"
        + _common.table(header, lines)
    )
    _runner.write_page("stems", text)


def main():
    options = _runner.parser(__doc__, data=DATA).parse_args()
    for name in () if options.report else options.data:
        run(name)
    report()


if __name__ == "__main__":
    main()
