"""
First steps: thousands of classes in ten lines
==============================================

Which function does a sentence describe? The data are on your machine already: the docstrings of
NumPy, SciPy, scikit-learn and the standard library, cut into passages. Every function, class and
method is a class to tell apart.
"""

# %%
# Samples are weights of words, labels are names; there is nothing else to prepare.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import PPDSparseClassifier, predict_topk
from sklearn_xc.datasets import load_docstrings

docs = load_docstrings()
model = make_pipeline(TfidfVectorizer(sublinear_tf=True), PPDSparseClassifier(random_state=0))
model.fit(docs.data_train, docs.target_names[docs.target_train])
print(f"{len(docs.data_train)} passages of {len(docs.target_names)} objects")

# %%
# ``predict`` would give the best class of every sample. With thousands of classes the five best are
# more useful, and :func:`~sklearn_xc.predict_topk` finds them without the matrix of all scores.

question = "solve a system of linear equations"
names, scores = predict_topk(model, [question], k=5)
for name, score in zip(names[0], scores[0], strict=True):
    print(f"{score:6.2f}  {name}")

# %%
# One passage of every object was held out. How often is the right object the best answer, or
# among the five best?

from sklearn_xc.metrics import top_k_accuracy

right = docs.target_names[docs.target_test]
found, _ = predict_topk(model, docs.data_test, k=5)
print(f"best answer right: {top_k_accuracy(right, found, k=1):.0%}")
print(f"among the five:    {top_k_accuracy(right, found, k=5):.0%}")

# %%
# The model is linear: every score is a sum over the words of the question, and can be shown.

import matplotlib.pyplot as plt

from sklearn_xc.inspection import ContributionsDisplay

display = ContributionsDisplay.from_estimator(model, [question], k=8)
display.ax_.set_title(f"Why {names[0, 0]}?")
plt.show()
