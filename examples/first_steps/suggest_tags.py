"""
A tagger: from texts with tags to a file
========================================

Documents with several tags each, thousands of tags, most of them rare: train a pipeline, see how
good its suggestions are, and keep it in one file. ``tagger.py`` is the same as a program that
reads a table of your own.
"""

# %%
# The documents are passages of documentation. Their tags are the object that a passage describes
# and its modules: a passage of ``os.path.join`` has the tags ``os``, ``os.path`` and
# ``os.path.join``.

import os

from sklearn.preprocessing import MultiLabelBinarizer

from sklearn_xc.datasets import load_docstrings

PACKAGES = os.environ.get("PACKAGES", "numpy,stdlib").split(
    ","
)  # more: "numpy,scipy,sklearn,stdlib"

docs = load_docstrings(PACKAGES)


def tags_of(target):
    parts = docs.target_names[target].split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


binarizer = MultiLabelBinarizer(sparse_output=True)
Y = binarizer.fit_transform([tags_of(target) for target in docs.target_train])
Y_test = binarizer.transform([tags_of(target) for target in docs.target_test])
print(f"{Y.shape[0]} documents, {Y.shape[1]} tags, {Y.nnz / Y.shape[0]:.1f} a document")

# %%
# ``label_names`` gives the columns of the indicator their names, so that the pipeline answers
# with tags and not with numbers.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import PPDSparseClassifier, predict_topk

model = make_pipeline(
    TfidfVectorizer(sublinear_tf=True),
    PPDSparseClassifier(label_names=binarizer.classes_, n_jobs=2, random_state=0),
)
model.fit(docs.data_train, Y)

titles = ["Join path components", "Compute the median along an axis"]
tags, scores = predict_topk(model, titles, k=4)
for title, found in zip(titles, tags, strict=True):
    print(f"{title}: {', '.join(found)}")

# %%
# How many tags should be suggested? More suggestions find more of the true tags (recall), but a
# larger share of them is wrong (precision).

import matplotlib.pyplot as plt

from sklearn_xc.metrics import precision_at_k, recall_at_k

found, _ = predict_topk(model, docs.data_test, k=10)
numbers = range(1, 11)
names = {"classes": binarizer.classes_}
plt.plot(
    numbers, [precision_at_k(Y_test, found, k=k, **names) for k in numbers], "o-", label="precision"
)
plt.plot(numbers, [recall_at_k(Y_test, found, k=k, **names) for k in numbers], "s-", label="recall")
plt.xlabel("tags suggested for a document")
plt.ylabel("mean over held-out documents (share)")
plt.ylim(0, 1)
plt.legend()
plt.show()

# %%
# ``save`` writes the whole pipeline into one file, words and tags included. Nothing in it is
# executed when it is opened, and ``mmap_mode`` opens it without reading the weights.

import tempfile
from pathlib import Path

from sklearn_xc import load, save

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tagger.sxc"
    save(model, path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    loaded = load(path)

print(predict_topk(loaded, titles, k=4)[0].tolist() == tags.tolist())
