"""
Training on a cluster
=====================

The classes of a one-vs-rest model are separate problems, so that the machines of a cluster can
solve them side by side. Here the "cluster" is two workers on this machine; on a real one only the
address of the scheduler changes.
"""

# %%
# Any Dask cluster will do.

from dask.distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)  # or Client("scheduler:8786")
print(len(client.scheduler_info()["workers"]), "workers")

# %%
# The fit is the same call as ever, in joblib's context of the cluster. Every function, class and
# method of Python's standard library is a class; the samples are passages of its documentation.

import joblib
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings

docs = load_docstrings(["stdlib"])
words = TfidfVectorizer(min_df=3, sublinear_tf=True, dtype=np.float32)
X, y = words.fit_transform(docs.data_train), docs.target_names[docs.target_train]
with joblib.parallel_config(backend="dask"):
    model = PPDSparseClassifier(random_state=0).fit(X, y)

# %%
# Nothing depends on the number of workers: the model is the same as with one thread, to the last
# bit.

alone = PPDSparseClassifier(random_state=0, n_jobs=1).fit(X, y)
print((model.coef_ != alone.coef_).nnz, "weights differ")

# %%
# Predictions
# -----------
# Samples that are spread over the cluster as a Dask array are answered where they are. Nothing is
# computed before its result is requested.

import dask.array as da

from sklearn_xc.dask import predict_topk

asked = words.transform(docs.data_test[::4]).toarray()
samples = da.from_array(asked, chunks=(100, -1))
labels, scores = predict_topk(model, samples, k=3)
print(labels)
for text, best in zip(docs.data_test[:12:4], labels[:3].compute(), strict=True):
    print(f"{text[:60]}...\n    {', '.join(best)}")

# %%
client.close()
cluster.close()
