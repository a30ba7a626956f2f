"""Program: a small HTTP service around a saved pipeline
=====================================================

Answers by the best labels of the texts in a request::

    python examples/serve.py tagger/tagger.sxc --port 8000 --workers 2
    python examples/serve.py tagger/tagger.sxc --load-test 2000       # on the loopback, then ends

``examples/tagger.py`` makes such a file. Each worker process maps it, so that all of them share its
memory. Needs Starlette and uvicorn (``pip install "sklearn-xc[serve]"``).

Requests and answers::

    GET  /health    {"status": "ok", "labels": 14303}
    POST /topk      {"texts": ["a history of lighthouses"], "k": 3}
                    also "labels": [...], the only ones that answers may hold, and "exclude": [...]
                    -> {"labels": [[...]], "scores": [[...]]}

What a request may ask for is limited (``LIMITS``), in number, length, memory and time; what is
wrong with it comes back as 400 with a sentence, a body that is too long as 413, one that does not
come in time as 408. A client that goes away is not logged. Connections are limited in number, not
by client: a proxy in front does that, and TLS.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cache

import numpy as np

from sklearn_xc import load, predict_topk, topk_predictor

MODEL = "SKLEARN_XC_MODEL"  # environment variable by which workers learn the path
LIMITS = {
    "bytes": 2**20,  # of a body
    "seconds": 10,  # until a body has come
    "connections": 1000,  # of a worker; more get 503
    "texts": 100,
    "characters": 20_000,  # of a text
    "k": 100,
    "labels": 10_000,  # in labels, and in exclude
    "letters": 1000,  # of a label
}
CLIENTS = 8  # of the load test


class RefusedError(ValueError):
    """What is wrong with a request, in a sentence, and its status."""

    def __init__(self, message, status=400):
        super().__init__(message)
        self.status = status


# ----------------------------------------------------------------------------------- the service


def make_app():
    """The application that each worker serves."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    model = load(os.environ[MODEL], mmap_mode="r")
    predictors = cache(lambda k: topk_predictor(model, k))  # one for each k: at most LIMITS["k"]

    async def health(request):
        return JSONResponse({"status": "ok", "labels": len(model.classes_)})

    async def topk(request):
        try:
            body = await asyncio.wait_for(body_of(request), LIMITS["seconds"])
            asked = parsed(body, len(model.classes_))
            return JSONResponse(await run_in_threadpool(answer, model, predictors, asked))
        except RefusedError as error:
            return JSONResponse({"error": str(error)}, status_code=error.status)
        except TimeoutError:
            message = f"the body did not come within {LIMITS['seconds']} seconds"
            close = {"connection": "close"}
            return JSONResponse({"error": message}, status_code=408, headers=close)
        except ClientDisconnect:  # nobody is there to answer
            return Response(status_code=400)

    return Starlette(routes=[Route("/health", health), Route("/topk", topk, methods=["POST"])])


def listening(port):
    """The socket that all workers accept from.

    A response is two packets, and with Nagle's algorithm the second waits for a client that puts
    off its acknowledgement by 40 ms; sockets that uvicorn opens for several workers have it on.
    """
    one = socket.create_server(("127.0.0.1", port))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


async def body_of(request):
    """The body, of which no more is read than is allowed."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LIMITS["bytes"]:
            raise RefusedError(f"the body is longer than {LIMITS['bytes']} bytes", 413)
        parts.append(part)
    return b"".join(parts)


def parsed(body, n_labels):
    """What a request asks for, checked: texts, k, and the labels it allows and excludes."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the body is not JSON: {error}") from error
    if not isinstance(asked, dict) or not asked.keys() <= {"texts", "k", "labels", "exclude"}:
        raise RefusedError("the body must be an object of texts and, if wanted, k, labels, exclude")
    texts, k = asked.get("texts"), asked.get("k", min(5, n_labels))
    if not _are_strings(texts) or not 1 <= len(texts) <= LIMITS["texts"]:
        raise RefusedError(f"texts must be a list of 1 to {LIMITS['texts']} strings")
    if max(map(len, texts)) > LIMITS["characters"]:
        raise RefusedError(f"a text may have {LIMITS['characters']} characters at most")
    if type(k) is not int or not 1 <= k <= min(LIMITS["k"], n_labels):
        raise RefusedError(f"k must be an integer from 1 to {min(LIMITS['k'], n_labels)}")
    only = {name: asked[name] for name in ("labels", "exclude") if asked.get(name) is not None}
    for name, labels in only.items():
        if not _are_strings(labels) or len(labels) > LIMITS["labels"]:
            raise RefusedError(f"{name} must be a list of at most {LIMITS['labels']} strings")
        if max(map(len, labels), default=0) > LIMITS["letters"]:
            raise RefusedError(f"{name} holds a label of more than {LIMITS['letters']} letters")
    return texts, k, only


def _are_strings(value):
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def answer(model, predictors, asked):
    """Labels and scores of the texts, as JSON takes them."""
    texts, k, only = asked
    try:
        if only:
            labels, scores = predict_topk(model, texts, k, **only)
        else:
            labels, scores = predictors(k)(texts)
    except (ValueError, MemoryError) as error:  # an unknown label, fewer left than k, too much
        raise RefusedError(str(error)[: LIMITS["letters"]] or "out of memory") from error
    return {"labels": labels.tolist(), "scores": scores.astype(float).round(6).tolist()}


# --------------------------------------------------------------------------------- the load test


def load_test(path, workers, n_requests):
    """Requests a second and the time of one, of clients on this machine."""
    port = free_port()
    with server(path, port, workers):
        texts = [f"a history of {word}" for word in ("lighthouses", "soils", "rivers", "maps")]

        def client(number):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            found = []
            for i in range(n_requests // CLIENTS):
                body = json.dumps({"texts": [texts[(number + i) % len(texts)]], "k": 5})
                start = time.perf_counter()
                connection.request("POST", "/topk", body)
                response = connection.getresponse()
                response.read()
                found.append(1e3 * (time.perf_counter() - start))
                if response.status != 200:
                    raise SystemExit(f"the service answered {response.status}")
            connection.close()
            return found

        start = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            ms = np.concatenate(list(pool.map(client, range(CLIENTS))))
        seconds = time.perf_counter() - start
    half, most = np.quantile(ms, [0.5, 0.99])
    print(
        f"{len(ms)} requests of {CLIENTS} clients, {workers} workers: {len(ms) / seconds:.0f} a "
        f"second, {half:.1f} ms in the median, {most:.1f} ms in 99 %"
    )


class server:  # noqa: N801
    """Context of the service in a process of its own."""

    def __init__(self, path, port, workers):
        call = [sys.executable, __file__, str(path), "--port", str(port)]
        self._call, self._port = [*call, "--workers", str(workers)], port

    def __enter__(self):
        self._process = subprocess.Popen(self._call)
        for _ in range(300):
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=1)
            with closing(connection), suppress(OSError):
                connection.request("GET", "/health")
                response = connection.getresponse()
                response.read()
                if response.status == 200:
                    return self
            time.sleep(0.1)
            if self._process.poll() is not None:
                break
        self.__exit__()
        raise SystemExit("the service did not start")

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(20)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a file of sklearn_xc.save")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--load-test", type=int, metavar="N", help="send N requests, and end")
    options = parser.parse_args()
    if options.load_test:
        load_test(options.model, options.workers, options.load_test)
        return
    import uvicorn

    os.environ[MODEL] = os.path.abspath(options.model)
    with listening(options.port) as one:
        uvicorn.run(
            "serve:make_app", factory=True, fd=one.fileno(), workers=options.workers,
            app_dir=os.path.dirname(os.path.abspath(__file__)),
            log_level="warning", access_log=False, limit_concurrency=LIMITS["connections"],
        )  # fmt: skip


if __name__ == "__main__":
    main()
