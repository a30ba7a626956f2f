"""Our backend of Annif beside Annif's own of omikuji, through Annif's command line.

    python -m benchmarks.peers.annif_titles [--part train ensembles learn] [--projects NAME ...]

Titles of a library catalogue with their subjects (yso_finna_en_small), as `annif train` and
`annif eval` read them. `train`: all at once. `ensembles`: Annif's of a tree and of a matcher of
names. `learn`: nine tenths, then the rest. Annif has an environment of its own, build/annif, which
the first run makes. Writes measurements/annif.md.
"""

import json
import lzma
import os
import subprocess
import time

from benchmarks import _common, _environment, _runner

DATA = "yso_finna_en_small"
WORK = _common.BUILD / "annif"
BACKEND = _common.ROOT / "examples" / "programs" / "annif_backend.py"
PACKAGES = ["annif", "omikuji", "scikit-learn", "numpy"]
METRICS = ["F1@5", "NDCG", "NDCG@5", "Precision@1"]
BONSAI = {"cluster_balanced": "False", "cluster_k": "100", "max_depth": "3"}
# name of the project: title, its settings
PROJECTS = {
    "stack": ("LabelTextClassifier, a stack", {"backend": "sklearn_xc"}),
    "ppdsparse": ("PPDSparseClassifier", {"backend": "sklearn_xc", "method": "ppdsparse"}),
    "bonsai": ("omikuji, as Annif's wiki sets Bonsai", {"backend": "omikuji", **BONSAI}),
    "parabel": ("omikuji, defaults (Parabel)", {"backend": "omikuji"}),
    "mllm": ("MLLM", {"backend": "mllm"}),
    "mean": ("mean of Bonsai and MLLM", {"backend": "ensemble", "sources": "bonsai,mllm"}),
    "pav": ("PAV ensemble of Bonsai and MLLM", {"backend": "pav", "sources": "bonsai,mllm"}),
}
LEARNING, SOURCES, ENSEMBLES = "learning", ("bonsai", "mllm"), ("mean", "pav")
PROJECTS[LEARNING] = ("", PROJECTS["ppdsparse"][1] | {"allow_learn": "True"})


def write_files(n_titles=10**6):
    """The vocabulary, the titles and the projects, in files as Annif reads them."""
    WORK.mkdir(parents=True, exist_ok=True)
    uris = [f"http://www.yso.fi/onto/yso/{name}" for name in lines_of(DATA, "labels.txt")]
    names = dict(line.split("\t")[:2] for line in lines_of("yso_finna_en", "label_names.tsv"))
    with open(WORK / "subjects.tsv", "w", encoding="utf-8") as file:
        for uri in uris:
            name = uri.rpartition("/")[2]
            file.write(f"<{uri}>\t{names.get(name, name)}\n")
    X, Y, X_test, Y_test = _common.read_raw(DATA)
    n = min(n_titles, X.shape[0])
    nine = 9 * n // 10
    parts = {
        "train": (X[:n], Y[:n]),
        "first": (X[:nine], Y[:nine]),
        "rest": (X[nine:n], Y[nine:n]),
        "test": (X_test[:n_titles], Y_test[:n_titles]),
    }
    words = lines_of(DATA, "features.txt")
    for name, part in parts.items():
        with open(WORK / f"{name}.tsv", "w", encoding="utf-8") as file:
            file.writelines(titles(*part, words, uris))
    with open(WORK / "projects.cfg", "w", encoding="utf-8") as file:
        for name, (_, settings) in PROJECTS.items():
            common = {"name": name, "language": "en", "vocab": "yso"}
            common["analyzer"] = "snowball(english)"
            file.write(f"[{name}]\n")
            file.writelines(f"{key}={value}\n" for key, value in (common | settings).items())


def lines_of(data, name):
    with lzma.open(_common.data_folder(data) / f"{name}.xz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip()]


def titles(X, Y, words, uris):
    """A line a title: its words (their order is not in the data), and the URIs of its subjects."""
    for i in range(X.shape[0]):
        row, labels = X[[i]], Y[[i]].indices
        text = " ".join(
            " ".join([words[j]] * int(count))
            for j, count in zip(row.indices, row.data, strict=True)
        )
        yield f"{text}\t{' '.join(f'<{uris[k]}>' for k in labels)}\n"


def annif(python, *arguments):
    """Seconds and peak memory in MB of a command of Annif."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(_common.ROOT),
        "NLTK_DATA": str(_environment.NLTK_DATA),
        "OMP_NUM_THREADS": "2",
    }
    start, mb = time.perf_counter(), 0
    with open(WORK / "log.txt", "w", encoding="utf-8") as log:
        call = [python, BACKEND, *arguments]
        process = subprocess.Popen(call, cwd=WORK, env=environment, stdout=log, stderr=log)
        while process.poll() is None:
            mb = max(mb, _common.status_kb(process.pid, "VmHWM") / 1024)
            time.sleep(0.01)
    seconds = time.perf_counter() - start
    if process.returncode:
        last = (WORK / "log.txt").read_text().strip().splitlines()[-1]
        raise RuntimeError(f"annif {' '.join(arguments)}: {last}")
    return {"seconds": seconds, "mb": mb}


def evaluate(python, name):
    """Annif's own evaluation on the test titles, and what it took."""
    metrics = [option for metric in METRICS for option in ("-m", metric)]
    found = annif(python, "eval", name, "test.tsv", *metrics, "-M", "metrics.json")
    given = json.loads((WORK / "metrics.json").read_text())
    return {"eval": found} | {metric: given[metric] for metric in METRICS}


def model_mb(name):
    """Megabytes of the files that answering needs."""
    folder = WORK / "data" / "projects" / name
    files = [path for path in folder.rglob("*") if path.is_file() and "-train" not in path.name]
    return sum(path.stat().st_size for path in files) / 1e6


def measure_train(python, projects):
    for name in projects:
        found = {"train": annif(python, "train", name, "train.tsv", "-j", "2")}
        found |= {"model_mb": model_mb(name)} | evaluate(python, name)
        print(name, found, flush=True)
        _runner.keep("annif", "train", name, found)


def measure_ensembles(python, _):
    """The last tenth weighs sources of the other nine, which are trained on all titles then."""
    for source in SOURCES:
        annif(python, "train", source, "first.tsv", "-j", "2")
    weighing = annif(python, "train", "pav", "rest.tsv", "-j", "2")
    trained = [annif(python, "train", source, "train.tsv", "-j", "2") for source in SOURCES]
    for name in ENSEMBLES:
        steps = [*trained, weighing] if name == "pav" else trained
        found = {"train": {"seconds": sum(step["seconds"] for step in steps)}}
        found["train"]["mb"] = max(step["mb"] for step in steps)
        found["model_mb"] = sum(map(model_mb, [*SOURCES, name]))
        found |= evaluate(python, name)
        print(name, found, flush=True)
        _runner.keep("annif", "train", name, found)


def measure_learn(python, _):
    steps = [
        ("train on nine tenths", "train", "first.tsv", ["-j", "2"]),
        ("learn the rest", "learn", "rest.tsv", []),
        ("train on all", "train", "train.tsv", ["-j", "2"]),
    ]
    for title, command, path, options in steps:
        found = {"train": annif(python, command, LEARNING, path, *options)}
        found |= {"model_mb": model_mb(LEARNING)} | evaluate(python, LEARNING)
        print(title, found, flush=True)
        _runner.keep("annif", "learn", title, found)


PARTS = {"train": measure_train, "ensembles": measure_ensembles, "learn": measure_learn}


def row(title, found):
    return [
        title,
        *(f"{100 * found[metric]:.2f}" for metric in METRICS),
        *(f"{found[step]['seconds']:.1f}" for step in ("train", "eval")),
        *(f"{found[step]['mb']:.0f}" for step in ("train", "eval")),
        f"{found['model_mb']:.0f}",
    ]


def write_page(found):
    header = f"{' | '.join(METRICS)} | train s | eval s | train MB | eval MB | model MB"
    rows = [row(PROJECTS[name][0], f) for name, f in found.get("train", {}).items()]
    steps = [row(title, f) for title, f in found.get("learn", {}).items()]
    versions = found.get("versions", {}).get("versions", {})
    _runner.write_page(
        "annif",
        "# Annif",
        _runner.source("annif"),
        "Titles of yso_finna_en_small (47,093 to train on, 11,773 to test on, 14,383 subjects of "
        "the ontology YSO) through Annif's commands `train` and `eval`, with "
        "`examples/programs/annif_backend.py` as one backend and Annif's own omikuji as the other; "
        "the same "
        "analyzer, snowball(english), and the same TF-IDF. Metrics in per cent as Annif counts "
        "them, seconds and peak memory of the whole commands, two threads in training, one process "
        "in evaluation. One run each. The PAV ensemble is fitted on a tenth of the titles, with "
        "sources trained on the others, which are then trained on all; its seconds leave out that "
        "first training. Seconds of MLLM and of both ensembles are of a busy machine. "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ". The data are bags of words, hence no pairs of words (ngram=2).",
        "## Train",
        _common.table(f"backend | {header}", rows),
        "## Learn",
        "`allow_learn=True`: the model keeps its dual variables. The command `learn` gets the last "
        "tenth of the titles.",
        _common.table(f"step | {header}", steps),
    )


def main():
    parser = _runner.parser(__doc__, parts=tuple(PARTS))
    names = [name for name in PROJECTS if name not in (LEARNING, *ENSEMBLES)]
    parser.add_argument("--projects", nargs="+", choices=names, default=names, help="to train")
    options = parser.parse_args()
    if not options.report:
        python, reason = _environment.annif_python()
        if python is None:
            raise SystemExit(reason)
        write_files()
        annif(python, "load-vocab", "yso", "subjects.tsv", "--language", "en", "--force")
        _runner.keep("annif", "versions", "versions", _environment.versions(python, *PACKAGES))
        for part in options.part:
            PARTS[part](python, options.projects)
    write_page(_runner.kept("annif"))


if __name__ == "__main__":
    main()
