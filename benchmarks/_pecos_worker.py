"""The best label of held-out rows by PECOS XR-Linear; runs in the environment of the peers.

python _pecos_worker.py FOLDER    reads X.npz, Y.npz, X_held.npz there and writes best.npy
"""

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _systems import SYSTEMS

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    X, Y, X_held = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "Y", "X_held"))
    system = SYSTEMS["pecos_xr"]
    tree = system.factory(1, folder, **system.params)
    tree.fit(*tree.inputs(X, Y))
    np.save(folder / "best.npy", tree.labels(tree.predict(X_held))[:, 0])
