"""gensim's word2vec epoch by epoch, run by the Python of another environment.

    python _gensim_worker.py OUT.npz CORPUS.txt SYSTEM EPOCHS DIM WINDOW MIN_COUNT SUBSAMPLE THREADS

Writes the words and, after each epoch, seconds of training so far and both matrices; of
hierarchical softmax also the tree. SYSTEM is "neg5", "neg15" or "hs".
"""

import sys
import time

import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec


class Snapshots(CallbackAny2Vec):
    def __init__(self):
        self.seconds, self.U, self.V, self.started = 0.0, [], [], None
        self.times = []

    def on_epoch_begin(self, model):
        self.started = time.perf_counter()

    def on_epoch_end(self, model):
        self.seconds += time.perf_counter() - self.started
        self.times.append(self.seconds)
        self.U.append(model.wv.vectors.copy())
        self.V.append((model.syn1 if model.hs else model.syn1neg).copy())


def main():
    out, corpus, system = sys.argv[1:4]
    epochs, dim, window, min_count = map(int, sys.argv[4:8])
    subsample, threads = float(sys.argv[8]), int(sys.argv[9])
    with open(corpus) as file:
        documents = [line.split() for line in file]
    loss = {"hs": 1, "negative": 0} if system == "hs" else {"negative": int(system[3:])}
    taken = Snapshots()
    model = Word2Vec(
        documents,
        vector_size=dim,
        window=window,
        sg=1,
        sample=subsample,
        min_count=min_count,
        workers=threads,
        epochs=epochs,
        shrink_windows=False,
        seed=1,
        callbacks=[taken],
        **loss,
    )
    arrays = {
        "words": np.array(model.wv.index_to_key),
        "seconds": taken.times,
        "U": np.array(taken.U),
        "V": np.array(taken.V),
    }
    if model.hs:
        steps = [
            (row, node, code)
            for row, word in enumerate(model.wv.index_to_key)
            for node, code in zip(
                model.wv.get_vecattr(word, "point"),
                model.wv.get_vecattr(word, "code"),
                strict=True,
            )
        ]
        arrays["steps"] = np.array(steps, dtype=np.int64)
    np.savez(out, **arrays)


if __name__ == "__main__":
    main()
