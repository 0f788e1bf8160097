import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_solver_is_left() -> Iterator[None]:
    """The memory of all solvers of a process is limited together, and the tests' search for garbage comes too late.

    Only what the test made is searched.
    """
    gc.freeze()
    yield
    gc.collect()
