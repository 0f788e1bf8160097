"""Explanations as text and as JSON: each field with its rule, the rule's expressions with values, and the inputs."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import groupby

from muster.cel.deadlines import ComparisonDeadline
from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.printable import printable
from muster.data.source import Place
from muster.data.times import ago, format_time
from muster.data.tree import Tree
from muster.data.yaml.emitter import flow
from muster.rules.placements.reasons import Why
from muster.run.explained import EvaluatedRule, Explained, Explanation, Read

#: Says who wrote a place and when (`1a2b3c4 by Ann, 3h ago`); empty if unknown.
Blame = Callable[[Place], str]
_MARGIN = 9


def explanation_text(found: Explanation, blame: Blame) -> str:
    """Return an explanation for people."""
    fields = ((printable(_head(one, found.now)), "\n".join(_field(one, found.now, blame))) for one in found.fields)
    blocks = [
        "\n".join((*(head for head, _ in alike), rest)) for rest, alike in groupby(fields, key=lambda field: field[1])
    ]
    if found.choices:
        blocks.append(_choices(found.choices))
    return "\n\n".join(blocks) + "\n"


def _field(one: Explained, now: datetime, blame: Blame) -> Iterator[str]:
    """All lines but the first: fields that have the same ones share them."""
    yield from _at("rule", one.rule, one.place, blame)
    if one.text and one.sort != "held":
        yield _row("", printable(one.text))
    yield from _rules(one)
    for deadline in one.deadlines:
        yield _row("time", _deadline(deadline, now))
    for read in one.reads:
        yield from _at("read", _read(read, now), read.place, blame)
    if one.until is not None:
        yield _row("until", f"{format_time(one.until)}, {ago(one.until, now)}, if nothing else happens")
    else:
        yield _row("until", _open_end(one, now))


def _open_end(one: Explained, now: datetime) -> str:
    """For a decision without a deadline of its own: the first deadline of its inputs."""
    due = [(read.until, read.label) for read in (*one.reads, *one.other_reads) if read.until is not None]
    if not due:
        return "its inputs change; it has no deadline of its own"
    moment, label = min(due)
    return f"its inputs change: {label} does at {format_time(moment)}, {ago(moment, now)}, or before"


def _head(one: Explained, now: datetime) -> str:
    if one.sort != "field":
        return f"{one.label}: {one.value}"
    since = f", since {format_time(one.since)} ({ago(one.since, now)})" if one.since is not None else ""
    return f"{one.label}: {_value(one.value)}{since}"


def _value(value: Tree) -> str:
    if value is None:
        return "absent"
    if isinstance(value, Mapping) and "status" in value and "reason" in value:
        message = f": {value['message']}" if value.get("message") else ""
        return f"{value['status']} ({value['reason']}{message})"
    if isinstance(value, Mapping):
        if set(value) <= {"timeAdded", "value"}:
            return f"present{', value ' + str(value['value']) if value.get('value') else ''}"
        return ", ".join(f"{name}={_part(part)}" for name, part in value.items()) or "{}"
    if isinstance(value, list):
        return ", ".join(_element(part) for part in value) or "[]"
    return _part(value)


def _element(part: Tree) -> str:
    return " ".join(f"{name}={_part(one)}" for name, one in part.items()) if isinstance(part, Mapping) else _part(part)


def _part(value: Tree) -> str:
    """A value on one line: texts as they are, everything else as YAML."""
    return value if isinstance(value, str) and value else flow(value)


def _rules(one: Explained) -> Iterator[str]:
    """The policy's expressions in order: a line each, and the values of all parts of those that decided."""
    for rule in one.asked:
        yield _row("because" if rule.decides else "asked", f"{printable(rule.title)}: {printable(rule.gave)}")
        if rule.decides:
            for line in str(rule.trace).splitlines():
                yield _row("", f"  {printable(line)}")


def _deadline(deadline: ComparisonDeadline, now: datetime) -> str:
    first, *rest = deadline.terms
    terms = "".join(f" {'+' if term.sign > 0 else '-'} {printable(term.shown)}" for term in rest)
    equal = ", past" if deadline.passed else " ="
    return f"{printable(first.shown)}{terms}{equal} {format_time(deadline.at)}, {ago(deadline.at, now)}"


def _read(read: Read, now: datetime) -> str:
    since = f", since {format_time(read.since)} ({ago(read.since, now)})" if read.since is not None else ""
    return f"{read.label} = {read.value}{since}" if read.value else read.label


def _at(label: str, text: str, place: Place | None, blame: Blame) -> Iterator[str]:
    yield _row(label, printable(text))
    if place is not None and place.file:
        who = blame(place)
        yield _row("", printable(f"  {place}{f', {who}' if who else ''}"))


def _row(label: str, text: str) -> str:
    return f"  {label.ljust(_MARGIN)}{text}".rstrip()


def _choices(choices: tuple[Why, ...]) -> str:
    """A Placement's clusters, one per line: the chosen ones first, by rank."""
    ordered = sorted(choices, key=lambda one: (not one.selected, one.rank or len(choices) + 1, one.cluster))
    rows = [
        [one.cluster, "yes" if one.selected else "no", str(one.rank or "-"), _scores(one), one.text] for one in ordered
    ]
    return table_text(["CLUSTER", "CHOSEN", "RANK", "SCORE", "WHY"], rows)


def _scores(one: Why) -> str:
    if not one.scores:
        return "-"
    parts = " + ".join(f"{score.weight}*{score.score} {score.prioritizer}" for score in one.scores)
    return f"{one.total} = {parts}"


def explanation_document(found: Explanation, blame: Blame) -> Tree:
    """Return an explanation as JSON data."""
    return {
        "object": object_document(found.object),
        "now": format_time(found.now),
        "fields": [_field_document(one, blame) for one in found.fields],
        "choices": [
            {
                "cluster": one.cluster,
                "chosen": one.selected,
                "rule": one.rule,
                "why": one.text,
                "rank": one.rank,
                "total": one.total,
                "scores": [{"prioritizer": s.prioritizer, "weight": s.weight, "score": s.score} for s in one.scores],
            }
            for one in found.choices
        ],
    }


def _field_document(one: Explained, blame: Blame) -> Tree:
    return {
        "sort": one.sort,
        "field": one.label,
        "value": one.value,
        "since": _time(one.since),
        "rule": {"name": one.rule, "place": _place(one.place, blame), "text": one.text},
        "expressions": [_rule_document(rule) for rule in one.asked],
        "inputs": [
            {
                "name": r.label,
                "value": r.value,
                "place": _place(r.place, blame),
                "since": _time(r.since),
                "until": _time(r.until),
            }
            for r in one.reads
        ],
        "deadlines": [
            {
                "at": format_time(deadline.at),
                "flips": _time(deadline.flips),
                "terms": [{"name": t.label, "value": t.value_text, "sign": t.sign} for t in deadline.terms],
            }
            for deadline in one.deadlines
        ],
        "until": _time(one.until),
    }


def _rule_document(rule: EvaluatedRule) -> Tree:
    parts = [{"offset": p.offset, "label": p.label, "state": p.state, "value": p.shown} for p in rule.trace.parts]
    return {
        "name": rule.title,
        "decides": rule.decides,
        "text": rule.trace.text,
        "gave": rule.gave,
        "parts": parts,
    }


def _place(place: Place | None, blame: Blame) -> Tree:
    if place is None or not place.file:
        return None
    return {"file": place.file, "line": place.line, "column": place.column, "written": blame(place) or None}


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)
