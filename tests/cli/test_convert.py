"""`sklearn-xc convert`: formats of other programs."""

import gzip
import json

import numpy as np
import pytest
from _cli import COLUMNS, lines_of, samples, write_csv
from scipy import sparse

from sklearn_xc import load
from sklearn_xc.datasets import load_xc


def test_texts_go_to_other_formats_and_back(run, folder):
    expected = json.loads(run("evaluate", "tagger.sxc", "more.csv", "--json")[1])
    assert run("convert", "more.csv", *COLUMNS, "--to", "jsonl", "-o", "more.jsonl")[0] == 0
    call = "convert", "more.jsonl", "--text", "text", "--labels", "labels", "--to", "csv"
    assert run(*call, "-o", "back.csv")[0] == 0
    call = "evaluate", "tagger.sxc", "back.csv", "--text", "text", "--labels", "labels", "--json"
    assert json.loads(run(*call)[1]) == expected
    assert run("convert", "more.csv", *COLUMNS, "--to", "fasttext", "-o", "more.txt")[0] == 0
    first = (folder / "more.txt").read_text().splitlines()[0].split()
    text, labels = samples(40, seed=1)[0]
    assert first == [*(f"__label__{label.replace(' ', '_')}" for label in labels), *text.split()]
    assert run("train", "more.txt", "-o", "f.sxc", "--jobs", 1)[0] == 0


def test_labels_that_hold_the_separator_come_back(run, folder):
    (folder / "q.jsonl").write_text('{"text": "a", "labels": ["Smith; John", "say \\"x\\""]}\n')
    call = ["q.jsonl", "--text", "text", "--labels", "labels"]
    assert run("convert", *call, "--to", "csv", "-o", "q.csv")[0] == 0
    call[0] = "q.csv"
    assert run("convert", *call, "--separator", ";", "--to", "jsonl", "-o", "q2.jsonl")[0] == 0
    assert (folder / "q.jsonl").read_text() == (folder / "q2.jsonl").read_text()


def test_numbers_go_to_other_programs_and_back(run, folder):
    call = "convert", "more.csv", "--model", "tagger.sxc", "--to"
    assert run(*call, "omikuji", "-o", "more.xc")[0] == 0
    X, Y = load_xc(folder / "more.xc")
    model = load(folder / "tagger.sxc")
    assert (model[0].transform([text for text, _ in samples(40, seed=1)]) != X).nnz == 0
    names = (folder / "more.xc.labels").read_text().splitlines()
    assert names == model.classes_.tolist()
    found = [[names[j] for j in row.nonzero()[1]] for row in Y]
    assert found == [labels for _, labels in samples(40, seed=1)]
    assert run("convert", "more.xc", "--format", "xc", "--to", "pecos", "-o", "pecos")[0] == 0
    assert run("convert", "pecos", "--to", "xc", "-o", "again.xc")[0] == 0
    assert (folder / "again.xc").read_text() == (folder / "more.xc").read_text()


def test_labels_that_the_model_lacks_are_counted(run, folder):
    (folder / "w.jsonl").write_text('{"t": "sea", "l": ["tag 1", "tag_1", "new"]}\n')
    call = "convert", "w.jsonl", "--text", "t", "--labels", "l", "--model", "tagger.sxc"
    code, _, errors = run(*call, "--to", "xc", "-o", "w.xc")
    assert code == 0
    assert "note: 2 labels that the model does not know are left out" in errors
    assert load_xc(folder / "w.xc")[1].nnz == 1


def test_a_linear_model_goes_to_pecos_with_its_scores(run, folder):
    assert run("convert", "tagger.sxc", "--to", "pecos", "-o", "model")[0] == 0
    W, C = (sparse.load_npz(folder / f"model/ranker/0.model/{name}.npz") for name in "WC")
    values = json.loads((folder / "model/ranker/0.model/param.json").read_text())
    model = load(folder / "tagger.sxc")
    X = model[0].transform(["soil tree", "sea", ""])
    scores = X @ W[:-1].toarray() + values["bias"] * W[-1].toarray()
    np.testing.assert_allclose(scores, model[-1].decision_function(X), atol=1e-6)
    assert (W.format, C.shape) == ("csc", (8, 1))
    assert (values["nr_labels"], values["nr_features"]) == W.T[:, :-1].shape
    assert (folder / "model/labels.txt").read_text().splitlines() == model.classes_.tolist()


@pytest.mark.parametrize("several", [True, False])
def test_a_linear_model_with_texts_of_labels_is_converted(run, folder, several):
    (folder / "texts.tsv").write_text("label\ttext\nsand\tdesert dune\n")
    cut = slice(None) if several else slice(1)
    path = write_csv(folder / "t.csv", [(text, of[cut]) for text, of in samples(60)])
    columns = COLUMNS if several else COLUMNS[:4]
    call = "train", path, *columns, "--method", "ppdsparse", "-o", "t.sxc", "--jobs", 1
    assert run(*call, "--label-texts", "texts.tsv", "--held-out", 0)[0] == 0
    model = load(folder / "t.sxc")
    code, _, errors = run("convert", "t.sxc", "--to", "pecos", "-o", "t_model")
    assert code == 0, errors
    assert (folder / "t_model/labels.txt").read_text().splitlines() == model.classes_.tolist()
    W = sparse.load_npz(folder / "t_model/ranker/0.model/W.npz")
    np.testing.assert_array_equal(W[:-1].toarray().T, model.classifier_.coef_.toarray())
    code, _, errors = run("convert", path, "--model", "t.sxc", "--to", "xc", "-o", "t.xc")
    assert code == 0, errors
    X, Y = load_xc(folder / "t.xc")
    assert (model.vectorizer_.transform([text for text, _ in samples(60)]) != X).nnz == 0
    assert [model.classes_[row.nonzero()[1]].tolist() for row in Y] == [
        of[cut] for _, of in samples(60)
    ]


def test_a_linear_model_goes_to_onnx_with_the_names_of_its_labels(run, folder):
    pytest.importorskip("onnx")
    assert run("convert", "tagger.sxc", "--to", "onnx", "-o", "model.onnx")[0] == 0
    assert (folder / "model.onnx").stat().st_size > 500
    names = (folder / "model.onnx.labels").read_text().splitlines()
    assert names == load(folder / "tagger.sxc").classes_.tolist()


@pytest.mark.parametrize("kind", ["fasttext", "omikuji", "csv"])
def test_models_are_refused_by_name(run, kind):
    code, _, errors = run("convert", "tagger.sxc", "--to", kind, "-o", "m")
    assert code == 2
    assert f"a model cannot be written for {kind}: " in errors


def test_two_labels_are_never_one_word(run, folder):
    (folder / "w.jsonl").write_text('{"text": "a", "labels": ["a b", "a_b"]}\n')
    call = "convert", "w.jsonl", "--text", "text", "--labels", "labels", "--to", "fasttext"
    code, _, errors = run(*call, "-o", "w.txt")
    assert (code, "'a_b' and 'a b' would be one label" in errors) == (2, True)


def test_halves_of_a_character_and_endings_in_capitals_come_back(run, folder):
    lines = ['{"text": "sea", "labels": ["a\\ud800"]}\n', '{"text": "rock", "labels": ["b"]}\n']
    (folder / "H.JSONL.GZ").write_bytes(gzip.compress("".join(lines * 3).encode()))
    call = ["H.JSONL.GZ", "--text", "text", "--labels", "labels"]
    assert run("convert", *call, "--to", "jsonl", "-o", "h.jsonl")[0] == 0
    assert (folder / "h.jsonl").read_text() == "".join(lines * 3)
    call = *call, "--held-out", 0, "--probabilities", "none", "-o", "h.sxc"
    assert run("train", *call)[0] == 0
    assert run("predict", "h.sxc", "-k", 1, "-o", "h2.jsonl", stdin="sea\n")[0] == 0
    (found,) = lines_of((folder / "h2.jsonl").read_text())
    assert found["labels"][0]["label"] == "a\ud800"
