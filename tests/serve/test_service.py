"""The service of `sklearn_xc.serve`: answers, limits, errors."""

import asyncio
import functools
import re
import socket
from contextlib import suppress
from urllib.parse import urlencode

import numpy as np
import pytest
from _service import asked, running
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_xc import (
    LabelTextClassifier,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    explain,
    predict_topk,
    save,
)
from sklearn_xc.feature_extraction import StemmedAnalyzer

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from sklearn_xc.serve import make_app, serve
from sklearn_xc.serve._answers import Answers
from sklearn_xc.serve._requests import LIMITS, Question, RefusedError, many, one, one_of_address

TEXTS = [f"word{i % 7} word{i % 11} and word{i % 13}" for i in range(120)]
NAMES = np.array([f"label {i % 7}" for i in range(120)])


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0)).fit(TEXTS, NAMES)


@pytest.fixture(scope="module")
def saved(pipeline, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.sxc"
    save(pipeline, path)
    return path


@pytest.fixture(scope="module")
def ask(saved):
    """A running service, as a function of method, path and body."""
    with running(saved) as port:
        yield lambda *question, **headers: asked(port, *question, **headers)


def test_answers_are_those_of_the_pipeline(ask, pipeline):
    assert ask("GET", "/health") == (200, {"status": "ok", "labels": 7})
    status, found = ask("POST", "/topk", {"texts": TEXTS[:9], "k": 3})
    labels, scores = predict_topk(pipeline, TEXTS[:9], 3)
    assert status == 200
    assert found["labels"] == labels.tolist()
    np.testing.assert_allclose(found["scores"], scores, atol=1e-6)
    asked = {"texts": TEXTS[:2], "k": 2, "labels": ["label 1", "label 2", "label 3"]}
    status, found = ask("POST", "/topk", {**asked, "exclude": ["label 2"]})
    assert status == 200
    assert {name for row in found["labels"] for name in row} == {"label 1", "label 3"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\xff{", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (["a"], "the body must be an object"),
        ({"texts": ["a"], "n": 3}, "the body must be an object"),
        ({}, "texts must be a list"),
        ({"texts": "a"}, "texts must be a list"),
        ({"texts": []}, "texts must be a list of 1 to 100 strings"),
        ({"texts": ["a"] * 101}, "texts must be a list of 1 to 100 strings"),
        ({"texts": [3]}, "texts must be a list"),
        ({"texts": ["a" * 20_001]}, "20000 characters at most"),
        ({"texts": ["a"], "k": 8}, "k must be an integer from 1 to 7"),
        ({"texts": ["a"], "k": True}, "k must be an integer"),
        ({"texts": ["a"], "labels": "label 1"}, "labels must be a list of at most 10000 strings"),
        (
            {"texts": ["a"], "exclude": ["a"] * 10_001},
            "exclude must be a list of at most 10000",
        ),
        (
            {"texts": ["a"], "labels": ["a" * 1001]},
            "labels holds a label of more than 1000",
        ),
        ({"texts": ["a"], "labels": ["nobody"]}, "labels names 'nobody', which is not in classes_"),
        ({"texts": ["a"], "k": 2, "labels": ["label 1"]}, "k=2 labels are requested"),
    ],
)
def test_what_is_wrong_is_said(ask, body, message):
    status, found = ask("POST", "/topk", body)
    assert status == 400
    assert message in found["error"]
    assert ask("GET", "/health")[0] == 200


def test_long_bodies_and_other_paths(ask):
    status, found = ask("POST", "/topk", {"texts": ["a"], "k": "1" * 2**20})
    assert (status, found["error"]) == (413, "the body is longer than 1048576 bytes")
    assert ask("GET", "/topk")[0] == 405
    assert ask("GET", "/nothing")[0] == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "text must be a string"),
        ({"text": ["a"]}, "text must be a string"),
        ({"text": "a", "texts": []}, "the body must be an object of text and"),
        (b'{"text": "\\ud800"}', "the body is not JSON"),
        ({"text": "a" * 20_001}, "20000 characters at most"),
        ({"text": "a", "k": 21}, "k must be an integer from 1 to 7"),
        ({"text": "a", "threshold": "x"}, "threshold must be a finite number"),
        (b'{"text": "a", "threshold": NaN}', "threshold must be a finite number"),
        ({"text": "a", "labels": ["label 1"], "exclude": ["label 1"]}, "no label is left"),
        ({"text": "a", "labels": ["nobody"]}, "labels names 'nobody', which is not in classes_"),
    ],
)
def test_what_is_wrong_with_one_text_is_said(ask, body, message):
    status, found = ask("POST", "/answer", body)
    assert status == 400
    assert message in found["error"]


def test_an_answer_has_the_words_that_made_each_score(ask, pipeline):
    text = "Word3, word4 <b>WORD3</b>; nothing"
    status, found = ask("POST", "/answer", {"text": text, "k": 2})
    assert (status, found["scores"]) == (200, "score")
    labels, scores = predict_topk(pipeline, [text], 2)
    assert [line["label"] for line in found["labels"]] == labels[0].tolist()
    np.testing.assert_allclose([line["score"] for line in found["labels"]], scores[0], atol=1e-6)
    for line, item in zip(found["labels"], explain(pipeline, [text], labels, None), strict=True):
        parts = dict(zip(item.feature_names.tolist(), item.contributions, strict=True))
        np.testing.assert_allclose(
            [part for _, part in line["words"]], list(parts.values()), atol=1e-6
        )
        assert "".join(piece for piece, _ in line["text"]) == text
        marked = {piece: part for piece, part in line["text"] if part}
        assert marked.keys() <= {"Word3", "word4", "WORD3"}
        assert marked["Word3"] == marked["WORD3"] == pytest.approx(parts["word3"], abs=1e-6)


def test_words_are_marked_where_a_stem_made_the_score(tmp_path):
    pytest.importorskip("snowballstemmer")
    texts = ["lighthouses of the north", "trees in the city"] * 20
    union = FeatureUnion(
        [
            ("stems", TfidfVectorizer(analyzer=StemmedAnalyzer())),
            ("pieces", TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4))),
        ]
    )
    model = make_pipeline(union, PPDSparseClassifier(random_state=0)).fit(texts, texts)
    save(model, tmp_path / "model.sxc")
    answer = Answers(str(tmp_path / "model.sxc")).answer(Question(["A Lighthouse, a tree"], 1, {}))
    (line,) = answer["labels"]
    assert line["label"] == texts[0]
    assert "".join(piece for piece, _ in line["text"]) == "A Lighthouse, a tree"
    found = [(piece, part) for piece, part in line["text"] if part > 0]
    assert "".join(piece for piece, _ in found).startswith("Lighthouse")
    stem = dict(line["words"])["stems__lighthous"]
    assert min(part for piece, part in found if piece in "Lighthouse") > 0.99 * stem > 0


def test_an_address_gives_the_same_answer(ask):
    question = {"text": "word3 & wörd4 + ☃", "k": 3, "exclude": ["label 1", "label 2"]}
    query = urlencode({**question, "threshold": -5}, doseq=True)
    assert ask("GET", f"/answer?{query}") == ask("POST", "/answer", {**question, "threshold": -5})
    for query, message in [
        ("", "text must be a string"),
        ("text=a&k=x", "k must be a number"),
        ("text=a&text=b", "text must be given once"),
        ("text=%ff", "the address cannot be read"),
        ("text=a&nonsense=1", "the body must be an object"),
    ]:
        status, found = ask("GET", f"/answer?{query}")
        assert (status, message in found["error"]) == (400, True), found


def test_labels_below_a_threshold_and_excluded_ones_are_left_out(ask):
    asked_for = {"text": "word3", "k": 7}
    scores = [line["score"] for line in ask("POST", "/answer", asked_for)[1]["labels"]]
    found = ask("POST", "/answer", {**asked_for, "threshold": scores[2]})[1]["labels"]
    assert [line["score"] for line in found] == scores[:3]
    found = ask("POST", "/answer", {**asked_for, "exclude": ["label 3", "other"]})[1]["labels"]
    assert len(found) == 6
    assert ask("POST", "/answer", {**asked_for, "threshold": 99})[1]["labels"] == []


def test_labels_are_suggested(ask):
    assert ask("GET", "/labels?start=BEL%203") == (200, ["label 3"])
    assert len(ask("GET", "/labels")[1]) == 7
    assert ask("GET", "/labels?start=" + "x" * 5000) == (200, [])


def test_other_names_of_the_server_are_refused(ask):
    assert ask("GET", "/health", Host="localhost:80")[0] == 200
    assert ask("GET", "/health", Host="elsewhere.example")[0] == 421
    assert ask("GET", "/", Host="127.0.0.1.elsewhere.example:8000")[0] == 421


def called(path, receive, app=None, host=None):
    """The status, headers and body that the application sends, called without a server."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/topk",
        "query_string": b"",
        "headers": [(b"host", host)] if host else [],
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        "app": None,
    }
    asyncio.run((app or make_app(path))(scope, receive, send))
    body = b"".join(part.get("body", b"") for part in sent)
    return sent[0]["status"], dict(sent[0]["headers"]), body


def test_a_body_that_does_not_come(saved, monkeypatch):
    monkeypatch.setitem(LIMITS, "seconds", 0.05)

    async def receive():
        await asyncio.sleep(60)

    status, _, text = called(saved, receive)
    assert status == 408
    assert b"did not come within 0.05 seconds" in text


def test_a_client_that_goes_away_is_no_error(saved):
    parts = iter(
        [
            {"type": "http.request", "body": b'{"texts"', "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive():
        return next(parts)

    status, headers, body = called(saved, receive)
    assert (status, body) == (400, b"")
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert b"default-src 'none'" in headers[b"content-security-policy"]


def test_hosts_are_those_given(saved):
    async def receive():
        return {"type": "http.request", "body": b'{"texts": ["word3"]}'}

    app = make_app(saved, hosts=["Tags.example.org"])
    assert called(saved, receive, app, b"tags.example.org:443")[0] == 200
    assert called(saved, receive, app, b"localhost")[0] == 421
    assert called(saved, receive, None, b"anything")[0] == 200


def test_neighbours_are_told(tmp_path):
    model = make_pipeline(TfidfVectorizer(), TopKNeighborsClassifier(random_state=0))
    save(model.fit(TEXTS, NAMES), tmp_path / "model")
    answers = Answers(str(tmp_path / "model"))
    (line,) = answers.answer(Question(["word3 word4"], 1, {}))["labels"]
    assert all(name.startswith("row ") and part > 0 for name, part in line["neighbours"])
    assert "words" not in line


def test_a_wrapper_around_a_pipeline_has_probabilities_and_marks(tmp_path):
    inner = make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0))
    save(TopKCalibratedClassifier(inner, cv=0.2).fit(TEXTS, NAMES), tmp_path / "model")
    answers = Answers(str(tmp_path / "model"))
    (line,) = answers.answer(Question(["Word3"], 1, {}))["labels"]
    assert 0 < line["probability"] < 1
    assert line["text"] == [["Word3", line["words"][0][1]]]


def test_two_processes_serve_one_file(saved):
    with running(saved, "--workers", "2") as port:
        assert asked(port, "POST", "/topk", {"texts": ["word3"], "k": 1})[0] == 200


def test_the_address_is_printed_once_it_answers(saved, tmp_path, monkeypatch, capsys):
    """Not before a file that is no model or a port in use ends the command."""
    uvicorn, served = pytest.importorskip("uvicorn"), []
    for name in ("SKLEARN_XC_MODEL", "SKLEARN_XC_HOSTS"):  # which `serve` sets, for its workers
        monkeypatch.setenv(name, "")
    run = functools.wraps(uvicorn.run)(lambda *app, **options: served.append(options))
    monkeypatch.setattr(uvicorn, "run", run)
    PPDSparseClassifier(random_state=0).fit(np.eye(4), list("abab")).save(tmp_path / "numbers")
    with pytest.raises(ValueError, match="does not answer for texts: save a pipeline"):
        serve(tmp_path / "numbers")
    with socket.create_server(("127.0.0.1", 0)) as one:
        with pytest.raises(OSError, match="in use"):
            serve(saved, port=one.getsockname()[1])
        assert capsys.readouterr().err == ""
        serve(saved, port=0)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ \(Ctrl-C ends\)\n", capsys.readouterr().err)
    assert len(served) == 1
    # Workers that import the package on a busy machine are not ended before they are done.
    assert served[0].get("timeout_worker_healthcheck", 300) == 300


def test_integers_are_labels_too(tmp_path):
    model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0))
    save(model.fit(TEXTS, np.arange(120) % 7), tmp_path / "model")
    answers = Answers(str(tmp_path / "model"))
    found = answers.answer(one(b'{"text": "word3", "labels": ["3", "4"]}', 7))
    assert {line["label"] for line in found["labels"]} == {3, 4}
    with pytest.raises(RefusedError, match="labels of this model are integers") as refused:
        answers.answer(one(b'{"text": "word3", "labels": ["x"]}', 7))
    assert refused.value.status == 400


def test_random_bodies_are_answered_or_refused():
    rng = np.random.default_rng(0)
    letters = np.frombuffer(
        b'{}[]",:0123456789.-eE\\ntextsklabelexcludrhoNaInfity \xff\x00', np.uint8
    )
    whole = b'{"texts": ["a", "b"], "k": 3, "labels": ["c"], "exclude": ["d"]}'
    for _ in range(3000):
        body = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(len(body), size=rng.integers(1, 6))
        body[places] = rng.choice(letters, len(places))
        text = body.tobytes()[: rng.integers(len(body) + 1) if rng.random() < 0.3 else None]
        with suppress(RefusedError):
            question = many(text, 50)
            assert 1 <= question.k <= 50
            assert all(isinstance(one, str) for one in question.texts)
        with suppress(RefusedError):
            one_of_address(text.decode("latin-1"), 50)


def test_a_model_of_texts_of_labels_answers_with_names(tmp_path):
    y = [[name, "even"] if i % 2 == 0 else [name] for i, name in enumerate(NAMES.tolist())]
    texts = {f"label {i}": f"word{i}" for i in range(7)}
    model = LabelTextClassifier(label_texts={**texts, "never": "unheard"}).fit(TEXTS, y)
    model.save(tmp_path / "model.sxc")
    answers = Answers(str(tmp_path / "model.sxc"))
    assert answers.about()["model"] == "TopKStackingClassifier"
    assert set(answers.topk(Question(["word3"], 2, {}))["labels"][0]) == {"label 3", "even"}
    found = answers.answer(Question(["word3 word3"], 2, only={"exclude": ["even"]}))
    first = found["labels"][0]
    assert (first["label"], found["scores"]) == ("label 3", "probability")
    parts = {name for name, _ in first["parts"]}
    assert parts & {name for name, _ in model.classifier_.estimators_}
    assert "label 3" in answers.suggestions("3")
    if "one_vs_rest" in parts:
        assert first["words"][0][0] == "word3"
        assert any(part > 0 for _, part in first["text"])
