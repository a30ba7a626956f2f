"""Commands that ask a trained model: evaluate, predict, explain, info, tune, add-labels."""

import csv
import io
import json

import numpy as np
import pytest
from _cli import COLUMNS, lines_of, samples, write_csv

from sklearn_xc import load, predict_topk
from sklearn_xc.metrics import precision_at_k

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
    # what is excluded and not allowed anyway takes no place of an answer
    call = "predict", "tagger.sxc", "--only", "tag 1", "--only", "tag 2", "--exclude", "tag 3"
    assert lines_of(run(*call, stdin="soil\n")[1])[0]["labels"] == found
    output = run("predict", "tagger.sxc", "--threshold", 1.1, stdin="soil\n")[1]
    assert lines_of(output) == [{"line": 1, "labels": []}]


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


def test_a_text_file_is_lines_for_a_model_of_columns(run, folder):
    texts = [text for text, _ in samples(5, seed=1)]
    (folder / "texts.txt").write_text("\n".join([*texts, "10 20 30"]) + "\n")
    found = run("predict", "tagger.sxc", "texts.txt")
    assert found == run("predict", "tagger.sxc", "texts.txt", "--format", "lines")
    assert len(found[1].splitlines()) == 6
    code, _, errors = run("predict", "tagger.sxc", "texts.txt", "--text", "title")
    assert code != 0
    assert "--text names a column" in errors


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


def test_several_new_labels_of_a_sample_are_refused_where_samples_have_one(run, folder):
    lines = ['{"t": "sea ship", "l": ["a"]}', '{"t": "tree root", "l": ["b"]}'] * 4
    (folder / "one.jsonl").write_text("\n".join(lines))
    call = "one.jsonl", "--text", "t", "--labels", "l", "-o", "one.sxc", "--held-out", 0
    assert run("train", *call, "--probabilities", "none", "--jobs", 1)[0] == 0
    (folder / "two.jsonl").write_text("\n".join([*lines, '{"t": "rock", "l": ["a", "c"]}']))
    code, _, errors = run("add-labels", "one.sxc", "two.jsonl", "-o", "one2.sxc")
    assert (code, "two.jsonl, line 9 has several labels" in errors) == (2, True)
