"""The table of `muster detect --table`: which probes there are, for which conditions of which clusters.

`table.json` is its schema. Mistakes are findings with their places, as in files of the fleet.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from muster.agents.detect.detector import Thresholds
from muster.agents.detect.election import RENEWALS
from muster.agents.detect.probes import AnswerProbe, BoundedProbe, Probe, probe_of, probe_target
from muster.agents.detect.report import StatusText, Subject
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME
from muster.data.source import Layer, Part, Place, SourceFile
from muster.data.times import parse_duration
from muster.data.tree import Tree, mapping_at
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet import messages
from muster.fleet.leases import LONGEST_SECONDS
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.schema_findings import violations

if TYPE_CHECKING:
    from muster import cel

_DEFAULTS: Final = {
    "kind": "ManagedCluster",
    "period": "5s",
    "timeout": "5s",
    "failureThreshold": "30s",
    "successThreshold": "30s",
}
_SHORTEST_LEASE_SECONDS: Final = 45
_NAME: Final = "{cluster}"


class TableKey(NamedTuple):
    """What a row reports: a condition of a cluster."""

    kind: str
    cluster: str
    condition: str

    def __str__(self) -> str:
        return f"{self.cluster}: {self.condition}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A probe of one cluster: `sort` and `target` say what is probed, `remote` where it is reported if not
    where all others are. Durations are in seconds."""

    subject: Subject
    sort: str
    target: tuple[str, ...]
    period: float
    timeout: float
    thresholds: Thresholds
    lease_seconds: int
    remote: str = ""
    expect: str = ""
    holds: Callable[[Tree], bool] | None = field(default=None, compare=False)

    @property
    def key(self) -> TableKey:
        """What it reports."""
        return TableKey(self.subject.kind.name, self.subject.cluster, self.subject.type)

    def probe(self) -> Probe:
        """Return the probe, which ends in time."""
        if self.holds is not None:
            return BoundedProbe(AnswerProbe(self.target, self.timeout, self.holds), self.timeout, late=None)
        return BoundedProbe(probe_of(self.sort, self.target, self.timeout), self.timeout)


def read_table(path: Path) -> tuple[list[TableRow], list[Finding]]:
    """Return the rows of a table, or no rows and what is wrong with it. OSError if it cannot be read."""
    data = path.read_bytes()
    source = SourceFile(str(path), "", lambda: data)
    loaded = load_documents(data, source.label)
    findings = [messages.unreadable(source, problem, None, of_fleet=True) for problem in loaded.problems]
    document = loaded.documents[0] if loaded.documents else None
    body: Tree = document.body if document else {}
    id_ = ObjectId("", "DetectorTable", "", path.name)
    index, line = (document.index, document.line) if document else (0, 1)
    table = Object(id_, body, (Part(id_, "", body, Layer.INPUT, source, index, None, line),))
    if not findings:
        from muster.fleet.violations import validator_for

        findings = violations(table, validator_for(_schema()))
    reader = _TableReader(table)
    rows = list(reader.rows()) if not findings else []
    findings = sorted((finding for finding in (*findings, *reader.findings) if finding.fails), key=Finding.sort_key)
    return ([] if findings else rows), findings


class TableFile:
    """A table that may change. `findings` are what is wrong with its last version."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self.findings: list[Finding] = []

    def changed(self) -> list[TableRow] | None:
        """Return the rows if the file changed and is sound; None if not."""
        try:
            status = self._path.stat()
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
            if stamp == self._stamp:
                return None
            self._stamp = stamp
            rows, self.findings = read_table(self._path)
        except OSError as error:
            if self._stamp is not None:
                self._stamp = None
                place = Place(str(self._path))
                self.findings = [finding(Code.UNREADABLE_PATH, f"the table cannot be read: {error.strerror}", place)]
            return None
        return None if self.findings else rows


@cache
def _schema() -> Mapping[str, Tree]:
    schema: Mapping[str, Tree] = json.loads(files("muster.agents.detect").joinpath("table.json").read_bytes())
    return schema


class _TableReader:
    """Reads a table that meets its schema."""

    def __init__(self, table: Object) -> None:
        from muster import cel
        from muster.cel.types import DYN, STRING
        from muster.rules.policies.expressions import Compiler

        self._table = table
        self._compiler = Compiler(table, cel.Env(variables={"output": DYN, "cluster": STRING}))
        self.findings = self._compiler.findings

    def rows(self) -> Iterator[TableRow]:
        seen = set[TableKey]()
        for number, probe in enumerate(self._table.body["probes"]):
            at = ("probes", number)
            values = {**_DEFAULTS, **mapping_at(self._table.body, "defaults"), **probe}
            sort = next(name for name in ("command", "http", "tcp", "dns") if name in probe)
            period, timeout, failure, success = (
                _seconds(values[name]) for name in ("period", "timeout", "failureThreshold", "successThreshold")
            )
            if period <= 0 or timeout <= 0:
                self._refuse(at, Code.OUT_OF_BOUNDS, "period and timeout must be positive", "")
                continue
            least = math.ceil(period * RENEWALS)
            lease = int(_seconds(values["leaseDuration"])) if "leaseDuration" in values else 0
            lease = lease or max(_SHORTEST_LEASE_SECONDS, least)
            if not least <= lease <= LONGEST_SECONDS:
                hint = f"give {least}s or more, at most {LONGEST_SECONDS}s"
                message = f"leaseDuration is {lease}s, less than three periods or too long"
                self._refuse((*at, "leaseDuration"), Code.OUT_OF_BOUNDS, message, hint)
            program = self._compiler.condition((*at, "expect")) if "expect" in probe else None
            for cluster in probe["clusters"]:
                target = self._target((*at, sort), sort, str(probe[sort]), str(probe.get("dnsServer", "")), cluster)
                subject = Subject(
                    BY_NAME[values["kind"]],
                    cluster,
                    probe["condition"],
                    _text(probe, "healthy"),
                    _text(probe, "unhealthy"),
                )
                row = TableRow(
                    subject,
                    sort,
                    target,
                    period,
                    timeout,
                    Thresholds(failure, success),
                    lease,
                    str(probe.get("remote", "")),
                    str(probe.get("expect", "")),
                    partial(_holds, program, cluster) if program else None,
                )
                if row.key in seen:
                    message = f"two probes report {probe['condition']} of {cluster}"
                    self._refuse((*at, "condition"), Code.FIELD_SET_TWICE, message, "remove one, or rename a condition")
                seen.add(row.key)
                yield row

    def _target(self, at: tuple[str | int, ...], sort: str, text: str, server: str, cluster: str) -> tuple[str, ...]:
        try:
            return probe_target(sort, text.replace(_NAME, cluster), server)
        except ValueError as error:
            self._refuse(at, Code.MALFORMED_VALUE, str(error), "")
        return (text,)

    def _refuse(self, at: tuple[str | int, ...], code: Code, message: str, hint: str) -> None:
        self.findings.append(finding_at(self._table, at, code, message, hint))


def _seconds(text: str) -> float:
    return parse_duration(text).total_seconds()


def _text(probe: Mapping[str, Tree], name: str) -> StatusText:
    given = mapping_at(probe, name)
    return StatusText(str(given.get("reason", "")), str(given.get("message", "")))


def _holds(program: "cel.Program", cluster: str, output: Tree) -> bool:
    """Does the expression hold? ValueError if it cannot be evaluated."""
    from muster import cel

    try:
        return program.evaluate({"output": output, "cluster": cluster}) is True
    except cel.EvaluationError as error:
        raise ValueError(str(error)) from error
