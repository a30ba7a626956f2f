"""Program: how many answers a second a service gives
=====================================================

Serves a saved pipeline and asks it, from eight clients on this machine::

    python examples/programs/serve.py tagger/tagger.sxc --workers 2 --requests 2000

``examples/programs/tagger.py`` makes such a file. The service itself is part of the package,
:mod:`sklearn_xc.serve`, and ``sklearn-xc serve tagger/tagger.sxc`` starts it: an HTTP API, and a
page to try the model. Needs Starlette and uvicorn (``pip install starlette uvicorn``).
"""

import argparse
import http.client
import json
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import numpy as np

CLIENTS = 8


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
        call = [sys.executable, "-m", "sklearn_xc", "serve", str(path), "--port", str(port)]
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
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--requests", type=int, default=2000)
    options = parser.parse_args()
    load_test(options.model, options.workers, options.requests)


if __name__ == "__main__":
    main()
