"""The number of cores. Not in `parallel`, whose imports take longer than loading a model."""

import os
import sys


def count_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
