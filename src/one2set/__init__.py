"""one2set: keyphrases as a set."""

from importlib.metadata import version

__version__ = version("one2set")
