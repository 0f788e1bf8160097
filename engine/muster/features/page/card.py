"""What a cluster's page says first: how the cluster is, why, what changes next, and what is known of it."""

from collections.abc import Iterable, Iterator, Set

from muster.cli.cells import condition, short_label
from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import CSR, LEASE, MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import emit
from muster.fleet.objects import Object
from muster.rules.policies.csr import issued_certificate
from muster.rules.remedies.grounds import ORIGINS
from muster.rules.stages import ROLLOUTS
from muster.rules.taints.keys import TAINT_RECORDS
from muster.run.run import Run


def card(run: Run, obj: Object, ids: Iterable[ObjectId]) -> Tree:
    """Return the card of a cluster; `ids` are its objects, the cluster among them."""
    home = list(ids)
    body = run.fleet.whole(obj.id)
    lease = next((run.fleet.whole(id_) for id_ in home if LEASE.has(id_)), None)
    headline = run.fleet.decisions(obj.id).get(("status", "conditions", (obj.kind.headline,)))
    expires = headline.horizon if headline is not None else None
    return {
        "why": str(condition(body, obj.kind.headline).get("message") or ""),
        "next": _next(run, home),
        "version": version_of(body),
        "lease": {
            "renewed": str(dig(lease, "spec", "renewTime") or ""),
            "seconds": dig(lease, "spec", "leaseDurationSeconds") or dig(body, "spec", "leaseDurationSeconds"),
            "expires": format_time(expires) if expires else "",
        },
        "capacity": _capacity(body),
        "conditions": list(_conditions(run, obj, body)),
        "alerts": sorted(alert_conditions(run)),
        "taints": list(_taints(run, obj, body)),
        "remedies": [[str(one.get("action")), str(one.get("remedy"))] for one in mappings_at(body, *map(str, ORIGINS))],
        "addons": [_line(run, id_, "Available") for id_ in home if MANAGED_CLUSTER_ADD_ON.has(id_)],
        "works": [_line(run, id_, "Applied", "Available") for id_ in home if MANIFEST_WORK.has(id_)],
        "rollouts": [
            {
                "rollout": key,
                **{name: str(entry.get(name, "")) for name in ("revision", "stage", "state", "since", "gate")},
            }
            for key, entry in sorted(mapping_at(body, *map(str, ROLLOUTS)).items())
        ],
        "certificates": [
            {"request": id_.name, "user": found.user, "from": format_time(found.begin), "until": format_time(found.end)}
            for id_ in home
            if CSR.has(id_) and (found := issued_certificate(run.fleet.whole(id_))) is not None
        ],
        "labels": {str(name): str(text) for name, text in mapping_at(body, "metadata", "labels").items()},
        "yaml": emit(body),
    }


def version_of(body: Tree) -> str:
    """The version of Kubernetes that a cluster reports; empty if it reports none."""
    return str(dig(body, "status", "version", "kubernetes") or dig(body, "status", "kubernetesVersion") or "")


def _next(run: Run, home: Iterable[ObjectId]) -> Tree:
    """The first thing that time alone may change."""
    due = [
        (decision.horizon, str(id_), field_name(path))
        for id_ in home for path, decision in run.fleet.decisions(id_).items() if decision.horizon is not None
    ]  # fmt: skip
    if not due:
        return None
    at, object_, what = min(due)
    return {"at": format_time(at), "object": object_, "what": what}


def field_name(path: Path) -> str:
    """The last part of a field's path, short: the type of a condition, a taint."""
    last = path[-1]
    if path[:-1] == ROLLOUTS:
        return f"rollout {last}"
    return short_label(":".join(filter(None, last)) if isinstance(last, tuple) else last)


def _capacity(body: Tree) -> Tree:
    capacity, left = mapping_at(body, "status", "capacity"), mapping_at(body, "status", "allocatable")
    return [[name, str(capacity.get(name, "-")), str(left.get(name, "-"))] for name in sorted({*capacity, *left})]


def _conditions(run: Run, obj: Object, body: Tree) -> Iterator[Tree]:
    decided = run.fleet.decisions(obj.id)
    for one in mappings_at(body, "status", "conditions"):
        type_ = str(one.get("type"))
        yield {
            "type": type_, "status": str(one.get("status") or ""), "reason": str(one.get("reason") or ""),
            "message": str(one.get("message") or ""), "since": str(one.get("lastTransitionTime") or ""),
            **_because(decided.get(("status", "conditions", (type_,)))),
        }  # fmt: skip


def alert_conditions(run: Run) -> Set[str]:
    """The types of the conditions that are alerts of an Alertmanager (`Fleet.spec.collectors`)."""
    rules = mappings_at(run.fleet.settings.spec, "collectors", "alertmanager")
    return {str(rule["condition"]) for rule in rules if rule.get("condition")}


def _taints(run: Run, obj: Object, body: Tree) -> Iterator[Tree]:
    decided = run.fleet.decisions(obj.id)
    declared = {(one.get("key"), one.get("effect")): part.source for part in obj.parts
                for one in mappings_at(part.body, "spec", "taints")}  # fmt: skip
    records = list(mappings_at(body, *map(str, TAINT_RECORDS)))
    policies = {(one.get("key"), one.get("effect")): one for one in reversed(records)}  # the first decides
    for one in mappings_at(body, "spec", "taints"):
        key, effect = str(one.get("key")), str(one.get("effect"))
        rule = next((
            decision for path, decision in decided.items()
            if path[:2] == ("spec", "taints") and isinstance(path[-1], tuple) and {key, effect} <= {*path[-1]}
        ), None)  # fmt: skip
        value = f"={one['value']}" if one.get("value") else ""
        source = declared.get((key, effect))
        because = _because(None if source else rule)
        policy = policies.get((key, effect))
        by = "" if source else f"TaintPolicy/{policy['policy']}" if policy else because["rule"].partition("#")[0]
        file = {"path": source.path, "ref": source.ref} if source else None
        yield {
            "taint": f"{key}{value}:{effect}",
            "since": str(one.get("timeAdded") or ""),
            **because,
            "by": by,
            "file": file,
        }


def _because(decision: Decision | None) -> dict[str, Tree]:
    """The rule behind a decision, its reason, and until when it holds; empty for what others wrote."""
    if decision is None:
        return {"rule": "", "why": "", "until": ""}
    until = format_time(decision.horizon) if decision.horizon else ""
    return {"rule": decision.because.rule, "why": decision.because.text, "until": until}


def _line(run: Run, id_: ObjectId, *types: str) -> Tree:
    body = run.fleet.whole(id_)
    return [id_.name, *(str(condition(body, type_).get("status") or "") for type_ in types)]
