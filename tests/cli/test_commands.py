"""The commands of the command line: files in, files and lines out."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import sklearn_xc
from sklearn_xc import load, predict_topk
from sklearn_xc.cli import main
from sklearn_xc.cli._train import METHODS
from sklearn_xc.datasets import dump_xc, load_xc, make_xc_classification
from sklearn_xc.metrics import precision_at_k
from sklearn_xc.persistence import read_notes

NAMES = "sea ship light house rock tower coast lamp soil tree leaf root rain river map road"
WORDS = re.findall(r"\w+", NAMES)
COLUMNS = ["--text", "title", "--labels", "tags", "--separator", ";"]


def samples(n=160, seed=0):
    """Texts and their labels, each of which goes with two words."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n):
        labels = sorted({f"tag {i}" for i in rng.integers(8, size=rng.integers(1, 4))})
        words = [WORDS[2 * int(label[4:]) + rng.integers(2)] for label in labels]
        found.append((" ".join([*words, *rng.choice(WORDS, 2)]), labels))
    return found


def write_csv(path, found):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "tags"])
        writer.writerows((text, ";".join(labels)) for text, labels in found)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with titles.csv, more.csv and tagger.sxc, which is trained on the first."""
    folder = tmp_path_factory.mktemp("cli")
    path = write_csv(folder / "titles.csv", samples())
    write_csv(folder / "more.csv", samples(40, seed=1))
    call = ["train", path, *COLUMNS, "-o", str(folder / "tagger.sxc"), "--jobs", "1"]
    assert main(call) == 0
    return folder


@pytest.fixture
def run(capsys, folder):
    """A function that runs a command in the folder, and returns code, output and errors."""

    def call(*arguments, stdin=None):
        before, given = os.getcwd(), sys.stdin
        os.chdir(folder)
        if stdin is not None:
            sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        try:
            code = main(list(map(str, arguments)))
        finally:
            os.chdir(before)
            sys.stdin = given
        return code, *capsys.readouterr()

    return call


def lines_of(output):
    return [json.loads(line) for line in output.splitlines()]


# ---------------------------------------------------------------------------------------- train


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


TAKE_TEXTS = [
    name for name, cls in METHODS.items() if "label_features" in signature(cls.fit).parameters
]


@pytest.mark.parametrize("method", TAKE_TEXTS)
def test_labels_without_samples_are_found_by_their_texts(run, folder, method):
    (folder / "texts.tsv").write_text(
        "label\ttext\nsand\tdesert dune\ntag 1\tlight house\nsand\tsahara\n"
    )
    found = [
        (f"{text} desert dune" if i < 3 else text, labels)
        for i, (text, labels) in enumerate(samples(60))
    ]
    for name, rows in (
        ("two.csv", found),
        ("one.csv", [(text, labels[:1]) for text, labels in found]),
    ):
        path = write_csv(folder / name, rows)
        columns = COLUMNS if name == "two.csv" else COLUMNS[:4]
        call = "train", path, *columns, "-o", "l.sxc", "--jobs", 1, "--method", method
        if method == "memoir" and name == "two.csv":
            continue
        assert run(*call, "--label-texts", "texts.tsv", "--probabilities", "none")[0] == 0
        best = lines_of(run("predict", "l.sxc", "-k", 1, stdin="a dune of the desert\n")[1])
        assert best[0]["labels"][0]["label"] == "sand"


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
    if header:
        code, output, _ = run("evaluate", "n.sxc", "n.txt", "--json")
        best = load(folder / "n.sxc").predict_topk(X, 5)[0]
        assert json.loads(output)["P@5"] == pytest.approx(precision_at_k(Y, best, 5))
        code, output, _ = run("predict", "n.sxc", "n.txt", "-k", 2, "--batch", 7)
        assert code == 0
        assert [line["line"] for line in lines_of(output)] == list(range(2, 302))
        assert [line["labels"][0]["label"] for line in lines_of(output)] == best[:, 0].tolist()


# ------------------------------------------------------------------------------------- evaluate


def test_measures_are_those_of_the_metrics(run, folder):
    code, output, _ = run("evaluate", "tagger.sxc", "more.csv", "--json")
    found, truth = json.loads(output), [labels for _, labels in samples(40, seed=1)]
    best = predict_topk(load(folder / "tagger.sxc"), [text for text, _ in samples(40, seed=1)], 5)[
        0
    ]
    assert code == 0
    assert found["P@3"] == pytest.approx(precision_at_k(truth, best, 3))
    assert sum(line["labels"] for line in found["by frequency"]) == 8
    text = run("evaluate", "tagger.sxc", "more.csv")[1]
    assert "training samples of a label" in text
    assert f"{found['P@1']:.3f}" in text


def test_labels_that_training_lacks_count_as_true(run, folder):
    more = [(text, [f"new {label}" for label in labels]) for text, labels in samples(20, seed=1)]
    write_csv(folder / "new.csv", more)
    found = json.loads(run("evaluate", "tagger.sxc", "new.csv", "--json")[1])
    assert found["P@1"] == found["PSP@5"] == 0
    assert found["by frequency"][-1]["training samples"] == [0, 0]


def test_f1_is_of_labels_from_a_threshold_on_or_of_the_best_of_one(run, folder):
    from sklearn.metrics import f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    model, found = load(folder / "tagger.sxc"), samples(40, seed=1)
    best, p = predict_topk(model, [text for text, _ in found], 8, scores="proba")
    sets = [row[values >= 0.3].tolist() for row, values in zip(best, p, strict=True)]
    names = MultiLabelBinarizer().fit([labels for _, labels in found])
    both = names.transform([labels for _, labels in found]), names.transform(sets)
    output = run("evaluate", "tagger.sxc", "more.csv", "--threshold", 0.3, "--json")[1]
    for average in ("micro", "macro"):
        expected = f1_score(*both, average=average)
        assert json.loads(output)[f"{average}-F1"] == pytest.approx(expected)
    assert "micro-F1" not in run("evaluate", "tagger.sxc", "more.csv", "--json")[1]
    write_csv(folder / "single.csv", [(text, labels[:1]) for text, labels in found])
    single = json.loads(run("evaluate", "tagger.sxc", "single.csv", "--json")[1])
    assert single["micro-F1"] == pytest.approx(single["P@1"])


def test_other_columns_than_in_training(run, folder):
    text = (folder / "more.csv").read_text().replace("title,tags", "a,b").replace(";", "|")
    (folder / "other.csv").write_text(text)
    same = run("evaluate", "tagger.sxc", "more.csv", "--json")[1]
    call = "evaluate", "tagger.sxc", "other.csv", "--text", "a", "--labels", "b", "--separator", "|"
    assert run(*call, "--json")[1] == same


# -------------------------------------------------------------------------------------- predict


def test_answers_are_those_of_the_pipeline_whatever_the_batch(run, folder):
    model, texts = load(folder / "tagger.sxc"), [text for text, _ in samples(40, seed=1)]
    names, scores = predict_topk(model, texts, 3, scores="proba")
    for batch in (1, 7, 1000):
        code, output, _ = run("predict", "tagger.sxc", "more.csv", "-k", 3, "--batch", batch)
        assert code == 0
        found = [
            [(one["label"], one["probability"]) for one in line["labels"]]
            for line in lines_of(output)
        ]
        assert [[name for name, _ in row] for row in found] == names.tolist()
        np.testing.assert_allclose([[p for _, p in row] for row in found], scores, atol=1e-6)


def test_lines_of_the_standard_input_and_csv_out(run, folder):
    code, output, _ = run("predict", "tagger.sxc", "-k", 2, "--to", "csv", stdin="soil\r\n\nsea")
    rows = list(csv.reader(io.StringIO(output)))
    assert code == 0
    assert rows[0] == ["line", "rank", "label", "probability"]
    assert [row[:2] for row in rows[1:]] == [[n, r] for n in "123" for r in "12"]


def test_allowed_excluded_and_threshold(run, folder):
    best = lines_of(run("predict", "tagger.sxc", stdin="soil\n")[1])[0]["labels"][0]["label"]
    found = lines_of(run("predict", "tagger.sxc", "--exclude", best, stdin="soil\n")[1])[0][
        "labels"
    ]
    assert best not in [one["label"] for one in found]
    call = "predict", "tagger.sxc", "--only", "tag 1", "--only", "tag 2", "-o", "p.jsonl"
    assert run(*call, stdin="soil\n")[:2] == (0, "")
    found = lines_of((folder / "p.jsonl").read_text())[0]["labels"]
    assert {one["label"] for one in found} == {"tag 1", "tag 2"}
    output = run("predict", "tagger.sxc", "--threshold", 1.1, stdin="soil\n")[1]
    assert lines_of(output) == [{"line": 1, "labels": []}]


def test_predict_holds_few_rows_at_a_time(run, monkeypatch):
    from sklearn_xc.cli import _predict

    sizes, before = [], _predict.predict_topk

    def watched(model, X, *arguments, **options):
        sizes.append(len(X))
        return before(model, X, *arguments, **options)

    monkeypatch.setattr(_predict, "predict_topk", watched)
    run("predict", "tagger.sxc", "--batch", 10, stdin="soil\n" * 95)
    assert sizes == [10] * 9 + [5]


# ---------------------------------------------------------------------------------- other commands


def test_explanations(run, folder):
    code, output, _ = run("explain", "tagger.sxc", "soil tree", "--label", "tag 4")
    assert code == 0
    assert output.startswith("label 'tag 4': score")
    assert "soil" in output
    (found,) = lines_of(run("explain", "tagger.sxc", "soil", "-k", 1, "--json")[1])
    assert found["words"][0][0] == "soil"
    total = sum(part for _, part in found["words"]) + found["rest"] + found["intercept"]
    assert found["score"] == pytest.approx(total)


def test_info(run):
    code, output, _ = run("info", "tagger.sxc", "--json")
    found = json.loads(output)
    assert code == 0
    assert (found["labels"], found["samples"], found["probabilities"]) == (8, 160, True)
    assert found["parameters"]["calibration"] == "isotonic"
    assert "Held-out samples" in run("info", "tagger.sxc")[1]


def test_tune_prints_options_of_train(run, folder):
    code, output, errors = run("tune", "titles.csv", *COLUMNS, "--jobs", 1)
    assert code == 0
    assert len(output.splitlines()) == 5
    assert "the best options of `sklearn-xc train`" in errors
    tried = json.loads(run("tune", "titles.csv", *COLUMNS, "--jobs", 1, "--json")[1])
    assert tried == sorted(tried, key=lambda one: -one["nDCG"])
    options = tried[-1]["options"].split()
    assert run("train", "titles.csv", *COLUMNS, "-o", "t.sxc", "--jobs", 1, *options)[0] == 0


def test_new_labels_join(run, folder):
    found = samples(60, seed=2) + [(f"desert {text}", ["sand"]) for text, _ in samples(20, seed=3)]
    found += [("light desert", ["sand"])] * 3
    write_csv(folder / "sand.csv", found)
    code, _, errors = run("add-labels", "tagger.sxc", "sand.csv", "-o", "sand.sxc", "--jobs", 1)
    assert code == 0, errors
    assert "scores and no probabilities" in errors
    before, after = load(folder / "tagger.sxc"), load(folder / "sand.sxc")
    assert after.classes_.tolist() == [*before.classes_.tolist(), "sand"]
    np.testing.assert_array_equal(before[-1].coef_.toarray(), after[-1].coef_[:8].toarray())
    code, _, errors = run("add-labels", "tagger.sxc", "more.csv", "-o", "sand.sxc")
    assert (code, "has no label that the model lacks" in errors) == (2, True)


# ------------------------------------------------------------------------------------ convert


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


@pytest.mark.parametrize("kind", ["onnx", "fasttext", "omikuji", "csv"])
def test_models_are_refused_by_name(run, kind):
    code, _, errors = run("convert", "tagger.sxc", "--to", kind, "-o", "m")
    assert code == 2
    assert f"a model cannot be written for {kind}: " in errors


def test_two_labels_are_never_one_word(run, folder):
    (folder / "w.jsonl").write_text('{"text": "a", "labels": ["a b", "a_b"]}\n')
    call = "convert", "w.jsonl", "--text", "text", "--labels", "labels", "--to", "fasttext"
    code, _, errors = run(*call, "-o", "w.txt")
    assert (code, "'a_b' and 'a b' would be one label" in errors) == (2, True)


# ------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "no.csv", *COLUMNS, "-o", "x"], "train: error: .*No such file.*no.csv"),
        (["train", "titles.csv", "-o", "x"], "--text and --labels are needed"),
        (["train", "titles.csv", "--text", "t", "--labels", "tags", "-o", "x"], "no column 't'"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--held-out", "2"], "--held-out must be"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--set", "l3=1"], "--set l3=1: PPDSparse"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--set", "l1=-1"], "l1"),
        (["train", "titles.csv", *COLUMNS, "-o", "x", "--method", "memoir"], "is for one label"),
        (["train", "titles.csv", *COLUMNS, "-o", "no/x", "--held-out", "0"], "no does not exist"),
        (["train", "empty.csv", *COLUMNS, "-o", "x"], "empty.csv has no samples with labels"),
        (["evaluate", "titles.csv", "more.csv"], "titles.csv is not a model"),
        (["evaluate", "tagger.sxc", "empty.csv"], "there are no samples with labels"),
        (["predict", "tagger.sxc", "bad.csv"], "bad.csv, line 2 has 1 fields"),
        (["predict", "tagger.sxc", "-k", "0"], "-k and --batch must be 1 at least"),
        (["predict", "tagger.sxc", "more.csv", "--only", "none"], "'none', which is not in"),
        (["explain", "tagger.sxc", "sea", "--label", "none"], "'none', which is not in"),
        (["train", "-", "--format", "csv", *COLUMNS, "-o", "x"], "reads its file several times"),
        (["tune", "titles.csv", *COLUMNS, "--held-out", "0"], "--held-out must be above 0"),
        (["convert", "more.csv", *COLUMNS, "--to", "xc", "-o", "x"], "--model is needed"),
        (["info", "."], "is no regular file"),
    ],
)
def test_errors_are_one_line_and_code_2(run, folder, arguments, message):
    (folder / "empty.csv").write_text("title,tags\n")
    (folder / "bad.csv").write_text("title,tags\none\n")
    code, _, errors = run(*arguments)
    assert code == 2
    last = errors.splitlines()[-1]
    assert last.startswith(f"sklearn-xc {arguments[0]}: error: ")
    assert re.search(message, last), last


def test_a_reader_that_goes_away_is_no_error(folder):
    call = [sys.executable, "-m", "sklearn_xc", "predict", "tagger.sxc", "--batch", "10"]
    root = str(Path(sklearn_xc.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen(
        call,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        _, errors = process.communicate(b"soil\n" * 20_000, timeout=60)
    assert (process.returncode, errors) == (0, b"")


def test_the_shell_completes_where_argcomplete_is_installed(monkeypatch, capsys):
    seen = []
    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=seen.append))
    with pytest.raises(SystemExit):
        main(["--version"])
    assert seen[0].prog == "sklearn-xc"
    assert capsys.readouterr().out == f"sklearn-xc {sklearn_xc.__version__}\n"


@pytest.mark.parametrize("command", ["train", "evaluate", "predict", "explain", "tune"])
def test_help_has_examples(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"\n  sklearn-xc {command} " in capsys.readouterr().out.replace('echo "a', "")
