"""
Training on a cluster
=====================

The classes of a one-vs-rest model are problems of their own, so that the machines of a cluster
can solve them side by side. Here the "cluster" is two workers on this machine; on a real one the
address of the scheduler is all that changes.
"""

# %%
# Any Dask cluster will do.

from dask.distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)  # or Client("scheduler:8786")
print(len(client.scheduler_info()["workers"]), "workers")

# %%
# The fit is the same call as ever, in joblib's context of the cluster.

import joblib

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(3000, 1000, 300, n_labels=2, random_state=0)
with joblib.parallel_config(backend="dask"):
    model = PPDSparseClassifier(random_state=0).fit(X, Y)

# %%
# Nothing depends on the number of workers: the model is that of one thread, to the last bit.

alone = PPDSparseClassifier(random_state=0, n_jobs=1).fit(X, Y)
print((model.coef_ != alone.coef_).nnz, "weights differ")

# %%
# Predictions
# -----------
# Rows that are spread over the cluster as a Dask array are answered where they are. Nothing is
# computed before it is asked for.

import dask.array as da

from sklearn_xc.dask import predict_topk

rows = da.from_array(X[:900].toarray(), chunks=(300, -1))
labels, scores = predict_topk(model, rows, k=3)
print(labels)
print(labels[:2].compute())

# %%
client.close()
cluster.close()
