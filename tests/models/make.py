"""Writes the model files of a released format, which later versions must be able to read.

    python tests/models/make.py

Run once for each format, before its release; the files are never written again. Each has beside it
rows, and the labels and scores that the version which wrote it predicted for them.
"""

from pathlib import Path

import numpy as np

from sklearn_xc import AugmentReduceClassifier, MemoirSVC, PPDSparseClassifier
from sklearn_xc.persistence._file import FORMAT

FOLDER = Path(__file__).parent
N_CLASSES, N_FEATURES = 12, 9


def main():
    rng = np.random.default_rng(0)
    X = rng.random((48, N_FEATURES), dtype=np.float32)
    X[X < 0.6] = 0
    codes = np.arange(48) % N_CLASSES
    names = np.array([f"class {i}" for i in range(N_CLASSES)])
    indicator = (codes[:, None] == np.arange(N_CLASSES)).astype(np.int8)
    state = np.random.RandomState(0)
    ppdsparse = PPDSparseClassifier(random_state=0, warm_start=True, class_weight={"class 1": 2.0})
    write("ppdsparse", ppdsparse.fit(X, names[codes].astype(object)), X)
    write("multilabel", PPDSparseClassifier(random_state=0).fit(X, indicator), X, dtype="float16")
    write("memoir", MemoirSVC(max_iter=2, random_state=state).fit(X, names[codes]), X)
    many = rng.random((1040, 12), dtype=np.float32) * (rng.random((1040, 12)) < 0.2)
    of_many = np.arange(1040) % 520  # so many that they have an order of their own
    write("many", PPDSparseClassifier(random_state=0).fit(many, of_many), many)
    write("dense", AugmentReduceClassifier(max_iter=2, random_state=0).fit(X, codes % 2 == 1), X)


def write(name, model, X, **options):
    path = FOLDER / f"v{FORMAT[0]}.{FORMAT[1]}-{name}.sxc"
    if path.exists():
        raise SystemExit(f"{path.name} exists: raise the number of the format first")
    model.save(path, **options)
    labels, scores = model.predict_topk(X[:6], k=2)
    np.savez_compressed(path.with_suffix(".npz"), X=X[:6], labels=labels.astype(str), scores=scores)


if __name__ == "__main__":
    main()
