"""The HTTP service of examples/serve.py: answers, limits, errors."""

import asyncio
import http.client
import importlib.util
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import PPDSparseClassifier, predict_topk, save

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

PATH = Path(__file__).resolve().parents[1] / "examples" / "serve.py"
TEXTS = [f"word{i % 7} word{i % 11} and word{i % 13}" for i in range(120)]
NAMES = np.array([f"label {i % 7}" for i in range(120)])


@pytest.fixture(scope="module")
def module():
    specification = importlib.util.spec_from_file_location("serve_example", PATH)
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0)).fit(TEXTS, NAMES)


@pytest.fixture(scope="module")
def ask(module, pipeline, tmp_path_factory):
    """A running service, as a function of method, path and body."""
    path, port = tmp_path_factory.mktemp("model") / "model.sxc", module.free_port()
    save(pipeline, path)

    def call(method, where, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        with closing(connection):
            body = body if isinstance(body, bytes) else json.dumps(body)
            connection.request(method, where, body)
            response = connection.getresponse()
            text = response.read()
        return response.status, json.loads(text) if text.startswith(b"{") else text

    with module.server(path, port, workers=1):
        yield call


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
        ({"texts": ["a"], "k": 2, "labels": ["label 1"]}, "k=2 labels are asked for"),
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


def answered(module, path, monkeypatch, receive):
    """The status and body that the application sends, called without a server."""
    monkeypatch.setenv(module.MODEL, str(path))
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/topk", "headers": [], "query_string": b"",
        "http_version": "1.1", "scheme": "http", "root_path": "", "app": None,
    }  # fmt: skip
    asyncio.run(module.make_app()(scope, receive, send))
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent)


def test_a_body_that_does_not_come(module, pipeline, tmp_path, monkeypatch):
    save(pipeline, tmp_path / "model")
    monkeypatch.setitem(module.LIMITS, "seconds", 0.05)

    async def receive():
        await asyncio.sleep(60)

    status, text = answered(module, tmp_path / "model", monkeypatch, receive)
    assert status == 408
    assert b"did not come within 0.05 seconds" in text


def test_a_client_that_goes_away_is_no_error(module, pipeline, tmp_path, monkeypatch):
    save(pipeline, tmp_path / "model")
    parts = iter([
        {"type": "http.request", "body": b'{"texts"', "more_body": True},
        {"type": "http.disconnect"},
    ])  # fmt: skip

    async def receive():
        return next(parts)

    assert answered(module, tmp_path / "model", monkeypatch, receive) == (400, b"")
