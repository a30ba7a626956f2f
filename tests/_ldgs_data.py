"""Small data for LDGS."""

from sklearn_xc.ldgs._steps import StepSettings

SETTINGS = StepSettings(
    loss="margin",
    score="linear",
    gradient="decomposed",
    n_chunks=2,
    n_message_passes=0,
    query_size=5,
    index="exact",
    n_centroids=1,
    n_probes=1,
    tau=0.0,
    mu=1.0,
    unretrieved="exclude",
    fit_intercept=True,
    solver="sgd",
    warmup=0,
    batch_size=20,
    learning_rate=1e-3,
    decay=1.0,
    max_iter=1,
    alpha=0.0,
)
