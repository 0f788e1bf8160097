"""What a run changes, in the fleet's terms: the transitions that a commit message lists and a plan shows.

Compares the derived part of each object as the last run left it with the one that this run decided.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from muster.answers.change import Change
from muster.answers.placed import placement_changes
from muster.decide.taints import taint_key, taint_text
from muster.fleet.derived import derived_body
from muster.fleet.fleet import Fleet
from muster.model.ids import ObjectId
from muster.model.kinds import ACCEPTED, BY_NAME, MANAGED_CLUSTER, PLACEMENT_DECISION, kind_of
from muster.model.tree import Tree, dig, mapping_at, mappings_at

#: The field of a change that no fact tells.
DETAILS = "details"

#: Reads the comparable facts of one sort from a derived part: label of the field -> (value, note).
Facts = Callable[[Tree], Mapping[str, tuple[str, str]]]


def changes(fleet: Fleet) -> list[Change]:
    """Return what this run changes, sorted by object and field."""
    found = list(placement_changes(fleet))
    told = {change.object for change in found}
    for id_ in sorted({*fleet.previous, *fleet.decided}):
        before = fleet.previous.get(id_)
        after = derived_body(id_, fleet.decisions(id_))
        if before != after and id_.kind != PLACEMENT_DECISION.name:
            found.extend(c for c in _of_object(fleet, id_, before, after) if c.field != DETAILS or id_ not in told)
    return sorted(found, key=lambda change: (change.object, change.field))


def _of_object(fleet: Fleet, id_: ObjectId, before: Tree, after: Tree) -> Iterator[Change]:
    if before is None or after is None:
        yield Change(id_, "", "" if before is None else "derived", "derived" if before is None else "")
    told = False
    for facts in FACTS:
        old, new = facts(before), facts(after)
        for field in sorted({*old, *new}):
            was, is_ = old.get(field, ("", "")), new.get(field, ("", ""))
            if was != is_ and after is not None:
                told = True
                before_text, after_text = was[0], is_[0]
                if before_text == after_text:  # only the reason is another one
                    before_text, after_text = f"{was[0]} {was[1]}".strip(), f"{is_[0]} {is_[1]}".strip()
                yield Change(id_, field, before_text, after_text, is_[1], _source(fleet, id_, field))
    if not told and before is not None and after is not None:
        yield Change(id_, DETAILS, "", "changed")


def _source(fleet: Fleet, id_: ObjectId, field: str) -> str:
    """The rule behind a field: that of the decision whose path the field's label names."""
    _, _, name = field.partition(" ")
    for path, decision in fleet.decisions(id_).items():
        last = path[-1]
        if isinstance(last, tuple) and ":".join(last) == name:
            return decision.because.rule
    return ""


def _conditions(body: Tree) -> dict[str, tuple[str, str]]:
    return {
        f"condition {condition.get('type')}": (str(condition.get("status")), str(condition.get("reason") or ""))
        for condition in mappings_at(body, "status", "conditions")
    }


def _taints(body: Tree) -> dict[str, tuple[str, str]]:
    taints = mappings_at(body, "spec", "taints")
    kind = BY_NAME[body["kind"]] if taints else MANAGED_CLUSTER
    keys = ((taint_key(kind, one), one) for one in taints)
    # Where the value tells taints apart, it is in the name already.
    return {
        f"taint {taint_text(key)}": (str((one.get("value") if len(key) == 2 else "") or "present"), "")
        for key, one in keys
    }


def _generation(body: Tree) -> dict[str, tuple[str, str]]:
    value = dig(body, "metadata", "generation")
    return {"generation": (str(value), "")} if value is not None else {}


def _remedies(body: Tree) -> dict[str, tuple[str, str]]:
    """Remedy actions, each with the Remedies that ask for it."""
    names: dict[str, list[str]] = {}
    for entry in mappings_at(body, "status", "muster", "remedies"):
        names.setdefault(str(entry.get("action")), []).append(str(entry.get("remedy")))
    return {f"remedy {action}": ("applied", ", ".join(found)) for action, found in names.items()}


def _held(body: Tree) -> dict[str, tuple[str, str]]:
    """Effects that a budget holds back."""
    entries = mappings_at(body, "status", "muster", "held")
    return {f"held {entry.get('effect')}": ("held", str(entry.get("heldBy") or "")) for entry in entries}


def _pending(body: Tree) -> dict[str, tuple[str, str]]:
    """Outcomes that must last before they are adopted."""
    return {
        f"pending {type_}": (str(entry.get("status")), f"since {entry.get('since')}")
        for type_, entry in mapping_at(body, "status", "muster", "pending").items()
        if isinstance(entry, dict)
    }


def _blocks(body: Tree) -> dict[str, tuple[str, str]]:
    """Clusters that get no traffic."""
    return {f"traffic to {name}": ("blocked", "") for name in dig(body, "status", "trafficBlockClusters") or ()}


def _report(body: Tree) -> dict[str, tuple[str, str]]:
    """The report of an adapter that counts."""
    accepted = dig(body, "status", "muster", "accepted")
    if not isinstance(accepted, dict):
        return {}
    available = next(
        (c.get("status") for c in mappings_at(accepted, "conditions") if c.get("type") == "Available"), "-"
    )
    told = f"generation {accepted.get('observed_generation')}, Available={available}"
    return {"report": (str(accepted.get("observed_time")), told)}


def _agent_ref(body: Tree) -> dict[str, tuple[str, str]]:
    """The ref that a cluster's agents speak through."""
    ref = dig(body, "status", "muster", "agentRef")
    return {"agent ref": (str(ref), "")} if ref else {}


def _pools(body: Tree) -> dict[str, tuple[str, str]]:
    """What a pool does with its clusters and claims."""
    if dig(body, "kind") == "ClusterClaim":
        cluster = dig(body, "spec", "namespace")
        ended = dig(body, "metadata", "deletionTimestamp")
        return {
            **({"assigned cluster": (str(cluster), "")} if cluster else {}),
            **({"claim": ("ended", f"at {ended}")} if ended else {}),
        }
    if dig(body, "kind") == "ClusterPool":
        counts = mapping_at(body, "status", "muster", "buckets")
        return {"clusters": (", ".join(f"{number} {name}" for name, number in counts.items()) or "none", "")}
    if dig(body, "kind") != "ClusterDeployment":
        return {}
    bucket = dig(body, "status", "muster", "bucket")
    power, deleted = dig(body, "spec", "powerState"), dig(body, "metadata", "deletionTimestamp")
    return {
        **({"bucket": (str(bucket), "")} if bucket else {}),
        **({"power state": (str(power), "")} if power else {}),
        **({"deletion": ("asked for", f"at {deleted}{_why_broken(body)}")} if deleted else {}),
    }


def _why_broken(body: Tree) -> str:
    """Why a cluster of a pool is broken, in full: a commit is the last place where that is read."""
    broken = next((c for c in mappings_at(body, "status", "conditions") if c.get("type") == "Broken"), {})
    return f", {broken.get('reason')}: {broken.get('message')}" if broken.get("status") == "True" else ""


#: One entry per sort of fact. A stage that decides something new that people should see adds one.
FACTS: list[Facts] = [
    _report,
    _conditions,
    _taints,
    _remedies,
    _blocks,
    _held,
    _pending,
    _pools,
    _agent_ref,
    _generation,
]

#: The condition by which a kind is judged at a glance, and the word for each status.
_HEADLINES = {
    "ManagedCluster": (MANAGED_CLUSTER.headline, {"True": "available", "False": "unavailable"}),
    "Cluster": ("Ready", {"True": "ready", "False": "not ready"}),
    "NodePool": ("Ready", {"True": "ready", "False": "not ready"}),
    "AdapterReport": ("Accepted", {"True": "accepted", "False": "discarded"}),
}
#: Kinds that are bookkeeping: counted only where nothing else is to tell.
_SILENT = frozenset(("Lease", "ClusterPool", "ClusterDeployment", "ManagedClusterSet", "ManagedClusterSetBinding"))
_NOUNS = {
    "ManagedCluster": "cluster",
    "Cluster": "cluster",
    "NodePool": "node pool",
    "Placement": "placement",
    "AdapterReport": "report",
    "ClusterDeployment": "pool cluster",
    "ClusterClaim": "claim",
}


#: Buckets of a pool's cluster that are news, in the words of a subject line.
_BUCKET_WORDS = {"assignable": "assignable", "standby": "standing by", "broken": "broken"}


def summary(found: Iterable[Change]) -> str:
    """Return the subject line: `3 clusters Unknown, 1 cluster accepted`; what nobody has a word for is counted."""
    counted: dict[str, dict[str, set[ObjectId]]] = {}
    rest: set[ObjectId] = set()
    for change in found:
        word = _word(change)
        if word is None:
            rest.add(change.object)
        else:
            counted.setdefault(word, {}).setdefault(_noun(change), set()).add(change.object)
    told = {id_ for by_noun in counted.values() for ids in by_noun.values() for id_ in ids}
    terms = [
        _count(len(by_noun[noun]), noun, word)
        for word, by_noun in sorted(counted.items(), key=lambda item: (_ORDER.get(item[0], 50), item[0]))
        for noun in sorted(by_noun)
    ]
    if others := {id_ for id_ in rest - told if not (terms and id_.kind in _SILENT)}:
        terms.append(_count(len(others), "object", "updated"))
    return ", ".join(terms) if terms else "nothing changed"


_ORDER = {
    "Unknown": 0,
    "unavailable": 1,
    "not ready": 1,
    "not reconciled": 1,
    "available": 2,
    "ready": 2,
    "reconciled": 2,
    "accepted": 3,
    "denied": 3,
    "discarded": 3,
    "exceeded": 4,
    "met again": 4,
    "applied": 5,
    "lifted": 5,
    "rerouted": 6,
    "removed": 9,
}


def _word(change: Change) -> str | None:
    kind = change.object.kind
    if change.after and change.after.partition(" ")[0] == change.before.partition(" ")[0]:
        return None  # the status is the same, only its reason is not
    if not change.field and kind in _NOUNS and not change.after:
        return "removed"
    if kind == "Placement" and change.field.startswith("cluster "):
        return "changed"
    type_, words = _HEADLINES.get(kind, ("", {}))
    if change.field == f"condition {type_}" and change.after:
        return words.get(change.after, change.after)
    if change.field == "bucket" and change.after in _BUCKET_WORDS:
        return _BUCKET_WORDS[change.after]
    if change.field == "condition Ready" and change.after and kind != "ClusterDeployment":
        return {"True": "ready", "False": "not ready"}.get(change.after, change.after)
    if change.field == "condition Reconciled" and change.after:
        return {"True": "reconciled", "False": "not reconciled"}.get(change.after, change.after)
    if change.field == "report" and change.after:
        return "accepted"
    if change.field == f"condition {ACCEPTED}" and change.after:
        return "accepted" if change.after == "True" else "denied"
    if change.field == "deletion" and change.after:
        return "being deleted"
    if change.field == "assigned cluster" and change.after:
        return "assigned"
    if change.field == "power state" and change.after and change.before:
        return "resumed" if change.after == "Running" else "sent to sleep"
    if not change.field and kind == "ClusterDeployment" and change.after:
        return "created"
    if change.field.startswith("remedy "):
        return "applied" if change.after else "lifted"
    if change.field.startswith("traffic to "):
        return "rerouted"
    if change.field == "held removal":
        return "kept from removal" if change.after else None
    if change.field == "condition DisruptionHeld":
        return "exceeded" if change.after == "True" else "met again"
    return None


#: What is counted is not always the object itself: a remedy is applied to it.
_COUNTED = {"remedy": "remedy", "traffic": "ingress", "condition DisruptionHeld": "budget"}


def _noun(change: Change) -> str:
    sort = change.field if change.field in _COUNTED else change.field.partition(" ")[0]
    return _COUNTED.get(sort) or _NOUNS.get(change.object.kind, kind_of(change.object).name)


_PLURALS = {"remedy": "remedies", "ingress": "ingresses"}


def _count(number: int, noun: str, word: str) -> str:
    return f"{number} {noun if number == 1 else _PLURALS.get(noun, f'{noun}s')} {word}"
