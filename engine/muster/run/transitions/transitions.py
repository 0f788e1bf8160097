"""What a run changes, in the fleet's terms: the transitions that a commit message lists and a plan shows.

Compares the derived part of each object as the last run left it with the one that this run decided.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from sys import intern
from typing import Final

from muster.data.decision import Held
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ACCEPTED,
    ADAPTER_REPORT,
    CLUSTERS,
    CONDITION_POLICY,
    CSR,
    DISRUPTION_BUDGET,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADD_ON,
    MULTI_CLUSTER_INGRESS,
    NOTIFICATION_POLICY,
    PLACEMENT_DECISION,
    PROJECTION,
    PULSE_POLICY,
    TAINT_POLICY,
    ListKeys,
    kind_of,
)
from muster.data.names import few
from muster.data.printable import printable, without_secrets
from muster.data.times import format_time
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.fleet.clusters import CLUSTER_SET, DEFAULT
from muster.fleet.derived import derived_body
from muster.fleet.fleet import Fleet
from muster.fleet.leases import renew_time
from muster.fleet.merge import element_key
from muster.git.enginecommits import NOW, SOURCE, WHOLE
from muster.regex import WORD, Regex
from muster.run.facts import UNTOLD, Fact, facts_of
from muster.run.run import Run
from muster.run.transition import Transition
from muster.run.transitions.placement_moves import placement_changes
from muster.run.transitions.subjects import LONGEST, NOUNS, subject_line

_POLICY_KINDS = (CONDITION_POLICY, TAINT_POLICY, PULSE_POLICY, DISRUPTION_BUDGET, NOTIFICATION_POLICY)
#: Keeps GitHub and GitLab from running jobs for a commit.
_SKIP_CI = " [skip ci]"
#: Words that keep a forge from running jobs for a commit. An agent must not be able to add them.
_SKIP = Regex(r"(?i)\[([^\]\[]*\b(?:skip|no[- _]?ci)\b[^\]\[]*)\]|\*\*\*(no_ci)\*\*\*")
#: What a forge takes for references to people, issues, merge requests and the like: it would notify or close them. The
#: first group is the sign, the second what follows; a space goes between them.
_REFERENCES = tuple(
    Regex(pattern)
    for pattern in (
        rf"((?:^|[^{WORD}])@)([{WORD}])",
        rf"(#)([{WORD}])",
        rf"((?:^|[^{WORD}])[!&$%~])(\p{{Nd}})",
        r"(?i)(\bGH-)(\p{Nd})",
        r"(?i)(/(?:issues|pulls?|merge_requests|epics|work_items)/)(\p{Nd})",
    )
)
#: Each of those has one of these in it.
_PAGES = ("issues", "pull", "pulls", "merge_requests", "epics", "work_items")
_SIGNS = ("@", "#", "!&$%~", ("gh-",), tuple(f"/{page}/" for page in _PAGES))
_MOST_LINES = 1000


def commit_message(run: Run, changes_made: Sequence[Transition], notes: Sequence[str] = ()) -> str:
    """Return the message of a run's commit; `notes` are lines about the run itself."""
    end = _SKIP_CI if run.fleet.settings.skip_ci else ""
    (subject,) = plain((subject_line(changes_made, LONGEST - len(end)),))
    body = [str(change) for change in changes_made[:_MOST_LINES]]
    if len(changes_made) > _MOST_LINES:
        body.append(f"… and {len(changes_made) - _MOST_LINES} more")
    body.extend(f"held: {held.object}: {held.effect}: {held.reason}" for held in run.fleet.held)
    body.extend(notes)
    trailers = [*_trailers(run), f"Muster-Policies: {policies_digest(run.fleet)}"]
    return "\n".join([f"{subject}{end}", "", *plain(body), "", *trailers]) + "\n"


#: Up to this many objects with the same transition get a line each.
MOST_NAMED: Final = 5


def named_together(kind: str, objects: Sequence[ObjectId]) -> str:
    """Return `120 ManagedClusters: c000, c001, c002, c003, c004 and 115 more`."""
    names = [f"{id_.namespace}/{id_.name}" if id_.namespace else id_.name for id_ in objects]
    return f"{len(objects)} {kind}s: {few(names, MOST_NAMED)}"


def lines_for_people(changes_made: Sequence[Transition]) -> Iterator[str]:
    """Yield a line per transition, and one line where many objects of a kind have the same."""
    texts = [
        intern(str(change).removeprefix("" if change.fact.sentence else str(change.object))) for change in changes_made
    ]
    objects = [change.object for change in changes_made]
    for names, text, change in zip(together(objects, texts), texts, changes_made, strict=True):
        if names is not None:
            yield f"{names}{text}" if names else str(change)


def together(objects: Sequence[ObjectId], texts: Sequence[str]) -> Iterator[str | None]:
    """Yield the name to show for each object: where many of a kind have the same text, all their names at the first
    and None at the others; else the empty string, so that the object shows its own."""
    alike = grouped(((id_.kind, text), id_) for id_, text in zip(objects, texts, strict=True))
    for id_, text in zip(objects, texts, strict=True):
        same = alike[id_.kind, text]
        many = len(same) > MOST_NAMED
        yield (named_together(id_.kind, same) if id_ is same[0] else None) if many else ""


def held_lines(held: Sequence[Held]) -> Iterator[str]:
    """Yield a line per held effect, and one line where many objects of a kind wait for the same reason."""
    texts = [f"{effect.effect}: {effect.reason}" for effect in held]
    for names, text, effect in zip(together([effect.object for effect in held], texts), texts, held, strict=True):
        if names is not None:
            yield f"held: {names or effect.object}: {text}"


def plain_message(run: Run, files: int) -> str:
    """Return a message that only says how many files change."""
    subject = f"write or remove {files} derived files" if files != 1 else "write or remove 1 derived file"
    return "\n".join([subject, "", *_trailers(run)]) + "\n"


def _trailers(run: Run) -> list[str]:
    whole = [f"{WHOLE}: {run.fleet.read.whole_at}"] if run.fleet.read.whole_at else []
    return [f"{NOW}: {format_time(run.now)}", f"{SOURCE}: {run.commit or 'none'}", *whole]


def policies_digest(fleet: Fleet) -> str:
    """Return 12 hex digits that change with the condition, taint, pulse and notification policies and budgets in force,
    including built-in ones."""
    digest = hashlib.sha256()
    for kind in _POLICY_KINDS:
        for policy in fleet.policies(kind):
            digest.update(repr((policy.id, policy.body)).encode())
    return digest.hexdigest()[:12]


def plain(lines: Iterable[str]) -> Iterable[str]:
    """Make texts safe for one line each of a commit message, whatever an agent's message contains: no newline (it could
    make a trailer), no password in a URL, no control characters, and nothing that closes an issue or notifies
    people."""
    texts = (printable(" ".join(without_secrets(line).split())) for line in lines)
    return map(_without_orders, texts)


def _without_orders(text: str) -> str:
    if "[" in text or "***" in text:
        text = _SKIP.replace(text, lambda match: f"({match[1] or match[2]})")
    lowered = text.lower()
    for signs, pattern in zip(_SIGNS, _REFERENCES, strict=True):
        if any(sign in lowered for sign in signs):
            text = pattern.replace(text, lambda match: f"{match[1]} {match[2]}")
    return text


_LONGEST: Final = 60
#: Kinds that agents write and people do not edit.
_OF_AGENTS: Final = (LEASE, ADAPTER_REPORT, CSR)
#: Annotations for muster's own bookkeeping.
_NOTED: Final = ("muster.dev/", "hive.openshift.io/cluster-pool-spec-hash")
_NOTES: Final = "status.muster."
#: The fact of an entry of these mappings.
_CALLED: Final = {"metadata.annotations": "annotation", "metadata.labels": "label"}


def field_changes(id_: ObjectId, before: Tree, after: Tree) -> Iterator[Transition]:
    """Yield a change for each field of a derived part that differs; bookkeeping is called a note."""
    keys = kind_of(id_).list_keys
    old, new = dict(leaves(before, keys)), dict(leaves(after, keys))
    for label in sorted(old.keys() | new.keys()):
        if old.get(label) != new.get(label):
            was, now = (_fact(label, values) for values in (old, new))
            yield Transition(id_, was, now)


def edited(base: Fleet, head: Fleet, ids: Iterable[ObjectId]) -> Iterator[Transition]:
    """Yield what people changed in objects that both fleets declare: labels, the set of a cluster, annotations, and
    fields of the spec. Taints are shown as derived."""
    for id_ in sorted(ids):
        if id_ in base.objects and id_ in head.objects and is_edited(id_):
            yield from declared_changes(id_, base.objects[id_].body, head.objects[id_].body)


def declared_changes(id_: ObjectId, before: Tree, after: Tree) -> Iterator[Transition]:
    """Yield the same for one object, from its declared body before and after."""
    old, new = _declared(id_, before), _declared(id_, after)
    for label in sorted(old.keys() | new.keys()):
        if old.get(label) != new.get(label):
            yield Transition(id_, old.get(label), new.get(label))


def is_edited(id_: ObjectId) -> bool:
    """Do people write the object's files, and not agents?"""
    return kind_of(id_) not in _OF_AGENTS


def _declared(id_: ObjectId, body: Tree) -> dict[str, Fact]:
    labels = dict(mapping_at(body, "metadata", "labels"))
    facts = list[Fact]()
    if MANAGED_CLUSTER.has(id_):
        facts.append(Fact("set", text=labels.pop(CLUSTER_SET, "") or DEFAULT))
    facts += [Fact("label", name, str(value) or "''") for name, value in labels.items()]
    annotations = mapping_at(body, "metadata", "annotations")
    facts += [Fact("annotation", name, _short(value)) for name, value in annotations.items()]
    kind = kind_of(id_)
    spec = {name: value for name, value in mapping_at(body, "spec").items() if name != "taints" or kind not in CLUSTERS}
    facts += [Fact("edited", path, text) for path, text in leaves({"spec": spec}, kind.list_keys)]
    return {fact.label: fact for fact in facts}


def leaves(tree: Tree, keys: ListKeys, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the short value of each field below a tree. Elements of keyed lists have their keys as
    steps."""
    if isinstance(tree, dict) and tree:
        for name, value in tree.items():
            text = str(name)
            step = f".{text}" if path and text.isidentifier() else text if not path else f"[{text}]"
            yield from leaves(value, keys, f"{path}{step}")
    elif isinstance(tree, list) and tree and any(isinstance(item, dict) for item in tree):
        fields = keys.get(path, ())
        for number, item in enumerate(tree):
            key = element_key(item, fields) if fields else None
            yield from leaves(item, keys, f"{path}[{':'.join(filter(None, key)) if key else number}]")
    else:
        yield path, ", ".join(map(str, tree)) if isinstance(tree, list) else _short(tree)


def _short(value: Tree) -> str:
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _fact(label: str, values: dict[str, str]) -> Fact | None:
    sort, name = "field", label
    for path, called in _CALLED.items():
        if label.startswith((f"{path}.", f"{path}[")):
            sort, name = called, label[len(path) :].strip(".[]")
    if name.startswith(_NOTED if sort == "annotation" else _NOTES):
        sort, name = "note", name.removeprefix(_NOTES)
    return Fact(sort, name, values[label] or "''") if label in values else None


def transitions_of(fleet: Fleet) -> list[Transition]:
    """Return what this run changes, sorted by object and field."""
    transitions = list(placement_changes(fleet))
    placed = {change.object for change in transitions}
    for id_ in sorted({*fleet.previous, *fleet.decided} - fleet.beyond.standing):
        if fleet.texts.get(id_, "") is None:
            continue  # its file stays
        before = fleet.previous.get(id_)
        after = derived_body(id_, fleet.decisions(id_))
        if before != after and id_.kind != PLACEMENT_DECISION.name:
            obj = fleet.objects.get(id_)
            if after is None and obj is not None:  # muster has nothing more to say of it, and it is still there
                after = _as_reported(obj.body, before)
            elif before is None and obj is not None and obj.kind in _SOMETIMES_DERIVED:
                before = _as_reported(obj.body, after)
            of_object = object_changes(id_, before, after, partial(source_of, fleet, id_), set_of(fleet, id_))
            transitions.extend(c for c in of_object if c.fact.sort not in UNTOLD or id_ not in placed)
    return sorted(transitions, key=lambda change: (change.object, change.field))


#: Kinds of which muster derives something only at times: that it begins to makes no new object.
_SOMETIMES_DERIVED: Final = frozenset((MANAGED_CLUSTER_ADD_ON, MULTI_CLUSTER_INGRESS))


def _as_reported(body: Tree, before: Tree) -> Tree:
    """The object without a derived part: the conditions that muster decided are what their agent reports."""
    decided = {condition.get("type") for condition in mappings_at(before, "status", "conditions")}
    reported = [
        condition for condition in mappings_at(body, "status", "conditions") if condition.get("type") in decided
    ]
    identity = {name: before[name] for name in ("apiVersion", "kind", "metadata") if name in before}
    lease = {"spec": mapping_at(body, "spec")} if body.get("kind") == LEASE.name else {}
    return {**identity, **({"status": {"conditions": reported}} if reported else {}), **lease}


def set_of(fleet: Fleet, id_: ObjectId) -> str:
    """Return the set that a cluster names by its label; empty for none, and for other kinds."""
    obj = fleet.objects.get(id_)
    return str(obj.labels.get(CLUSTER_SET) or "") if obj is not None and obj.kind is MANAGED_CLUSTER else ""


def object_changes(
    id_: ObjectId, before: Tree, after: Tree, source: Callable[[Fact | None], str], own_set: str = ""
) -> Iterator[Transition]:
    """Yield what changed of an object whose derived part was `before` and is `after` (None: there is none).

    `source` returns the rule behind a fact; `own_set` is the set that a cluster names by its label, if known.
    """
    if PROJECTION.has(id_):  # its files say it
        before, after = before or {}, after or {}
    if LEASE.has(id_) and before is not None and after is not None:
        yield Transition(
            id_, _there(id_, before), Fact("", text="renewed by its agent", sentence=f"{id_}: its agent renews it")
        )
        return
    if before is None or after is None:
        yield Transition(
            id_, None if before is None else _there(id_, before), None if after is None else _there(id_, after)
        )
    if after is None:
        return
    old, new = facts_of(before), facts_of(after)
    if before is None:
        new.pop("set", None)  # the first set of a cluster is no news
    elif "set" in old and "set" not in new and not _is_denied(new):
        new["set"] = Fact("set", text=own_set or "named by its label")
    differing = sorted(label for label in {*old, *new} if old.get(label) != new.get(label))
    for label in differing:
        yield Transition(id_, old.get(label), new.get(label), source(new.get(label) or old.get(label)))
    if before is not None and not differing:
        yield from field_changes(id_, before, after)


def _is_denied(facts: Mapping[str, Fact]) -> bool:
    accepted = facts.get(f"condition {ACCEPTED}")
    return accepted is not None and accepted.text != "True"


def _there(id_: ObjectId, body: Tree) -> Fact:
    """muster has derived state for the object; of an awaited Lease, since when the agent is awaited."""
    declared = id_.kind == "ClusterDeployment" and "spec" in body  # else it is a person's, and only reported on
    word = "created" if declared else ""
    since = renew_time(body) if LEASE.has(id_) else None
    text = "derived" if since is None else f"derived, as if renewed at {since}"
    of_others = id_.kind == "ClusterDeployment" and not declared
    return Fact("", text=text, word=word, gone="removed" if id_.kind in NOUNS and not of_others else "")


def source_of(fleet: Fleet, id_: ObjectId, fact: Fact | None) -> str:
    """Return the rule behind a fact: that of the decision whose path ends with the fact's name."""
    for path, decision in fleet.decisions(id_).items():
        last = path[-1]
        if fact is not None and isinstance(last, tuple) and ":".join(last) == fact.name:
            return decision.because.rule
    return ""
