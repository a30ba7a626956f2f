"""Why was that predicted, and which labels is the model good at?

Trains two models to tell apart functions, classes and methods by passages of their documentation,
explains an answer word by word, and draws what the displays of sklearn_xc.inspection show.

    python examples/inspection.py
    python examples/inspection.py --sample 300 --output inspection.png
"""

import numpy as np
from _passages import parse_options, pyplot
from quickstart import smaller
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import AugmentReduceClassifier, PPDSparseClassifier, explain
from sklearn_xc.datasets import load_docstrings
from sklearn_xc.inspection import (
    ContributionsDisplay,
    LabelFrequencyDisplay,
    PrecisionAtKDisplay,
    ReliabilityDisplay,
    label_report,
)

PASSES = 20


def main():
    options = parse_options(__doc__, "inspection.png")
    docs = smaller(load_docstrings(), options.sample)
    names = docs.target_names
    train = docs.data_train, names[docs.target_train]
    test = docs.data_test, names[docs.target_test]
    passes = options.passes or PASSES
    models = {
        "PPDSparse": PPDSparseClassifier(l1=0.02, l2=0.3, n_jobs=2, random_state=0),
        "softmax": AugmentReduceClassifier(
            bound="exact", max_iter=passes, n_jobs=2, random_state=0
        ),
    }
    pipelines = {}
    for name, model in models.items():
        words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32)
        pipelines[name] = make_pipeline(words, model).fit(*train)
    sparse = pipelines["PPDSparse"]
    n_words = len(sparse[0].vocabulary_)
    print(f"N = {len(train[0])} passages, D = {n_words} words, K = {len(names)} objects")

    right = sparse.predict(test[0]) == test[1]
    passage = longest(text for text, hit in zip(test[0], right, strict=True) if hit)
    print(f"\n{passage}\n\n{explain(sparse, [passage], k=8)}")
    print("\nPassages of the test part, by the five best answers:")
    print(label_report(sparse, *test, k=5))
    save_picture(options.output, pipelines, test, passage)


def longest(passages):
    """The longest of those that fit on two lines."""
    return max((text for text in passages if len(text) <= 160), key=len, default="read bytes")


def save_picture(path, pipelines, test, passage):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    for name, pipeline in pipelines.items():
        PrecisionAtKDisplay.from_estimator(pipeline, *test, name=name, ax=axes[0, 0])
        LabelFrequencyDisplay.from_estimator(pipeline, *test, name=name, ax=axes[0, 1])
    ReliabilityDisplay.from_estimator(pipelines["softmax"], *test, name="softmax", ax=axes[1, 0])
    ContributionsDisplay.from_estimator(pipelines["PPDSparse"], [passage], k=8, ax=axes[1, 1])
    figure.savefig(path, dpi=110)
    print(f"\nThe picture is in {path}")


if __name__ == "__main__":
    main()
