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


def explanation_text(explanation: Explanation, blame: Blame) -> str:
    """Return an explanation for people."""
    fields = (
        (printable(_head(explained, explanation.now)), "\n".join(_field(explained, explanation.now, blame)))
        for explained in explanation.fields
    )
    blocks = [
        "\n".join((*(head for head, _ in alike), rest)) for rest, alike in groupby(fields, key=lambda field: field[1])
    ]
    if explanation.choices:
        blocks.append(_choices(explanation.choices))
    return "\n\n".join(blocks) + "\n"


def _field(explained: Explained, now: datetime, blame: Blame) -> Iterator[str]:
    """All lines but the first: fields that have the same ones share them."""
    yield from _at("rule", explained.rule, explained.place, blame)
    if explained.text and explained.sort != "held":
        yield _row("", printable(explained.text))
    yield from _rules(explained)
    for deadline in explained.deadlines:
        yield _row("time", _deadline(deadline, now))
    for read in explained.reads:
        yield from _at("read", _read(read, now), read.place, blame)
    if explained.until is not None:
        yield _row("until", f"{format_time(explained.until)}, {ago(explained.until, now)}, if nothing else happens")
    else:
        yield _row("until", _open_end(explained, now))


def _open_end(explained: Explained, now: datetime) -> str:
    """For a decision without a deadline of its own: the first deadline of its inputs."""
    due = [(read.until, read.label) for read in (*explained.reads, *explained.other_reads) if read.until is not None]
    if not due:
        return "its inputs change; it has no deadline of its own"
    moment, label = min(due)
    return f"its inputs change: {label} does at {format_time(moment)}, {ago(moment, now)}, or before"


def _head(explained: Explained, now: datetime) -> str:
    if explained.sort != "field":
        return f"{explained.label}: {explained.value}"
    since = (
        f", since {format_time(explained.since)} ({ago(explained.since, now)})" if explained.since is not None else ""
    )
    return f"{explained.label}: {_value(explained.value)}{since}"


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
    return (
        " ".join(f"{name}={_part(value)}" for name, value in part.items()) if isinstance(part, Mapping) else _part(part)
    )


def _part(value: Tree) -> str:
    """A value on one line: texts as they are, everything else as YAML."""
    return value if isinstance(value, str) and value else flow(value)


def _rules(explained: Explained) -> Iterator[str]:
    """The policy's expressions in order: a line each, and the values of all parts of those that decided."""
    for rule in explained.asked:
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
    ordered = sorted(choices, key=lambda choice: (not choice.selected, choice.rank or len(choices) + 1, choice.cluster))
    rows = [
        [choice.cluster, "yes" if choice.selected else "no", str(choice.rank or "-"), _scores(choice), choice.text]
        for choice in ordered
    ]
    return table_text(["CLUSTER", "CHOSEN", "RANK", "SCORE", "WHY"], rows)


def _scores(choice: Why) -> str:
    if not choice.scores:
        return "-"
    parts = " + ".join(f"{score.weight}*{score.score} {score.prioritizer}" for score in choice.scores)
    return f"{choice.total} = {parts}"


def explanation_document(explanation: Explanation, blame: Blame) -> Tree:
    """Return an explanation as JSON data."""
    return {
        "object": object_document(explanation.object),
        "now": format_time(explanation.now),
        "fields": [_field_document(explained, blame) for explained in explanation.fields],
        "choices": [
            {
                "cluster": choice.cluster,
                "chosen": choice.selected,
                "rule": choice.rule,
                "why": choice.text,
                "rank": choice.rank,
                "total": choice.total,
                "scores": [{"prioritizer": s.prioritizer, "weight": s.weight, "score": s.score} for s in choice.scores],
            }
            for choice in explanation.choices
        ],
    }


def _field_document(explained: Explained, blame: Blame) -> Tree:
    return {
        "sort": explained.sort,
        "field": explained.label,
        "value": explained.value,
        "since": _time(explained.since),
        "rule": {"name": explained.rule, "place": _place(explained.place, blame), "text": explained.text},
        "expressions": [_rule_document(rule) for rule in explained.asked],
        "inputs": [
            {
                "name": r.label,
                "value": r.value,
                "place": _place(r.place, blame),
                "since": _time(r.since),
                "until": _time(r.until),
            }
            for r in explained.reads
        ],
        "deadlines": [
            {
                "at": format_time(deadline.at),
                "flips": _time(deadline.flips),
                "terms": [{"name": t.label, "value": t.value_text, "sign": t.sign} for t in deadline.terms],
            }
            for deadline in explained.deadlines
        ],
        "until": _time(explained.until),
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
