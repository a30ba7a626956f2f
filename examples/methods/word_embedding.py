"""
Word vectors and a map of words
===============================

Words that are used alike get vectors that are alike. :class:`~sklearn_xc.LDGSWordEmbedding`
learns them from any iterable of documents, with a softmax over all words.
"""

# %%
# The text comes from the docstrings of installed packages. ``TEXT`` may name a file with a
# document a line instead.

import os
import re

from sklearn_xc.datasets import load_docstrings

if "TEXT" in os.environ:
    with open(os.environ["TEXT"], encoding="utf-8") as file:
        lines = file.readlines()
else:
    lines = load_docstrings().data_train
documents = [re.findall(r"[a-z]+", line.lower()) for line in lines]

# %%
# Fifty numbers a word, from pairs of words that stand at most eight apart.

from sklearn_xc import LDGSWordEmbedding

model = LDGSWordEmbedding(dim=50, max_iter=5, n_jobs=2, random_state=0).fit(documents)
print(f"{len(model.vocabulary_)} words, {model.n_pairs_:.0f} pairs")

# %%
# Which words are used most like a word?

for word in ("matrix", "file", "random", "error"):
    if word in model.vocabulary_:
        ((found),) = model.most_similar([word], topn=5)
        print(f"{word:>8}: {', '.join(other for other, _ in found)}")

# %%
# The map
# -------
# The most frequent words but stop words, projected on the plane by t-SNE: neighbours on the map
# are neighbours in the space. A dot whose name would cover another name has none.

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.manifold import TSNE

words = [word for word in model.vocabulary_ if len(word) > 2 and word not in ENGLISH_STOP_WORDS]
words = words[:200]
vectors = model.transform([[word] for word in words]) - model.embeddings_.mean(axis=0)
perplexity = min(15, (len(words) - 1) / 3)
tsne = TSNE(metric="cosine", init="random", perplexity=perplexity, max_iter=500, random_state=0)
places = tsne.fit_transform(vectors)

figure, axes = plt.subplots(figsize=(9, 8))
axes.scatter(*places.T, s=6, color="C0")
axes.set(xticks=[], yticks=[], title=f"{len(words)} frequent words, by their use")
figure.draw_without_rendering()
taken = []
for word, place in zip(words, places, strict=True):
    name = axes.annotate(word, place, (3, 2), textcoords="offset points", fontsize=8)
    box = name.get_window_extent().padded(4)
    if any(box.overlaps(other) for other in taken):
        name.remove()
    else:
        taken.append(box)
plt.show()
