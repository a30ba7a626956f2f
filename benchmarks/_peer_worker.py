"""The five best labels of test rows by another system; runs in the environment of the peers.

python _peer_worker.py FOLDER SYSTEM    reads X.npz, Y.npz, X_test.npz there, writes best.npy and
                                        seconds.npy (wall and processor seconds of the fit)
"""

import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _systems import SYSTEMS

if __name__ == "__main__":
    folder, system = Path(sys.argv[1]), SYSTEMS[sys.argv[2]]
    X, Y, X_test = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "Y", "X_test"))
    made = system.factory(2, folder / "model", **system.params)
    inputs = made.inputs(X, Y)
    began = time.perf_counter(), time.process_time()
    made.fit(*inputs)
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    np.save(folder / "seconds.npy", seconds)
    np.save(folder / "best.npy", made.labels(made.predict(X_test)))
