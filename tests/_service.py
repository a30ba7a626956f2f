"""A running service of a small model, for tests of the API and of the page."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import sklearn_xc


@contextmanager
def running(path, *options):
    """Context of ``sklearn-xc serve path``; its port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    call = [sys.executable, "-m", "sklearn_xc", "serve", str(path), "--port", str(port), *options]
    root = str(Path(sklearn_xc.__file__).parents[1])
    process = subprocess.Popen(call, env={**os.environ, "PYTHONPATH": root}, stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            with suppress(OSError):
                if asked(port, "GET", "/health")[0] == 200:
                    break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=20)


def asked(port, method, where, body=None, **headers):
    """Status, and what came back: a value of JSON, or bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with closing(connection):
        body = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, where, body, headers)
        response = connection.getresponse()
        text = response.read()
    return response.status, json.loads(text) if text[:1] in (b"{", b"[") else text
