"""`sklearn-xc serve`: a model behind HTTP, and a page to try it."""

from ..serve import serve
from ._model import say

HELP = """Serve a model over HTTP, with a page to try it.
Examples:
  sklearn-xc serve tagger.sxc
  sklearn-xc serve tagger.sxc --port 8080 --workers 2 --name tags.example.org

Then open http://127.0.0.1:8000/. Needs Starlette and uvicorn."""


def add(command):
    """Add the options of the command."""
    more = command.add_argument
    more("model", metavar="MODEL")
    more("--host", default="127.0.0.1", metavar="ADDRESS", help="default: this machine only")
    more("--port", type=int, default=8000)
    more("--workers", type=int, default=1, metavar="N", help="processes that share the file")
    more("--name", action="append", default=[], help="by which requests may call the server")


def run(options):
    """Serve until interrupted."""
    say(f"http://{options.host}:{options.port}/ (Ctrl-C ends)")
    serve(
        options.model,
        host=options.host,
        port=options.port,
        workers=options.workers,
        hosts=options.name,
    )
