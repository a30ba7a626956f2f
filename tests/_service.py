"""A running service of a small model, for tests of the API and of the page."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

import sklearn_xc
import sklearn_xc.serve

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


@contextmanager
def serving(path):
    """Like `running`, in a thread of this process: for answers, where the command is not meant."""
    import uvicorn

    options = {"port": 0, "log_config": None, "lifespan": "off", "ws": "none"}
    server = uvicorn.Server(uvicorn.Config(sklearn_xc.serve.make_app(path), **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


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
