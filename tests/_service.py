"""A running service of a small model, for tests of the API and of the page."""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

import sklearn_xc

LONGEST = 600  # seconds until something happens


@contextmanager
def running(path, *options):
    """Context of ``sklearn-xc serve path``; its port, which the system chooses."""
    call = [sys.executable, "-m", "sklearn_xc", "serve", str(path), "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(Path(sklearn_xc.__file__).parents[1])}
    # A file: a service that nobody reads from would wait for ever at a full pipe.
    with TemporaryFile() as errors:
        process = subprocess.Popen(call, env=environment, stderr=errors)
        try:
            yield _port(process, errors)
        finally:
            process.terminate()
            process.wait(timeout=LONGEST)


def _port(process, errors):
    """The port of the address that the service has printed, once it answers there."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        said = os.pread(errors.fileno(), 10_000, 0).decode()
        assert process.poll() is None, said
        with suppress(OSError):
            port = re.match(r"http://127\.0\.0\.1:(\d+)/ ", said)
            if port and asked(int(port[1]), "GET", "/health")[0] == 200:
                return int(port[1])
        time.sleep(0.05)
    raise AssertionError(f"the service does not answer: {said}")


def asked(port, method, where, body=None, **headers):
    """Status, and what came back: a value of JSON, or bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    with closing(connection):
        body = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, where, body, headers)
        response = connection.getresponse()
        text = response.read()
    return response.status, json.loads(text) if text[:1] in (b"{", b"[") else text
