"""`sklearn-xc train`: files of texts or numbers in, a model and its measures out."""

import json

import numpy as np
import pytest
from _cli import COLUMNS, lines_of, samples, write_csv
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import PPDSparseClassifier, load, predict_topk, save
from sklearn_xc.datasets import dump_xc, make_xc_classification
from sklearn_xc.metrics import precision_at_k
from sklearn_xc.persistence import read_notes


def test_training_measures_and_saves_a_pipeline(run, folder):
    code, output, errors = run("train", "titles.csv", *COLUMNS, "-o", "a.sxc", "--jobs", 1)
    assert code == 0
    assert "160 samples, 8 labels in titles.csv" in errors
    assert output.startswith("Held-out samples, by a model of the others:\n16 samples, 8 labels")
    assert "nDCG" in output
    assert "PSP" in output
    model, notes = load(folder / "a.sxc"), read_notes(folder / "a.sxc")
    assert [name for name, _ in model.steps] == ["words", "labels"]
    assert predict_topk(model, ["soil tree"], 1)[0].shape == (1, 1)
    assert notes["samples"] == 160
    assert notes["columns"]["text"] == ["title"]
    assert 0 < notes["held out"]["P@1"] <= 1


def test_the_same_call_gives_the_same_file(run, folder):
    for name in ("a.sxc", "b.sxc"):
        assert run("train", "titles.csv", *COLUMNS, "-o", name, "--jobs", 1)[0] == 0
    assert (folder / "a.sxc").read_bytes() == (folder / "b.sxc").read_bytes()


def test_one_label_a_sample_is_one_class_a_sample(run, folder):
    lines = [
        f'{{"name": "{text}", "brand": "x", "kind": "{labels[0]}"}}' for text, labels in samples()
    ]
    (folder / "a.jsonl").write_text("\n".join(lines))
    call = (
        "train",
        "a.jsonl",
        "--text",
        "name",
        "--text",
        "brand",
        "--labels",
        "kind",
        "-o",
        "one.sxc",
    )
    assert run(*call, "--jobs", 1, "--probabilities", "temperature")[0] == 0
    model = load(folder / "one.sxc")
    assert model[-1].label_names is None
    np.testing.assert_allclose(model.predict_proba(["sea"]).sum(), 1)


@pytest.mark.parametrize(("columns", "method"), [(COLUMNS[:4], "top_label"), (COLUMNS, "isotonic")])
def test_probabilities_suit_the_number_of_labels(run, folder, columns, method):
    found = [(text, of[: None if "--separator" in columns else 1]) for text, of in samples(160)]
    path = write_csv(folder / "p.csv", found)
    assert run("train", path, *columns, "-o", "p.sxc", "--jobs", 1, "--held-out", 0)[0] == 0
    assert load(folder / "p.sxc")[-1].calibration_.method == method


def test_probabilities_of_numbers_are_those_of_several_labels(run, folder):
    X = np.eye(4)[np.arange(160) % 4]
    dump_xc(folder / "n.xc", X, X)
    assert run("train", "n.xc", "-o", "n.sxc", "--jobs", 1, "--held-out", 0)[0] == 0
    assert load(folder / "n.sxc").calibration_.method == "isotonic"


def test_options_reach_the_model(run, folder):
    call = "train", "titles.csv", *COLUMNS, "-o", "o.sxc", "--jobs", 1, "--held-out", 0
    code, output, _ = run(
        *call,
        "--set",
        "l2=0.5*rows",
        "--set",
        "tol=0.1",
        "--ngrams",
        2,
        "--min-df",
        2,
        "--probabilities",
        "none",
    )
    assert (code, output) == (0, "")
    model = load(folder / "o.sxc")
    assert (model[-1].l2, model[-1].tol, model[-1].calibration) == ("0.5*rows", 0.1, None)
    assert (model[0].ngram_range, model[0].min_df) == ((1, 2), 2)


@pytest.mark.parametrize("method", ["neighbors", "memoir"])
def test_other_methods(run, folder, method):
    lines = ["title\ttag", *(f"{text}\t{labels[0]}" for text, labels in samples(60))]
    (folder / "t.tsv").write_text("\n".join(lines))
    call = "train", "t.tsv", "--text", "title", "--labels", "tag", "-o", "m.sxc", "--jobs", 1
    assert run(*call, "--method", method)[0] == 0
    assert len(lines_of(run("predict", "m.sxc", "-k", 2, stdin="soil\n")[1])[0]["labels"]) == 2


def test_a_separator_that_was_forgotten_is_told(run, folder):
    code, _, errors = run("train", "titles.csv", *COLUMNS[:4], "-o", "s.sxc", "--jobs", 1)
    assert code == 0
    assert "of the labels hold ';'; --separator ';' splits them" in errors


def test_texts_of_labels_make_a_stack_that_other_commands_know(run, folder):
    texts = "label\ttext\nsand\tdesert dune\ntag 1\tlight house\nsand\tsahara\n"
    (folder / "texts.tsv").write_text(texts)
    path = write_csv(folder / "many.csv", samples(200))
    call = "train", path, *COLUMNS, "--jobs", 1, "--label-texts", "texts.tsv", "-o"
    assert run(*call, "s.sxc")[0] == 0
    found = json.loads(run("info", "s.sxc", "--json")[1])
    assert found["steps"] == ["TfidfVectorizer", "TopKStackingClassifier"]
    assert (found["labels"], found["probabilities"]) == (9, True)
    model = load(folder / "s.sxc")
    assert model.label_texts_ == {"sand": ["desert dune", "sahara"], "tag 1": ["light house"]}
    assert model.classifier_.n_jobs is model.classifier.n_jobs is None
    (one,) = lines_of(run("explain", "s.sxc", "soil", "-k", 1, "--json")[1])
    assert {name for name, _ in one["parts"]} & {name for name, _ in model.classifier_.estimators_}
    shown = run("explain", "s.sxc", "soil")[1]
    assert any(f"{name}: " in shown for name, _ in one["parts"])
    assert run("evaluate", "s.sxc", path)[0] == 0


@pytest.mark.parametrize("several", [True, False])
def test_labels_join_a_model_with_texts_of_labels(run, folder, several):
    (folder / "texts.tsv").write_text("label\ttext\nsand\tdesert dune\n")
    cut = slice(None) if several else slice(1)
    path = write_csv(folder / "a.csv", [(text, of[cut]) for text, of in samples(60)])
    columns = COLUMNS if several else COLUMNS[:4]
    call = "train", path, *columns, "--method", "ppdsparse", "-o", "a.sxc", "--jobs", 1
    assert run(*call, "--label-texts", "texts.tsv", "--probabilities", "none")[0] == 0
    more = [*samples(60, seed=2), *[(f"ice {text}", ["ice"]) for text, _ in samples(20, seed=3)]]
    path = write_csv(folder / "b.csv", [(text, of[cut]) for text, of in more])
    code, _, errors = run("add-labels", "a.sxc", path, "-o", "b.sxc", "--jobs", 1)
    assert code == 0, errors
    best = lines_of(run("predict", "b.sxc", "-k", 1, stdin="ice\n")[1])
    assert best[0]["labels"][0]["label"] == "ice"


def test_label_texts_are_refused_where_they_are_not_taken(run, folder):
    dump_xc(folder / "x.txt", np.eye(4), np.eye(4))
    (folder / "texts.tsv").write_text("label\ttext\na\tb\n")
    call = "train", "x.txt", "-o", "x.sxc", "--label-texts", "texts.tsv"
    code, _, errors = run(*call)
    assert (code, "--label-texts is for files of texts" in errors) == (2, True)


def test_samples_without_labels_are_left_out_and_copies_told(run, folder):
    found = [*samples(50), *samples(50), ("nothing", [])]
    write_csv(folder / "copies.csv", found)
    code, _, errors = run("train", "copies.csv", *COLUMNS, "-o", "c.sxc", "--jobs", 1)
    assert code == 0
    assert "100 samples, 8 labels in copies.csv; 1 without labels are left out" in errors
    assert "of the held-out texts are in training too" in errors


@pytest.mark.parametrize("header", [True, False])
def test_numbers(run, folder, header):
    X, Y = make_xc_classification(300, 200, 20, n_labels=2, random_state=0)
    dump_xc(folder / "n.txt", X, Y)
    if not header:
        text = (folder / "n.txt").read_text()
        (folder / "n.txt").write_text(text.partition("\n")[2])
    (folder / "scratch").mkdir(exist_ok=True)
    call = "train", "n.txt", "-o", "n.sxc", "--jobs", 1
    assert run(*call, "--scratch", folder / "scratch")[0] == 0
    assert list((folder / "scratch").iterdir()) == []
    on_disk = (folder / "n.sxc").read_bytes()
    assert run(*call)[0] == 0
    assert (folder / "n.sxc").read_bytes() == on_disk
    code, output, _ = run("evaluate", "n.sxc", "n.txt", "--json")
    best = load(folder / "n.sxc").predict_topk(X, 5)[0]
    assert json.loads(output)["P@5"] == pytest.approx(precision_at_k(Y, best, 5))
    code, output, _ = run("predict", "n.sxc", "n.txt", "-k", 2, "--batch", 7)
    assert code == 0
    assert [line["line"] for line in lines_of(output)] == list(range(1 + header, 301 + header))
    assert [line["labels"][0]["label"] for line in lines_of(output)] == best[:, 0].tolist()


def test_features_without_a_header_are_those_of_training(run, folder):
    (folder / "from1.svm").write_text("0 1:1 3:1\n1 2:1 3:1\n" * 20)
    (folder / "few.svm").write_text("1 2:1\n")
    assert run("train", "from1.svm", "-o", "s.sxc", "--jobs", 1)[0] == 0
    found = lines_of(run("predict", "s.sxc", "few.svm", "-k", 1)[1])
    assert [one["labels"][0]["label"] for one in found] == [1]
    assert json.loads(run("evaluate", "s.sxc", "few.svm", "--json")[1])["P@1"] == 1
    for line, message in (("0 0:1", "has a feature 0"), ("0 4:1", "a feature 4, and the model 3")):
        (folder / "few.svm").write_text(f"{line}\n")
        code, _, errors = run("predict", "s.sxc", "few.svm")
        assert (code, message in errors) == (2, True)
    (folder / "h.xc").write_text("2 3 2\n0 0:1 2:1\n1 1:1 2:1\n")
    assert run("train", "h.xc", "-o", "h.sxc", "--held-out", 0, "--probabilities", "none")[0] == 0
    code, _, errors = run("predict", "h.sxc", "from1.svm")
    assert (code, "from1.svm has no header" in errors) == (2, True)
    assert "X holds texts, such as 'sea'" in run("predict", "h.sxc", stdin="sea")[2]


def test_a_model_of_lines_is_measured_on_lines(run, folder):
    lines = [f"__label__{i % 2} {'sea' if i % 2 else 'tree'} word\n" for i in range(40)]
    (folder / "lines.txt").write_text("".join(lines))
    assert run("train", "lines.txt", "-o", "lines.sxc", "--jobs", 1)[0] == 0
    assert json.loads(run("evaluate", "lines.sxc", "lines.txt", "--json")[1])["P@1"] == 1


def test_a_pipeline_of_python_answers_lines_of_one_word(run, folder):
    model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier()).fit(["sea", "tree"], [0, 1])
    save(model, folder / "python.sxc")
    (folder / "words.txt").write_text("tree\nsea\n")
    found = lines_of(run("predict", "python.sxc", "words.txt", "-k", 1)[1])
    assert [one["labels"][0]["label"] for one in found] == [1, 0]
