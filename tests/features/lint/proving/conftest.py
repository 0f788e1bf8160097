import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _garbage_of_other_tests() -> None:
    """Search the whole heap once: each test then searches what has been made since."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_solver_is_left() -> Iterator[None]:
    """The memory of all solvers of a process is limited together, and the tests' search for garbage comes too late."""
    yield
    gc.collect()
