"""The command line, as ``python -m sklearn_xc``."""

import sys

from .cli import main

sys.exit(main())
