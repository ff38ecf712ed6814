"""What all tests share: reproducible random cases, and the data beside the repository."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

# The same cases in every run, and no limit on their time: the machine may be busy.
settings.register_profile(
    "reproducible",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("reproducible")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and references that is never committed; skips where it is absent."""
    if not _SHARED.is_dir():
        pytest.skip(f"{_SHARED} is not there")
    return _SHARED
