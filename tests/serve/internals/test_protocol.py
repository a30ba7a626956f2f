"""Connections to the service over which no request comes."""

import asyncio
import socket

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import PPDSparseClassifier, save

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")


@pytest.mark.parametrize("sent", [b"", b"POST /topk HTT"], ids=["nothing", "half a head"])
def test_a_connection_without_a_request_ends(tmp_path, monkeypatch, sent):
    from sklearn_xc.serve import make_app
    from sklearn_xc.serve._protocol import PromptProtocol
    from sklearn_xc.serve._requests import LIMITS

    model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier())
    saved = tmp_path / "model.sxc"
    save(model.fit(["a cat", "a dog"] * 5, ["cat", "dog"] * 5), saved)
    monkeypatch.setitem(LIMITS, "seconds", 0.5)

    async def talk():
        app = make_app(saved, hosts=["localhost"])
        config = uvicorn.Config(app, http=PromptProtocol, log_level="error", lifespan="off")
        server, loop = uvicorn.Server(config), asyncio.get_running_loop()
        listening = socket.create_server(("127.0.0.1", 0))
        serving = loop.create_task(server.serve(sockets=[listening]))
        address = listening.getsockname()
        while not server.started:
            await asyncio.sleep(0.01)
        reader, first = await asyncio.open_connection(*address)
        first.write(sent)
        nothing = await asyncio.wait_for(reader.read(), 30)
        again, second = await asyncio.open_connection(*address)
        heads = []
        for _ in range(2):  # over one connection
            second.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            heads.append(await asyncio.wait_for(again.readuntil(b"}"), 30))
        for one in (first, second):
            one.close()
            await one.wait_closed()
        server.should_exit = True
        await serving
        listening.close()
        return nothing, heads

    nothing, heads = asyncio.run(talk())
    assert nothing == b""
    assert [head.split(b"\r\n")[0] for head in heads] == [b"HTTP/1.1 200 OK"] * 2
