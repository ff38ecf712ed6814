"""Run scripts, each with a Ray cluster of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_TOO_BUSY = 75  # what a script ends with where Ray could not start in time


def start_ray(*, cpus: int) -> None:
    """What such a script begins with. A busy machine has some attempts."""
    import ray

    for _ in range(5):
        try:
            ray.init(
                num_cpus=cpus,
                object_store_memory=100 << 20,
                include_dashboard=False,
                log_to_driver=False,
            )
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
            ray.shutdown()
        else:
            return
    sys.exit(_TOO_BUSY)


def capture_on_ray(script: str, *arguments: str, folder: Path) -> str:
    """What a script prints that succeeds in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}",
            "RAY_AUTH_MODE": "disabled",
            "RAY_worker_niceness": "0",  # on a busy machine they would starve
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode == _TOO_BUSY:
        pytest.skip("Ray grants itself 30 seconds to start, and this machine is too busy for that")
    assert done.returncode == 0, done.stderr
    return done.stdout
