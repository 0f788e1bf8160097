"""What all tests share: their environment, what no test may hide, and which inputs the gate takes."""

import gc
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import settings

from muster.fleet.faults import listening_to_fallbacks
from tests.support.commandline import muster as muster
from tests.support.commandline import once  # noqa: F401 - likewise
from tests.support.examples import often
from tests.support.programs import SEARCH_PATH

#: Whoever starts the tests in the background of a script has Ctrl-C ignored, which all their processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: What tests see of the environment that they are started in: the rest differs from one machine to the next.
ENVIRON = re.compile(
    "PATH|HOME|TMPDIR|XDG_CACHE_HOME|KUBEBUILDER_ASSETS|MUSTER_SOAK_.*|EXAMPLES|SEED|ROUNDS|PLANT|PYTEST_.*|COV_.*"
)
for _name in [name for name in os.environ if not ENVIRON.fullmatch(name)]:
    del os.environ[_name]
os.environ["PATH"] = SEARCH_PATH

#: Of yaml.safe_load, yaml.safe_dump and their like: libyaml is ten times as fast.
for _name in ("SafeLoader", "BaseLoader", "SafeDumper"):
    setattr(yaml, _name, getattr(yaml, f"C{_name}"))


#: The gate tries the same examples each time: what it refuses is the change. `make soak` tries many others.
settings.register_profile("gate", derandomize="EXAMPLES" not in os.environ, deadline=None)
settings.load_profile("gate")


@pytest.fixture(autouse=True)
def _no_way_round_a_fault(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where muster would fall back on a longer way because a shorter one fails, the test fails: unless that is what it
    is about (`falls_back`)."""
    if request.node.get_closest_marker("falls_back"):
        yield
        return
    with listening_to_fallbacks(_raise):
        yield


def _raise(_doing: str, error: Exception) -> None:
    raise error


def pytest_collection_finish() -> None:
    """Leave what all tests share, ten thousand of them among it, out of every search for garbage from now on.

    Search less often, too: muster's own runs do not search at all.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests that are sampled take every n-th input, in the gate."""
    if often(1) > 1:
        return
    numbers: Counter[str] = Counter()
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        test = item.nodeid.partition("[")[0]
        (left if sampled and numbers[test] % sampled.args[0] else kept).append(item)
        numbers[test] += 1
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count skipped tests by their reason, which names what is not installed."""
    reports = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} {reason[:1].lower()}{reason[1:]}")
