"""`python -m tests.conformance AREA --cases DIR [--json]`: run cases of other systems' behaviour against muster.

Exits with 1 if any case failed, or if there is none. An adapter is one module with `run(directory) -> list[Outcome]`
and one line below.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.conformance import cel, hive, hyperfleet, karmada, ocm, rollout
from tests.conformance.report import Outcome, as_json, table

ADAPTERS: Mapping[str, Callable[[Path], list[Outcome]]] = {
    "cel": cel.run,
    "hive": hive.run,
    "hyperfleet": hyperfleet.run,
    "karmada": karmada.run,
    "ocm": ocm.run,
    "rollout": rollout.run,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one adapter and print what it found."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("area", choices=sorted(ADAPTERS))
    parser.add_argument("--cases", type=Path, default=Path(__file__).parent / "cases", help="directory with case files")
    parser.add_argument("--json", action="store_true", help="print every outcome as JSON")
    options = parser.parse_args(arguments)
    outcomes = ADAPTERS[options.area](options.cases)
    if not outcomes:
        sys.stderr.write(f"no cases of {options.area} in {options.cases}\n")
        return 1
    sys.stdout.write((as_json(outcomes) if options.json else "\n".join(table(outcomes))) + "\n")
    return 1 if any(outcome.status == "failed" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
