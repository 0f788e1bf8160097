"""Pulses of a large fleet: `python -m benchmarks.pulses [clusters] [adapters]`.

10,000 clusters with 6 adapters each, all of which have reported and are Ready: what does it cost to judge the reports,
to decide the conditions, and to find that no pulse is due, when nothing has changed? And when every pulse is due?
Seconds are of CPU time.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from muster.data.decision import Failed, Published, PulseKey
from muster.data.kinds import ADAPTER_REPORT, FLEET, MANAGED_CLUSTER
from muster.data.snapshot import Snapshot
from muster.data.source import SourceFile
from muster.data.times import format_time
from muster.data.yaml.emitter import emit
from muster.rules import pipeline
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.stages import StageTerm
from muster.run.checking import check_snapshot

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Files(Snapshot):
    """A snapshot of texts."""

    texts: dict[str, str]

    def files(self) -> Iterator[SourceFile]:
        """Yield the files."""
        for path, text in sorted(self.texts.items()):
            data = text.encode()
            yield SourceFile(path, "", lambda data=data: data)  # type: ignore[misc]


def main(arguments: list[str]) -> int:
    """Print what each step costs; exit with 1 where pulses are not decided in 3 seconds."""
    clusters, adapters = (int(a) for a in (arguments + ["10000", "6"][len(arguments) :])[:2])
    texts = dict(_inputs(clusters, adapters))
    print(f"{clusters} clusters, {adapters} adapters each")
    first = _timed("read, assemble, validate", lambda: check_snapshot(Files(texts)))
    decided = _stages(first, NOON, "first run")
    previous = {id_: body for id_ in decided.decided if (body := _derived(decided, id_)) is not None}
    memory = {PulseKey(MANAGED_CLUSTER.id(f"c{n:05}"), "adapters-pulses"): Published(1, NOON) for n in range(clusters)}
    quiet = replace(first, previous=previous, published=memory)
    still = _stages(quiet, NOON + timedelta(minutes=10), "nothing changed")
    print(f"  pulses due: {len(still.pulses)}")
    loud = _stages(quiet, NOON + timedelta(minutes=31), "every pulse due")
    print(f"  pulses due: {len(loud.pulses)}")
    return 0 if _QUIET[-1] < 3.0 else 1


_QUIET: list[float] = []


def _stages(fleet: FleetWithPolicies, now: datetime, title: str) -> FleetWithPolicies:
    print(f"{title}:")
    terms = pipeline.terms_of(fleet, now)
    for stage in pipeline.STAGES:
        name, start = stage.name, time.process_time()
        outcomes = list(stage.ask(fleet, terms))
        terms = terms.after(outcomes)
        fleet = fleet.with_outcomes(one for one in outcomes if not isinstance(one, StageTerm | Failed))
        spent = time.process_time() - start
        if name in ("reports", "conditions", "pulses"):
            print(f"  {name:<12}{spent:8.2f} s")
        if name == "pulses" and title == "nothing changed":
            _QUIET.append(spent)
    return fleet


def _timed(title: str, work: Callable[[], T]) -> T:
    start = time.process_time()
    result = work()
    print(f"{title}: {time.process_time() - start:.2f} s")
    return result


def _derived(fleet: FleetWithPolicies, id_: object) -> object:
    from muster.fleet.derived import derived_body

    return derived_body(id_, fleet.decisions(id_))  # type: ignore[arg-type]


def _inputs(clusters: int, adapters: int) -> Iterator[tuple[str, str]]:
    names = [f"adapter-{n}" for n in range(adapters)]
    yield (
        "fleet.yaml",
        emit(_object(FLEET.api_version, "Fleet", {"name": "f"}, {"adapters": {"ManagedCluster": names}})),
    )
    conditions = [{"type": name, "status": "True"} for name in ("Applied", "Available", "Health")]
    for n in range(clusters):
        name = f"c{n:05}"
        spec = {"hubAcceptsClient": True}
        yield (
            f"clusters/{name}/cluster.yaml",
            emit(_object(MANAGED_CLUSTER.api_version, "ManagedCluster", {"name": name}, spec)),
        )
        for adapter in names:
            report = {
                "resource": {"kind": "ManagedCluster", "name": name},
                "adapter": adapter,
                "observed_generation": 1,
                "observed_time": format_time(NOON),
                "conditions": conditions,
            }
            metadata = {"name": adapter, "namespace": name}
            text = emit(_object(ADAPTER_REPORT.api_version, "AdapterReport", metadata, report))
            yield f"clusters/{name}/reports/{adapter}.yaml", text


def _object(api_version: str, kind: str, metadata: object, spec: object) -> dict[str, object]:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
