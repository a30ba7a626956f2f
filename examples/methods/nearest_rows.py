"""
Nearest samples: labels without a single sample
===============================================

:class:`~sklearn_xc.TopKNeighborsClassifier` learns nothing: it looks up the most similar training
samples, and how similar the text of each label is. A label without a sample is found by its name.
"""

# %%
# Which object does a sentence of its documentation describe? The sentences of a fifth of the
# objects are left out of training; the model knows these objects only by their names.

import os
import re

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier
from sklearn_xc.datasets import load_docstrings

ROWS = int(os.environ.get("ROWS", 8000))

docs = load_docstrings(["stdlib"])
rng = np.random.default_rng(0)
n_objects = len(docs.target_names)
hidden = rng.random(n_objects) < 0.2
kept = np.flatnonzero(~hidden[docs.target_train])
kept = np.sort(rng.permutation(kept)[:ROWS])
passages, y = [docs.data_train[i] for i in kept], docs.target_names[docs.target_train[kept]]
asked, y_asked = docs.data_test, docs.target_names[docs.target_test]

# %%
# The words of a name, ``os.path.join`` for instance, go through the same vectorizer as the
# sentences: they are the text of the label.

texts = [re.sub(r"[._]", " ", name) for name in docs.target_names]
words = TfidfVectorizer(sublinear_tf=True).fit([*passages, *texts])
X, X_asked, T = (words.transform(part) for part in (passages, asked, texts))

rows_alone = TopKNeighborsClassifier(random_state=0).fit(X, y)
with_names = TopKNeighborsClassifier(random_state=0)
with_names.fit(X, y, label_features=T, classes=docs.target_names)
models = {
    "one-vs-rest": PPDSparseClassifier(random_state=0).fit(X, y),
    "nearest rows": rows_alone,
    "nearest rows and names": with_names,
}
print(f"{len(kept)} passages of {len(rows_alone.classes_)} objects, {hidden.sum()} without any")
print(
    f"{with_names.n_neighbors_} neighbours, s ** {with_names.power_:g}, "
    f"a name counts {with_names.text_weight_:g}"
)

# %%
# How often is the right object among the five best?

import matplotlib.pyplot as plt

known = np.isin(y_asked, y)
figure, ax = plt.subplots()
colours = ["0.4", "C1", "C0"]
for place, ((name, model), colour) in enumerate(zip(models.items(), colours, strict=True)):
    best, _ = model.predict_topk(X_asked, k=5)
    found = (best == y_asked[:, None]).any(axis=1)
    shares = [100 * found[known].mean(), 100 * found[~known].mean()]
    print(f"{name:24}{shares[0]:5.1f} % with passages {shares[1]:5.1f} % without")
    ax.bar(np.arange(2) + 0.27 * (place - 1), shares, 0.27, color=colour, label=name)
ax.set_xticks([0, 1], ["some", "none"])
ax.set_xlabel("passages of the object in training")
ax.set_ylabel("right object among five best (%)")
ax.legend()
plt.show()

# %%
# ``explain`` answers with the neighbours, and the score that each gave. Samples can have names;
# here the first words of each passage.

from sklearn_xc.inspection import ContributionsDisplay

ranked = with_names.predict_topk(X_asked, k=1)[0][:, 0] == y_asked
example = int(np.flatnonzero(ranked & known)[0])
titles = [" ".join(passage.split()[:5]) for passage in passages]
(why,) = with_names.explain(X_asked[[example]], y_asked[example], k=5, row_names=titles)
print(asked[example])
display = ContributionsDisplay.from_explanation(why)
plt.show()

# %%
# New samples and labels are known at once. Append one sample of an object that had none.

new = int(np.flatnonzero(~known)[0])
before = with_names.predict_topk(X_asked[[new]], k=1)[0]
with_names.partial_fit(X_asked[[new]], [y_asked[new]])
after = with_names.predict_topk(X_asked[[new]], k=1)[0]
print(f"{before[0, 0]} before, {after[0, 0]} after")
