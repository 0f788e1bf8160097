"""The benchmarks still fit the code that they measure: each can be imported."""

from importlib import import_module
from pathlib import Path

import pytest

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
