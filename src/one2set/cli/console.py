"""The consoles of the command line: results go to stdout, everything else to stderr."""

import sys

from rich.console import Console

_WIDE = 400  # columns: a terminal has its own width; elsewhere no line is broken
out = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _WIDE)
