"""The page's data about the fleet: a row per cluster, details of clusters, Placements, and shared objects."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nsmallest
from itertools import islice

from muster.cli import cells
from muster.cli.cells import condition, held_effects, short_label
from muster.cli.waiting import cluster_of, waiting
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    CLUSTER_CLAIM,
    CLUSTER_DEPLOYMENT,
    CLUSTER_POOL,
    CSR,
    FLEET,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_SET,
    MULTI_CLUSTER_INGRESS,
    PLACEMENT,
    REMEDY,
    ROLLOUT,
)
from muster.data.times import format_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.features.page.details import field_name
from muster.fleet.clusters import CLUSTER_SET, parse_members
from muster.fleet.fleet import sorted_objects
from muster.fleet.objects import Object
from muster.rules.checks.waivers import shown
from muster.rules.effects.allowance import Allowance
from muster.rules.placements.reasons import Why, why_each
from muster.rules.progress.step import TO_APPLY
from muster.rules.remedies.grounds import ORIGINS
from muster.rules.rollouts.policy import Rollout
from muster.rules.rollouts.progress import entries_of
from muster.rules.rollouts.reasons import clusters_of_rollout
from muster.rules.rollouts.status import ROLLED_OUT
from muster.run.cluster_summary import cluster_state, version_of
from muster.run.run import Run

#: Limits of what changes next: decisions looked at, lines, and objects named in each.
_MAX_DUE, _MAX_NEXT, _MAX_NAMES = 2000, 8, 5
#: How many of the clusters that a Placement does not choose are listed; the reasons count all.
_MAX_LEFT_OUT = 500


def placement_details(run: Run) -> Iterator[Tree]:
    """Yield each Placement: the clusters that it chooses, and why it does not choose the others."""
    placements = run.fleet.of(PLACEMENT)
    all_choices = why_each(run.fleet, run.now, [obj.id for obj in placements])
    for obj, choices in zip(placements, all_choices, strict=True):
        body = run.fleet.whole(obj.id)
        left_out = [choice for choice in choices if not choice.selected]
        counts = Counter(choice.rule for choice in left_out)
        yield {
            "namespace": obj.id.namespace,
            "name": obj.id.name,
            "wanted": dig(obj.spec, "numberOfClusters"),
            "satisfied": str(condition(body, "PlacementSatisfied").get("status") or ""),
            "reason": str(condition(body, "PlacementSatisfied").get("reason") or ""),
            "chosen": [_choice(choice) for choice in choices if choice.selected],
            "left": [_choice(choice) for choice in left_out[:_MAX_LEFT_OUT]],
            "reasons": [{"rule": rule, "count": count} for rule, count in counts.most_common()],
        }


def _choice(choice: Why) -> Tree:
    return {
        "cluster": choice.cluster,
        "why": choice.text,
        "rank": choice.rank,
        "score": choice.total if choice.scores else None,
    }


#: Labels with a cluster's region; the first that it has counts.
REGIONS = ("region", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """The overview's data about single clusters: the row of each cluster, the Remedies applied to it, when time alone
    may change it next, adapters' reports, and the certificate requests that wait."""

    rows: Mapping[ObjectId, Tree]
    applied: Mapping[ObjectId, Sequence[str]]
    due: Mapping[ObjectId, tuple[datetime, str]]
    adapters: Mapping[ObjectId, Tree]
    requests: Mapping[ObjectId, dict[str, str]]

    @classmethod
    def of(cls, run: Run, names: Container[str] | None = None) -> "ClusterRows":
        """The rows of a run, for the clusters with these names; all with None."""
        clusters = [obj for obj in run.fleet.clusters() if names is None or obj.id.name in names]
        reports = [obj for obj in run.fleet.of(ADAPTER_REPORT) if names is None or obj.id.namespace in names]
        origins = {obj.id: run.fleet.now(obj.id, *ORIGINS) or () for obj in clusters}
        return cls(
            {obj.id: _row(run, obj) for obj in clusters},
            {id_: sorted({str(entry.get("remedy")) for entry in entries}) for id_, entries in origins.items()},
            {obj.id: due for obj in clusters if (due := _due(run, obj)) is not None},
            {obj.id: _report(run, obj) for obj in reports},
            {id_: request for id_, request in _requests(run) if names is None or _home(id_, request) in names},
        )

    def updated(self, run: Run, names: Collection[str]) -> "ClusterRows":
        """The rows after a run of the clusters with these names. KeyError if another cluster has no row."""
        new, ids = ClusterRows.of(run, names), [obj.id for obj in run.fleet.clusters()]
        kept = {id_: report for id_, report in self.adapters.items() if id_.namespace not in names}
        reports = {**kept, **new.adapters}
        requests = {id_: request for id_, request in self.requests.items() if _home(id_, request) not in names} | {
            **new.requests
        }
        return ClusterRows(
            {id_: new.rows[id_] if id_ in new.rows else self.rows[id_] for id_ in ids},
            {id_: new.applied[id_] if id_ in new.applied else self.applied[id_] for id_ in ids},
            {id_: due for id_ in ids if (due := (new if id_ in new.rows else self).due.get(id_)) is not None},
            {id_: reports[id_] for id_ in sorted(reports, key=lambda id_: (id_.namespace, id_.name))},
            {id_: requests[id_] for id_ in sorted(requests)},
        )


def overview(run: Run, title: str, rows: ClusterRows) -> Tree:
    """Return the page's data about the fleet, without details of clusters and Placements."""
    return {
        "title": title,
        "now": format_time(run.now),
        "commit": run.commit or "",
        "next": list(_next(run, rows)),
        "frozen": _frozen(run),
        "requests": list(rows.requests.values()),
        "rollouts": list(_rollouts(run)),
        **_numbered(rows.rows.values()),
        "held": [
            {
                "object": str(held.object),
                "effect": short_label(held.effect),
                "reason": held.reason,
                "topic": held.wait.topic if held.wait else "",
            }
            for held in run.fleet.held
        ],
        "findings": [
            {
                "code": finding.code.value,
                "severity": finding.severity.value,
                "message": finding.message,
                "file": finding.file,
                "line": finding.line,
                "hint": finding.hint,
                "object": str(finding.object) if finding.object else "",
            }
            for finding in shown(run.findings, run.now)
        ],
        "budgets": [used._asdict() for used in (run.terms.of(Allowance).usage if run.terms else ())],
        "sets": list(_sets(run)),
        "pools": list(_pools(run)),
        "remedies": list(_remedies(run, rows)),
        "traffic": list(_traffic(run)),
        "adapters": list(rows.adapters.values()),
    }


def _next(run: Run, rows: ClusterRows) -> Iterator[Tree]:
    """Yield the first things that time alone may change: when, what, and of which clusters; none for another object."""
    expiring: dict[tuple[datetime, str], list[str]] = {}
    for (at, what), object_ in nsmallest(_MAX_DUE, ((due, str(id_)) for id_, due in rows.due.items())):
        expiring.setdefault((at, what), []).append(object_)
    if run.horizon is not None and all(at > run.horizon for at, _ in expiring):
        yield {"at": format_time(run.horizon), "what": "", "objects": [], "count": 0}
    for (at, what), objects in islice(expiring.items(), _MAX_NEXT):
        yield {"at": format_time(at), "what": what, "objects": objects[:_MAX_NAMES], "count": len(objects)}


def _due(run: Run, obj: Object) -> tuple[datetime, str] | None:
    """When time alone may change a cluster next, and what."""
    decided = run.fleet.decisions(obj.id).items()
    return min(((made.horizon, field_name(path)) for path, made in decided if made.horizon is not None), default=None)


def _frozen(run: Run) -> str:
    """Which freezes of the Fleet are in force, in a sentence; empty for none."""
    conditions = (condition(run.fleet.whole(obj.id), "Frozen") for obj in run.fleet.of(FLEET))
    return next((str(frozen.get("message") or "frozen") for frozen in conditions if frozen.get("status") == "True"), "")


def _requests(run: Run) -> Iterator[tuple[ObjectId, dict[str, str]]]:
    """Yield the certificate requests that wait for approval or a signature, with name and cluster."""
    bodies = (run.fleet.whole(obj.id) for obj in run.fleet.of(CSR))
    for body in waiting(bodies, run.fleet.objects):
        yield CSR.id(_name(body)), {"name": _name(body), "cluster": cluster_of(body)}


def _home(request: ObjectId, row: Mapping[str, str]) -> str:
    """The neighbourhood of a request: its cluster's, or its own."""
    return row["cluster"] or request.name


def _rollouts(run: Run) -> Iterator[Tree]:
    for obj in run.fleet.of(ROLLOUT):
        body = run.fleet.whole(obj.id)
        said = condition(body, ROLLED_OUT)
        texts = ("revision", "completed", "started", "stage", "nextStepAt")
        yield {
            "key": f"{obj.id.namespace}/{obj.id.name}",
            "status": str(said.get("status") or ""),
            "reason": str(said.get("reason") or ""),
            "message": str(said.get("message") or ""),
            "since": str(said.get("lastTransitionTime") or ""),
            "stages": mappings_at(body, "status", "stages"),
            "placement": str(dig(obj.spec, "placementRef", "name") or ""),
            **{name: str(dig(body, "status", name) or "") for name in texts},
        }


def rollout_details(run: Run) -> dict[str, list[Tree]]:
    """Return the clusters of each Rollout: name, revision, stage, state, since when, and the gate to pass."""
    rows = {}
    for rollout in run.fleet.compiled.of(Rollout):
        names = clusters_of_rollout(run.fleet, rollout)
        entries = entries_of(run.fleet, map(MANAGED_CLUSTER.id, names), rollout.key)
        rows[rollout.key] = [
            [name, entry.revision, entry.stage, entry.state, format_time(entry.since), entry.gate]
            if (entry := entries.get(name)) is not None
            else [name, "", "", TO_APPLY, "", ""]
            for name in names
        ]
    return rows


def _numbered(rows: Iterable[Tree]) -> Tree:
    """The rows of clusters, with their labels as numbers of `words`: key, value, key, value."""
    words: dict[str, int] = {}
    clusters = [
        [*row[:-1], [words.setdefault(word, len(words)) for pair in row[-1].items() for word in pair]] for row in rows
    ]
    return {"clusters": clusters, "words": list(words)}


def _row(run: Run, obj: Object) -> Tree:
    """A cluster's row: name, kind, accepted, state, reason, since, region, set, taints, held, version, other labels."""
    body = run.fleet.whole(obj.id)
    state, labels = cluster_state(obj.id, body), mapping_at(body, "metadata", "labels")
    region = next((name for name in REGIONS if labels.get(name)), "")
    return [
        obj.id.name,
        obj.kind.name,
        state.accepted,
        state.state,
        state.reason,
        state.since,
        str(labels.get(region) or ""),
        str(labels.get(CLUSTER_SET) or ""),
        _words(cells.taints(body, run.now)),
        "; ".join(held_effects(body)),
        version_of(body),
        {str(name): str(text) for name, text in sorted(labels.items()) if name not in (region, CLUSTER_SET)},
    ]


def _words(cell: str) -> str:
    return "" if cell == "-" else cell


def _sets(run: Run) -> Iterator[Tree]:
    for obj in run.fleet.of(MANAGED_CLUSTER_SET):
        members = parse_members(condition(run.fleet.whole(obj.id), "ClusterSetEmpty").get("message"))
        yield {"name": obj.id.name, "members": members}


def _pools(run: Run) -> Iterator[Tree]:
    deployments, claims = _by_pool(run, CLUSTER_DEPLOYMENT.name), _by_pool(run, CLUSTER_CLAIM.name)
    for obj in run.fleet.of(CLUSTER_POOL):
        body = run.fleet.whole(obj.id)
        key = (obj.id.namespace, obj.id.name)
        yield {
            "namespace": obj.id.namespace,
            "name": obj.id.name,
            "size": obj.spec.get("size"),
            "buckets": mapping_at(body, "status", "muster", "buckets"),
            "note": _words(cells.pool_note(body, run.now)),
            "clusters": [
                {
                    "name": _name(one),
                    "bucket": dig(one, "status", "muster", "bucket") or "",
                    "power": dig(one, "status", "powerState") or "",
                    "why": _words(cells.why(one, run.now)),
                    "claim": dig(one, "spec", "clusterPoolRef", "claimName") or "",
                }
                for one in deployments.get(key, ())
            ],
            "claims": [
                {
                    "name": _name(one),
                    "cluster": dig(one, "spec", "namespace") or "",
                    "state": cells.claim_state(one, run.now),
                    "lifetime": dig(one, "status", "lifetime") or "",
                    "since": condition(one, "Pending").get("lastTransitionTime") or "",
                }
                for one in claims.get(key, ())
            ],
        }


def _by_pool(run: Run, kind: str) -> Mapping[tuple[str, str], list[Tree]]:
    by_pool: dict[tuple[str, str], list[Tree]] = {}
    for id_ in sorted_objects(run.fleet):
        if id_.kind == kind and (body := run.fleet.whole(id_)) is not None:
            ref = mapping_at(body, "spec", "clusterPoolRef")
            namespace = ref.get("namespace") or dig(body, "metadata", "namespace") or ""
            pool = ref.get("poolName") or dig(body, "spec", "clusterPoolName")
            by_pool.setdefault((str(namespace), str(pool)), []).append(body)
    return by_pool


def _remedies(run: Run, rows: ClusterRows) -> Iterator[Tree]:
    applied: dict[str, list[str]] = {}
    for id_, names in rows.applied.items():
        for name in names:
            applied.setdefault(name, []).append(id_.name)
    for obj in run.fleet.of(REMEDY):
        yield {
            "name": obj.id.name,
            "clusters": cells.affinity(obj.body, run.now),
            "actions": cells.texts("spec", "actions")(obj.body, run.now),
            "applied": applied.get(obj.id.name, []),
        }


def _traffic(run: Run) -> Iterator[Tree]:
    for obj in run.fleet.of(MULTI_CLUSTER_INGRESS):
        body = run.fleet.whole(obj.id)
        yield {
            "namespace": obj.id.namespace,
            "name": obj.id.name,
            "services": cells.services(body, run.now),
            "blocked": [str(name) for name in dig(body, "status", "trafficBlockClusters") or ()],
        }


def _report(run: Run, obj: Object) -> Tree:
    """An adapter's report about an object: its generation, and whether it is accepted."""
    body = run.fleet.whole(obj.id)
    return {
        "object": cells.reported_on(body, run.now),
        "adapter": cells.adapter(body, run.now),
        "cluster": obj.id.namespace,
        "generation": dig(body, "spec", "observed_generation"),
        "available": cells.available("spec")(body, run.now),
        "accepted": cells.status("Accepted")(body, run.now),
        "observed": dig(body, "spec", "observed_time") or "",
    }


def _name(body: Tree) -> str:
    return str(dig(body, "metadata", "name") or "")
