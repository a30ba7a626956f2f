"""Program: from a CSV of titles and subjects to a saved tagger
============================================================

Tags a few titles after training on others, in a pipeline that is saved and loaded again::

    python examples/programs/tagger.py                # a CSV of shared data or of docstrings
    python examples/programs/tagger.py my_titles.csv  # your own: the columns title and subjects

The file has a line a title; its subjects are in the second column, separated by semicolons::

    title,subjects
    A history of lighthouses,lighthouses;navigation;maritime history

Trains on nine tenths of the lines, tests on the others, tags a few titles, saves the tagger, loads
it again as a server would, and tags the same titles.
"""

import argparse
import csv
import lzma
import os
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from sklearn_xc import PPDSparseClassifier, load, predict_topk, save
from sklearn_xc.datasets import load_docstrings, load_xc
from sklearn_xc.metrics import precision_at_k, recall_at_k

SHARED = "../shared/data"  # beside a checkout
DEEPEST = 10  # tags that the picture looks at


def pyplot():
    """matplotlib.pyplot that draws into files, or None where it is missing."""
    try:
        import matplotlib
    except ImportError:
        print("No picture: matplotlib is missing, `pip install matplotlib` brings it")
        return None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt


def main():
    options = parse_options()
    path = options.csv or make_csv(options.folder / "titles.csv", options.titles)
    titles, subjects = read_csv(path)
    names = MultiLabelBinarizer(sparse_output=True)
    Y = names.fit_transform(subjects)
    train, test = train_test_split(np.arange(len(titles)), test_size=0.1, random_state=0)

    words = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
    tagger = PPDSparseClassifier(label_names=names.classes_, n_jobs=2, random_state=0)
    model = Pipeline([("words", words), ("tagger", tagger)])
    start = time.perf_counter()
    model.fit([titles[i] for i in train], Y[train])
    seconds = time.perf_counter() - start
    n_subjects, n_words = tagger.coef_.shape
    print(f"N = {len(train)} titles, D = {n_words} words, K = {n_subjects} subjects")
    print(f"training took {seconds:.1f} s")

    unseen = [titles[i] for i in test]
    found, _ = predict_topk(model, unseen, k=min(DEEPEST, n_subjects))
    for k in (1, 3, 5):
        print(f"precision@{k} {precision_at_k(Y[test], found, k=k, classes=names.classes_):.3f}")
    print("\nTags of titles it has not seen:")
    before = tag(model, unseen[:3], show=True)

    save_tagger(options.folder, model)
    start = time.perf_counter()
    model = load(options.folder / "tagger.sxc", mmap_mode="r")
    print(f"loaded in {1e3 * (time.perf_counter() - start):.0f} ms")
    same = tag(model, unseen[:3]) == before
    print(f"The loaded tagger gives {'the same tags' if same else 'OTHER TAGS'}")
    draw(options.output, Y[test], found, names.classes_)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("csv", nargs="?", type=Path, help="titles and subjects (by default some are made)")
    add("--titles", metavar="N", type=int, default=50_000, help="at most, in the CSV that is made")
    add("--folder", type=Path, default=Path("tagger"), help="where files are written")
    add("--output", metavar="FILE", default="tagger.png", help="where to draw the picture")
    options = parser.parse_args()
    if options.titles < 100:
        parser.error("--titles must be at least 100")
    options.folder.mkdir(parents=True, exist_ok=True)
    return options


# --------------------------------------------------------------------------------------- the CSV


def read_csv(path):
    """Titles, and a list of subjects for each; lines without a subject are left out."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = {"title", "subjects"} - set(reader.fieldnames or [])
        if missing:
            raise SystemExit(f"{path} lacks the columns {sorted(missing)}")
        lines = [(line["title"], line["subjects"].split(";")) for line in reader]
    lines = [(title, [s.strip() for s in subjects if s.strip()]) for title, subjects in lines]
    lines = [line for line in lines if line[1]]
    if len(lines) < 10:
        raise SystemExit(f"{path} has {len(lines)} titles with subjects; at least 10 are needed")
    print(f"{len(lines)} titles with subjects in {path}")
    return [title for title, _ in lines], [subjects for _, subjects in lines]


def make_csv(path, n_titles):
    """A CSV of library titles if the shared data are there, else of docstrings."""
    folder = Path(os.environ.get("SKLEARN_XC_DATA", SHARED))
    source = library_titles if (folder / "yso_finna_en_small").is_dir() else docstrings
    lines = source(folder)
    lines = [line for line in lines if line[0] and line[1]]
    chosen = np.random.default_rng(0).permutation(len(lines))[:n_titles]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "subjects"])
        writer.writerows([lines[i] for i in chosen])
    return path


def library_titles(folder):
    """Titles of a library catalogue and their subjects.

    The data name the words that a title has, not their order: a "title" is its words in that of the
    alphabet. TF-IDF does not see the difference.
    """
    X, Y = load_xc(folder / "yso_finna_en_small" / "train.txt.xz")
    words = read_lines(folder / "yso_finna_en_small" / "features.txt.xz")
    ids = read_lines(folder / "yso_finna_en_small" / "labels.txt.xz")
    table = folder / "yso_finna_en" / "label_names.tsv.xz"
    terms = dict(line.split("\t")[:2] for line in read_lines(table)) if table.exists() else {}
    subjects = [terms.get(name, name).replace(";", ",") for name in ids]
    for i in range(X.shape[0]):
        of_title = X.indices[X.indptr[i] : X.indptr[i + 1]]
        of_subjects = Y.indices[Y.indptr[i] : Y.indptr[i + 1]]
        yield " ".join(words[j] for j in of_title), ";".join(subjects[j] for j in of_subjects)


def docstrings(_):
    """Passages of documentation; their subjects are the object described and what it is part of."""
    docs = load_docstrings()
    for passage, target in zip(docs.data_train, docs.target_train, strict=True):
        parts = docs.target_names[target].split(".")
        yield passage, ";".join(".".join(parts[: n + 1]) for n in range(len(parts)))


def read_lines(path):
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def save_tagger(folder, model):
    """The whole pipeline in a file, words and names of the subjects in it; nothing is executed."""
    save(model, folder / "tagger.sxc")
    save(model, folder / "tagger_float16.sxc", dtype="float16")
    print()
    for path in sorted(folder.glob("*.sxc")):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path}")


def tag(model, titles, show=False):
    """The three best subjects of each title."""
    tags, scores = predict_topk(model, titles, k=3)
    if show:
        for title, names, of_title in zip(titles, tags, scores, strict=True):
            print(f"  {title[:90]}")
            print(
                "    " + ", ".join(f"{n} ({s:.2f})" for n, s in zip(names, of_title, strict=True))
            )
    return tags.tolist()


def draw(path, Y, found, names):
    """Precision and recall against the number of tags."""
    plt = pyplot()
    if plt is None:
        return
    numbers = range(1, found.shape[1] + 1)
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for metric, label, line in ((precision_at_k, "precision", "o-"), (recall_at_k, "recall", "s-")):
        values = [metric(Y, found, k=k, classes=names) for k in numbers]
        axes.plot(numbers, values, line, label=label)
    axes.set(xlabel="number of tags", ylabel="mean over the titles held out", ylim=(0, None))
    axes.set_title("How many subjects to suggest")
    axes.set_xticks(numbers)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    print(f"The picture is in {path}")


if __name__ == "__main__":
    main()
