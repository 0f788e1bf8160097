"""What the page says of one cluster: the summary of it, and its objects, files and decided fields with rules."""

from collections.abc import Iterable, Mapping, Set

from muster.cli.cells import condition, short_label
from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, CSR, MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK, is_cluster
from muster.data.times import format_time
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.data.yaml.emitter import emit
from muster.features.explain.reads import field_label
from muster.features.page.trees import trees_of
from muster.fleet.leases import counting_lease
from muster.fleet.neighbourhoods import neighbourhood_names
from muster.rules.policies.csr import issued_certificate
from muster.rules.stages import ROLLOUTS
from muster.run.cluster_summary import ClusterSummary, TaintSummary, conditions_of
from muster.run.run import Run


class ClusterDetails:
    """The details of clusters: their objects, files, and decided fields with rules."""

    def __init__(self, run: Run) -> None:
        self._run, self._files = run, _files(run)
        self._by_name: dict[str, list[ObjectId]] = {}
        for id_, home in neighbourhood_names(run.fleet).of.items():
            self._by_name.setdefault(home, []).append(id_)
        for obj in run.fleet.clusters():
            self._by_name.setdefault(obj.id.name, [obj.id])
        names = {obj.id.name for obj in run.fleet.clusters()}
        self._trees = trees_of(run, {name: ids for name, ids in self._by_name.items() if name in names})

    def of(self, name: str) -> list[Tree]:
        """The details of one cluster."""
        ordered = sorted(self._by_name[name], key=lambda id_: (not is_cluster(id_), id_.kind, id_.namespace, id_.name))
        return [
            _object(self._run, id_, self._files.get(id_, ()), self._trees(id_) if is_cluster(id_) else {})
            for id_ in ordered
        ]

    def lease_files(self, name: str) -> list[str]:
        """The files of the cluster's Lease that are on the branch."""
        lease = counting_lease(self._run.fleet, name)
        return [path for path, ref in self._files.get(lease, ()) if not ref]

    def card(self, name: str) -> Tree:
        """What the cluster's page says first: how the cluster is, why, what changes next, and what is known of it."""
        return _card(self._run, self._summary(name), self._by_name[name])

    def _summary(self, name: str) -> ClusterSummary:
        ids = (kind.id(name) for kind in CLUSTERS)
        return ClusterSummary.of(self._run, next(id_ for id_ in ids if id_ in self._run.fleet.objects))


def _files(run: Run) -> Mapping[ObjectId, list[tuple[str, str]]]:
    """The files of each object: path, and the agent's branch if it is on one."""
    files: dict[ObjectId, list[tuple[str, str]]] = {}
    for part in run.fleet.read.parts:
        place = (part.source.path, part.source.ref)
        if place not in (places := files.setdefault(part.id, [])):
            places.append(place)
    return files


def _object(run: Run, id_: ObjectId, files: Iterable[tuple[str, str]], trees: Mapping[str, Tree]) -> Tree:
    decided = run.fleet.decisions(id_)
    fields = [_field(path, decision, trees) for path, decision in decided.items() if decision.value is not None]
    return {
        "id": str(id_),
        "files": [{"path": path, "ref": ref} for path, ref in sorted(files)],
        "fields": sorted(fields, key=lambda field: str(field["field"])),
    }


def _field(path: Path, decision: Decision, trees: Mapping[str, Tree]) -> dict[str, Tree]:
    value, because, label = decision.value, decision.because, field_label(path)
    return {
        "field": label,
        "value": value,
        "rule": because.rule,
        "why": because.text,
        "tree": trees.get(label),
        "until": format_time(decision.horizon) if decision.horizon else "",
    }


def _card(run: Run, summary: ClusterSummary, ids: Iterable[ObjectId]) -> Tree:
    """The card of a cluster; `ids` are its objects, the cluster among them."""
    home, body, lease = list(ids), summary.body, summary.lease
    return {
        "why": summary.state.message,
        "next": _next(run, home),
        "version": summary.version,
        "lease": {
            "renewed": lease.renewed if lease else "",
            "seconds": lease.seconds if lease else None,
            "expires": format_time(summary.expires) if summary.expires else "",
        },
        "capacity": _capacity(body),
        "conditions": [
            {
                "type": reported.type,
                "status": reported.status,
                "reason": reported.reason,
                "message": reported.message,
                "since": reported.since,
                **_because(reported.decision),
            }
            for reported in conditions_of(run, summary.id, body)
        ],
        "alerts": sorted(alert_conditions(run)),
        "taints": list(map(_taint, summary.taints)),
        "remedies": list(map(list, summary.remedies)),
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


def _next(run: Run, home: Iterable[ObjectId]) -> Tree:
    """The first thing that time alone may change."""
    due = [
        (decision.horizon, str(id_), field_name(path))
        for id_ in home
        for path, decision in run.fleet.decisions(id_).items()
        if decision.horizon is not None
    ]
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


def alert_conditions(run: Run) -> Set[str]:
    """The types of the conditions that are alerts of an Alertmanager (`Fleet.spec.collectors`)."""
    rules = mappings_at(run.fleet.settings.spec, "collectors", "alertmanager")
    return {str(rule["condition"]) for rule in rules if rule.get("condition")}


def _taint(taint: TaintSummary) -> Tree:
    because = _because(taint.decision)
    by = "" if taint.file else f"TaintPolicy/{taint.policy}" if taint.policy else because["rule"].partition("#")[0]
    file = {"path": taint.file.path, "ref": taint.file.ref} if taint.file else None
    return {"taint": str(taint), "since": taint.since, **because, "by": by, "file": file}


def _because(decision: Decision | None) -> dict[str, str]:
    """The rule behind a decision, its reason, and until when it holds; empty for what others wrote."""
    if decision is None:
        return {"rule": "", "why": "", "until": ""}
    until = format_time(decision.horizon) if decision.horizon else ""
    return {"rule": decision.because.rule, "why": decision.because.text, "until": until}


def _line(run: Run, id_: ObjectId, *types: str) -> Tree:
    body = run.fleet.whole(id_)
    return [id_.name, *(str(condition(body, type_).get("status") or "") for type_ in types)]
