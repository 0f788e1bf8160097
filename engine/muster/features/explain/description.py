"""`describe`: an object as `kubectl describe` prints it, plus what muster knows: ages, deciding rules and how long they
hold, held effects, agents' reports, and recent transitions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from muster.cli.cells import short_label
from muster.cli.columns import rows
from muster.cli.table import Heading, paragraph, table_lines
from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, NODE_POOL, PLACEMENT, ROLLOUT, is_cluster, kind_of
from muster.data.printable import printable
from muster.data.times import age, ago, format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import emit
from muster.data.yaml.positions import locate
from muster.features.explain.reads import field_label
from muster.features.history.history import ObjectHistory, PastTransition
from muster.fleet.places import place_of, plain_steps
from muster.rules.placements.reasons import left_out, why
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.cluster_summary import ClusterSummary, ConditionSummary, conditions_of
from muster.run.run import Run


def described_yaml(run: Run, id_: ObjectId) -> str:
    """Return the assembled object as YAML; a comment beside each decided field names its rule and how long it holds."""
    body = run.fleet.whole(id_)
    text = emit(body)
    lines, data = text.splitlines(), text.encode()
    notes: dict[int, str] = {}
    for path, decision in sorted(run.fleet.decisions(id_).items(), key=lambda item: len(item[0])):
        if decision.value is not None and (line := _line(data, body, path, id_)) is not None:
            notes[line] = _note(decision)
    for line, note in notes.items():
        lines[line - 1] += f"  # {note}"
    return "\n".join(lines) + "\n"


def _line(data: bytes, body: object, path: Path, id_: ObjectId) -> int | None:
    steps = plain_steps(body, path, kind_of(id_).list_keys)
    return locate(data, 0, steps).line if len(steps) == len(path) else None


def _note(decision: Decision) -> str:
    until = f", until {format_time(decision.horizon)}" if decision.horizon is not None else ""
    return f"{decision.because.rule}{until}".replace("\n", " ")


#: How many of the latest transitions are shown; `history` has all.
MAX_EVENTS = 10
_WIDTH = 14
_INDENT = "  "
#: Decided fields that have a section of their own, or none.
_NOT_LISTED = (("status", "conditions"), ("spec", "taints"), ("status", "muster"))


def description(run: Run, id_: ObjectId, past: ObjectHistory | None = None) -> str:
    """Return an object for people, section by section, without empty ones. `past`: its transitions, if known."""
    return "\n".join(_lines(run, id_, past)) + "\n"


def _lines(run: Run, id_: ObjectId, past: ObjectHistory | None) -> Iterator[str]:
    body = run.fleet.whole(id_) or {}
    decisions = run.fleet.decisions(id_)
    metadata = mapping_at(body, "metadata")
    yield from _entry("Name", [id_.name])
    yield from _entry("Namespace", filter(None, [id_.namespace]))
    for title in ("labels", "annotations"):
        named = mapping_at(metadata, title)
        yield from _entry(title.capitalize(), (f"{name}={value}" for name, value in sorted(named.items())))
    yield from _entry("API Version", [str(body.get("apiVersion"))])
    yield from _entry("Kind", [id_.kind])
    if (generation := metadata.get("generation")) is not None:
        yield from _entry("Generation", [str(generation)])
    yield from _entry("Files", _files(run.fleet, id_))
    own = ("taints",) if is_cluster(id_) else ()
    yield from _section("Spec", _tree(mapping_at(body, "spec"), own))
    yield from _section("Status", _tree(mapping_at(body, "status"), ("conditions", "muster", "stages")))
    summary = ClusterSummary.of(run, id_) if is_cluster(id_) else None
    yield from _section("Taints", _taints(summary, run.now) if summary else ())
    yield from _section("Conditions", _conditions([*conditions_of(run, id_, body)], run.now))
    yield from _section("Stages", _stages(body) if ROLLOUT.has(id_) else ())
    yield from _section("Held", _held(run.fleet, id_))
    yield from _section("Leases", _leases(summary, run.now) if summary else ())
    yield from _section("Reports", _reports(run, id_))
    yield from _section("Decisions", _decisions(run, id_, decisions))
    yield from _section(
        "Findings",
        (printable(f"{finding.code}: {finding.message}") for finding in run.findings if finding.object == id_),
    )
    if past is not None:
        yield from _section("Events", _events(past))


def _entry(title: str, values: Iterable[str]) -> Iterator[str]:
    """A title, and beside it one value per line."""
    for number, value in enumerate(values):
        yield f"{f'{title}:' if not number else '':{_WIDTH}}{printable(value)}"


def _tree(tree: Mapping[str, Tree], but: Sequence[str]) -> Iterator[str]:
    """Fields as YAML, without those that have a section of their own."""
    shown = {name: value for name, value in tree.items() if name not in but}
    yield from map(printable, emit(shown).splitlines() if shown else ())


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    first = True
    for line in lines:
        if first:
            yield f"{title}:"
            first = False
        yield f"{_INDENT}{line}" if line else line


def _files(fleet: FleetWithPolicies, id_: ObjectId) -> Iterator[str]:
    obj = fleet.objects.get(id_)
    places = {place_of([part], ()) for part in obj.parts} if obj is not None else set()
    yield from (str(place) for place in sorted(place for place in places if place is not None))
    if (derived := fleet.derived_paths.get(id_)) is not None:
        yield derived


def _by(decision: Decision | None) -> str:
    """The rule that decided a field, and how long it holds."""
    if decision is None:
        return "from files"
    until = f", until {format_time(decision.horizon)}" if decision.horizon is not None else ""
    return f"by {decision.because.rule}{until}"


def _ago(value: Tree, now: datetime) -> str:
    moment = try_time(value)
    return "at an unknown time" if moment is None else ago(moment, now)


def _since(value: Tree, now: datetime) -> str:
    moment = try_time(value)
    return "-" if moment is None else age(moment, now)


def _conditions(conditions: Sequence[ConditionSummary], now: datetime) -> Iterator[str]:
    cells = [
        [condition.type, condition.status, _since(condition.since, now), condition.reason or "-"]
        for condition in conditions
    ]
    heading, *lines = _table(["TYPE", "STATUS", "AGE", "REASON"], cells)
    for condition, line in zip(conditions, lines, strict=True):
        if condition is conditions[0]:
            yield heading
        yield line
        yield from _below(condition.message)
        yield from _below(_by(condition.decision))


def _table(titles: Sequence[Heading | str], cells: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in a section."""
    return [line.removeprefix(_INDENT) for line in table_lines(titles, cells, _INDENT)]


def _below(text: str) -> list[str]:
    """A sentence, indented below the line that it is about."""
    return paragraph(printable(text), "  ", "  ") if text else []


def _taints(summary: ClusterSummary, now: datetime) -> Iterator[str]:
    for taint in summary.taints:
        yield printable(f"{taint}, added {_ago(taint.since, now)}")
        yield from _below(_by(taint.decision))


def _stages(body: Tree) -> Iterator[str]:
    """The stages of a Rollout, each with the states of its clusters."""
    stages = mappings_at(body, "status", "stages")
    current = dig(body, "status", "stage")
    cells = [
        [
            str(stage["name"]),
            str(stage["clusters"]),
            "yes" if stage["name"] == current else "",
            ", ".join(f"{number} {state}" for state, number in stage.items() if state not in ("name", "clusters")),
        ]
        for stage in stages
    ]
    if stages:
        yield from _table(["NAME", "CLUSTERS", "NOW", "STATES"], cells)


def _held(fleet: FleetWithPolicies, id_: ObjectId) -> Iterator[str]:
    for effect in fleet.held:
        if effect.object == id_:
            yield printable(short_label(effect.effect))
            yield from _below(effect.reason)


def _leases(summary: ClusterSummary, now: datetime) -> Iterator[str]:
    """The Lease of a cluster, and those of others in its place."""
    for lease in summary.leases:
        moment = try_time(lease.renewed)
        every = f", every {lease.seconds} s" if lease.seconds is not None else ""
        renewed = "never renewed" if moment is None else f"renewed {ago(moment, now)}, at {format_time(moment)}"
        other = "" if lease.counts else "; not the cluster's heartbeat"
        yield printable(f"{lease.id.namespace}/{lease.id.name}: {renewed}{every}{other}")


def _reports(run: Run, id_: ObjectId) -> Iterator[str]:
    if not (is_cluster(id_) or NODE_POOL.has(id_)):
        return
    bodies = [
        run.fleet.whole(obj.id)
        for obj in run.fleet.of(ADAPTER_REPORT)
        if dig(obj.spec, "resource", "name") == id_.name and dig(obj.spec, "resource", "kind") == id_.kind
    ]
    if bodies:
        headings, cells = rows(ADAPTER_REPORT.name, bodies, run.now, namespaced=True)
        yield from _table(headings, cells)


def _decisions(run: Run, id_: ObjectId, decisions: Mapping[Path, Decision]) -> Iterator[str]:
    """The decided fields other than conditions, taints and bookkeeping, and the clusters that a Placement chooses."""
    if PLACEMENT.has(id_):
        choices = why(run.fleet, run.now, id_)
        chosen = [choice.cluster for choice in choices if choice.selected]
        yield from paragraph(
            printable(f"{len(chosen)} of {len(choices)} clusters: {', '.join(chosen) or 'none'}"), "", "  "
        )
        yield from _below(left_out(choices))
    for path, decision in sorted(decisions.items(), key=lambda item: field_label(item[0])):
        value = _shown(decision.value)
        if value and path[0] != "metadata" and path[:2] not in _NOT_LISTED:
            yield printable(f"{field_label(path)}: {value}")
            yield from _below(_by(decision))


def _shown(value: Tree) -> str:
    """A scalar, or a list of scalars; empty for anything deeper."""
    values = value if isinstance(value, list) else [value]
    return ", ".join(map(str, values)) if all(isinstance(element, str | int | float) for element in values) else ""


def _events(past: ObjectHistory) -> Iterator[str]:
    """The latest transitions with their commits, oldest first."""
    shown: Sequence[PastTransition] = past.transitions[-MAX_EVENTS:]
    if not shown:
        return
    cells = [
        [
            age(transition.at, past.until),
            transition.commit[:7],
            transition.text if transition.source else f"{transition.text}, by {transition.author}",
        ]
        for transition in shown
    ]
    yield from _table(["AGE", "COMMIT", "WHAT"], cells)
    if len(past.transitions) > len(shown):
        yield f"({len(past.transitions) - len(shown)} more in the history)"
