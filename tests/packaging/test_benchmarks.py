"""The benchmarks still fit the code that they measure: each can be imported."""

from importlib import import_module
from pathlib import Path

import pytest
from benchmarks import agents

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_it_can_be_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS.parent))
    try:
        import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith(("muster", "benchmarks", "tests")):
            raise
        pytest.skip(f"{missing.name} is not installed")


def test_agents_are_seen_and_none_is_lost(tmp_path: Path) -> None:
    """The benchmark of thousands of agents, with a few: figures are no test's business, that nothing is lost is."""
    found = agents.measure(tmp_path, clusters=10, lease=1, seconds=1.5, every=0.2, settling=0.5)
    assert found.lost == 0
    assert found.renewals >= 10
    assert len(found.latencies) >= 10
    assert min(len(found.quiet), len(found.busy)) >= 2
    assert "ratio" in found.text()
