"""`sklearn-xc serve`: a model behind HTTP, and a page to try it."""

from ..serve import serve
from ._options import MODEL, SEVERAL, Options

HELP = """Serve a model over HTTP, with a page to try it.
Examples:
  sklearn-xc serve tagger.sxc
  sklearn-xc serve tagger.sxc --port 8080 --workers 2 --name tags.example.org
Needs Starlette and uvicorn."""
OPTIONS = {
    **MODEL,
    "--host": {"default": "127.0.0.1", "metavar": "ADDRESS", "help": "default: this machine only"},
    "--port": {"type": int, "default": 8000},
    "--workers": {"type": int, "default": 1, "metavar": "N", "help": "they share the file"},
    "--name": {**SEVERAL, "help": "by which requests may call the server"},
}


def run(options: Options) -> None:
    """Serve until interrupted."""
    kept = {"host": options.host, "port": options.port, "workers": options.workers}
    serve(options.model, **kept, hosts=options.name)
