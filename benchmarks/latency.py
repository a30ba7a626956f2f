"""One string through a pipeline: how long, and which step takes it.

    python benchmarks/latency.py [--data titles million]

`titles`: TF-IDF and PPDSparseClassifier fitted on yso_finna_en_small (14,303 labels). `million`: a
model of 1,000,000 labels with 30 random weights each over the same words. A string is that of the
words of a test row; one thread, and eight that call one model at once. Writes
measurements/latency.md.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import _common
import _runner
import numpy as np
import scipy.sparse as sp

ASKED, K = 1000, 5
LABELS, WEIGHTS = 1_000_000, 30


def titles():
    """A fitted pipeline, and strings."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    from sklearn_xc import PPDSparseClassifier

    X, Y, X_test, _ = _common.read_raw("yso_finna_en_small")
    X_test = X_test[np.diff(X_test.indptr) > 0]
    words = np.array([f"w{j}" for j in range(X.shape[1])])

    def texts(rows):
        return [" ".join(words[rows.indices[a:b]]) for a, b in pairwise(rows.indptr)]

    pipeline = make_pipeline(
        TfidfVectorizer(dtype=np.float32), PPDSparseClassifier(n_jobs=2, random_state=0)
    )
    pipeline.fit(texts(X), Y)
    pipeline[-1].set_params(n_jobs=1)
    return pipeline, texts(X_test[:ASKED])


def million():
    """The same with weights of a million labels in the place of those that were learnt."""
    from sklearn_xc import PPDSparseClassifier

    pipeline, texts = titles()
    vectorizer = pipeline[0]
    n = len(vectorizer.vocabulary_)
    rng = np.random.default_rng(0)
    frequency = np.exp(-vectorizer.idf_)
    words = rng.choice(n, LABELS * WEIGHTS, p=frequency / frequency.sum()).astype(np.int32)
    starts = np.arange(0, LABELS * WEIGHTS + 1, WEIGHTS)
    coef = sp.csr_array((rng.random(LABELS * WEIGHTS, np.float32), words, starts), (LABELS, n))
    coef.sum_duplicates()
    model = PPDSparseClassifier().fit(sp.eye_array(2, n, format="csr"), [0, 1])
    one = sp.csr_array(([1], ([0], [0])), shape=(2, LABELS))
    model = PPDSparseClassifier(l1=1, n_jobs=1).fit(sp.eye_array(2, n, format="csr"), one)
    model.coef_ = coef
    model.intercept_ = -rng.random(LABELS).astype(np.float32)
    for array in (coef.data, coef.indices, coef.indptr, model.intercept_):
        array.flags.writeable = False  # as after a fit: otherwise each call makes a new index
    pipeline.steps[-1] = ("classifier", model)
    return pipeline, texts


def timed(call, texts):
    """Milliseconds of each call."""
    found = []
    for text in texts:
        start = time.perf_counter()
        call([text])
        found.append(1e3 * (time.perf_counter() - start))
    return np.array(found)


def figures(made):
    from sklearn_xc import predict_topk, topk_predictor

    pipeline, texts = made()
    vectorizer, model = pipeline[0], pipeline[-1]
    model.predict_topk(vectorizer.transform(texts[:2]), K)  # builds the index
    answer, alone = topk_predictor(pipeline, K), model.topk_predictor(K)
    rows = {text: vectorizer.transform([text]) for text in texts}
    prepared = {text: model._rows(row) for text, row in rows.items()}
    steps = {
        "predict_topk": lambda t: predict_topk(pipeline, t, K),
        "topk_predictor": answer,
        "vectorizer": vectorizer.transform,
        "rows, checked by scikit-learn": lambda t: model._rows(rows[t[0]]),
        "predictor without the vectorizer": lambda t: alone(rows[t[0]]),
        "search and selection": lambda t: model._model().topk(prepared[t[0]], K, 1),
    }
    found = {}
    for name, call in steps.items():
        timed(call, texts[:100])
        ms = timed(call, texts)
        found[name] = [float(np.median(ms)), float(np.quantile(ms, 0.99))]
    expected = [answer([text])[0] for text in texts]
    with ThreadPoolExecutor(8) as pool:
        start = time.perf_counter()
        answers = list(pool.map(lambda text: answer([text])[0], texts))
        seconds = time.perf_counter() - start
    assert all((a == b).all() for a, b in zip(answers, expected, strict=True))
    return {"ms": found, "per_second": len(texts) / seconds, "labels": len(model.classes_)}


MADE = {"titles": titles, "million": million}


def write_page(found):
    names = list(next(iter(found.values()))["ms"])
    rows = [
        [step, *(f"{f['ms'][step][q]:.3f}" for f in found.values() for q in (0, 1))]
        for step in names
    ]
    header = ["ms of"]
    header += [f"{f['labels']:,} {q}" for f in found.values() for q in ("median", "99 %")]
    served = ", ".join(f"{f['per_second']:,.0f} ({f['labels']:,} labels)" for f in found.values())
    _runner.write_page(
        "latency",
        "# One string at a time",
        _runner.source("latency"),
        "A string of a test title's words through TF-IDF and `PPDSparseClassifier`, five labels, "
        "one thread, by labels of the model. `predict_topk` and `topk_predictor` are whole "
        "answers; below them the steps they are made of.",
        _common.table(header, rows),
        f"Eight threads that call one `topk_predictor` at once got the same answers, {served} a "
        "second on two processors.",
    )


def main():
    options = _runner.parser(__doc__, data=tuple(MADE)).parse_args()
    if not options.report:
        for name in options.data:
            found = figures(MADE[name])
            print(found, flush=True)
            _runner.keep("latency", "latency", name, found)
    write_page(_runner.kept("latency")["latency"])


if __name__ == "__main__":
    main()
