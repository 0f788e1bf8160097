"""An explanation: for people each field with its rule, the rule's expression over its values, and the inputs; for
machines the same as data."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from muster.cel.deadlines import Deadline
from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.printable import printable
from muster.data.source import Place
from muster.data.times import age, format_duration, format_time
from muster.data.tree import Tree
from muster.rules.placements.reasons import Why
from muster.run.explained import EvaluatedRule, Explained, Explanation, Read

#: Tells of a place who wrote it and when (`1a2b3c4 by Ann, 3h ago`); empty where that is not known.
Told = Callable[[Place], str]
_MARGIN = 9


def explanation_text(found: Explanation, told: Told) -> str:
    """Return an explanation for people."""
    blocks = ["\n".join(_field(one, found.now, told)) for one in found.fields]
    if found.choices:
        blocks.append(_choices(found.choices))
    return "\n\n".join(blocks) + "\n"


def _field(one: Explained, now: datetime, told: Told) -> Iterator[str]:
    yield printable(_head(one, now))
    yield from _at("rule", one.rule, one.place, told)
    if one.text and one.sort != "held":
        yield _row("", printable(one.text))
    yield from _asked(one)
    for deadline in one.deadlines:
        yield _row("time", _deadline(deadline, now))
    for read in one.reads:
        yield from _at("read", _read(read, now), read.place, told)
    if one.until is not None:
        yield _row("until", f"{format_time(one.until)}, {_distance(one.until, now)}, if nothing else happens")
    else:
        yield _row("until", _open_end(one, now))


def _open_end(one: Explained, now: datetime) -> str:
    """Of what has no deadline of its own: when something that was read has."""
    due = [(read.until, read.label) for read in one.reads if read.until is not None]
    if not due:
        return "what it rests on changes: it has no deadline of its own"
    moment, label = min(due)
    return f"what it rests on changes: {label} does at {format_time(moment)}, {_distance(moment, now)}, or before"


def _head(one: Explained, now: datetime) -> str:
    if one.sort != "field":
        return f"{one.label}: {one.value}"
    since = f", since {format_time(one.since)} ({age(one.since, now)})" if one.since is not None else ""
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
        return ", ".join(f"{name}={part}" for name, part in value.items()) or "{}"
    if isinstance(value, list):
        return ", ".join(_element(part) for part in value) or "[]"
    return str(value)


def _element(part: Tree) -> str:
    return " ".join(f"{name}={value}" for name, value in part.items()) if isinstance(part, Mapping) else str(part)


def _asked(one: Explained) -> Iterator[str]:
    """What the policy asked, in its order: of what decided the expression over its values, of all else a line."""
    for asked in one.asked:
        yield _row("because" if asked.decides else "asked", f"{printable(asked.title)}: {printable(asked.gave)}")
        if asked.decides:
            for line in str(asked.trace).splitlines():
                yield _row("", f"  {printable(line)}")


def _deadline(deadline: Deadline, now: datetime) -> str:
    first, *rest = deadline.terms
    terms = "".join(f" {'+' if term.sign > 0 else '-'} {printable(term.shown)}" for term in rest)
    equal = ", past" if deadline.passed else " ="
    return f"{printable(first.shown)}{terms}{equal} {format_time(deadline.at)}, {_distance(deadline.at, now)}"


def _distance(moment: datetime, now: datetime) -> str:
    return f"in {format_duration(moment - now)}" if moment > now else f"{format_duration(now - moment)} ago"


def _read(read: Read, now: datetime) -> str:
    since = f", since {format_time(read.since)} ({age(read.since, now)})" if read.since is not None else ""
    return f"{read.label} = {read.value}{since}" if read.value else read.label


def _at(label: str, text: str, place: Place | None, told: Told) -> Iterator[str]:
    yield _row(label, printable(text))
    if place is not None and place.file:
        who = told(place)
        yield _row("", printable(f"  {place}{f', {who}' if who else ''}"))


def _row(label: str, text: str) -> str:
    return f"  {label.ljust(_MARGIN)}{text}".rstrip()


def _choices(choices: tuple[Why, ...]) -> str:
    """Of a Placement, one line per cluster: the chosen ones first, by rank."""
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


def explanation_document(found: Explanation, told: Told) -> Tree:
    """Return an explanation as data: the same content."""
    return {
        "object": object_document(found.object),
        "now": format_time(found.now),
        "fields": [_field_document(one, told) for one in found.fields],
        "choices": [
            {
                "cluster": one.cluster, "chosen": one.selected, "rule": one.rule, "why": one.text, "rank": one.rank,
                "total": one.total,
                "scores": [{"prioritizer": s.prioritizer, "weight": s.weight, "score": s.score} for s in one.scores],
            }
            for one in found.choices
        ],
    }  # fmt: skip


def _field_document(one: Explained, told: Told) -> Tree:
    return {
        "sort": one.sort,
        "field": one.label,
        "value": one.value,
        "since": _time(one.since),
        "rule": {"name": one.rule, "place": _place(one.place, told), "text": one.text},
        "expressions": [_asked_document(asked) for asked in one.asked],
        "inputs": [
            {
                "name": r.label,
                "value": r.value,
                "place": _place(r.place, told),
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


def _asked_document(asked: EvaluatedRule) -> Tree:
    return {
        "name": asked.title,
        "decides": asked.decides,
        "text": asked.trace.text,
        "gave": asked.gave,
        "parts": [
            {"offset": p.offset, "label": p.label, "state": p.state, "value": p.shown} for p in asked.trace.parts
        ],
    }


def _place(place: Place | None, told: Told) -> Tree:
    if place is None or not place.file:
        return None
    return {"file": place.file, "line": place.line, "column": place.column, "written": told(place) or None}


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)
