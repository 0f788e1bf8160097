"""Upstream's controller of ManifestWorkReplicaSets in the words of the cases: one whole pass, or its status step.

A port of ocm's `manifestworkreplicaset_*_reconcile.go` that shares nothing with muster's own rules. `theirs` must give
what a case expects wherever muster differs from it; `ours` is what muster is held to there: the same pass with every
difference that docs/rollouts.md lists.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from muster.data.times import format_time, parse_time
from tests.conformance.rollout_upstream import SWITCHES, rolled_out

Json = Any

_API = "work.open-cluster-management.io"
OWNER, PLACED = f"{_API}/manifestworkreplicaset", f"{_API}/placementname"
FINALIZER = f"{_API}/manifest-work-cleanup"
_DECISIONS = "cluster.open-cluster-management.io"
VERIFIED, ROLLED_OUT, APPLIED = "PlacementVerified", "PlacementRolledOut", "ManifestworkApplied"
COUNTED = ("Applied", "Available", "Progressing", "Degraded")
_LONGEST = 63


def theirs(given: Json) -> Json:
    """What upstream's pass gives."""
    return _Pass(given, ours=False).outcome()


def ours(given: Json) -> Json:
    """What muster's gives."""
    return _Pass(given, ours=True).outcome()


def the_set(given: Json) -> Json:
    """The set of a case."""
    return next(body for body in given["objects"] if body["kind"] == "ManifestWorkReplicaSet")


def own_works(given: Json) -> list[Json]:
    """The set's works, by cluster and name."""
    own = the_set(given)["metadata"]
    label = f"{own['namespace']}.{own['name']}"
    works = [body for body in given["objects"] if body["kind"] == "ManifestWork"]
    mine = [work for work in works if work["metadata"].get("labels", {}).get(OWNER) == label]
    return sorted(mine, key=lambda work: (work["metadata"]["namespace"], work["metadata"]["name"]))


def groups_of(given: Json, namespace: str, name: str) -> list[Json]:
    """The decision groups of a Placement, from its PlacementDecisions."""
    found: dict[tuple[int, str], list[str]] = {}
    for body in given["objects"]:
        labels = body["metadata"].get("labels") or {}
        if body["kind"] != "PlacementDecision" or body["metadata"]["namespace"] != namespace:
            continue
        if labels.get(f"{_DECISIONS}/placement") == name:
            index, group = (labels.get(f"{_DECISIONS}/decision-group-{part}") for part in ("index", "name"))
            key = int(index or 0), group or ""
            names = [one["clusterName"] for one in body.get("status", {}).get("decisions") or ()]
            found.setdefault(key, []).extend(names)
    return [{"name": k[1], "index": k[0], "clusters": sorted(set(found[k]))} for k in sorted(found)]


def counts_of(works: Iterable[Json], total: int, *, current: bool) -> Json:
    """A summary: of conditions that are True; `current`: of the work's present generation."""
    known = list(works)
    return {"total": total} | {
        type_.lower(): sum(
            any(
                one["type"] == type_
                and one["status"] == "True"
                and (not current or one.get("observedGeneration") == work["metadata"].get("generation"))
                for one in _conditions(work)
            )
            for work in known
        )
        for type_ in COUNTED
    }


def work_state(work: Json, now: datetime, *, ours: bool) -> Json:
    """`getRolloutStatus`; ours: not applied and degraded fail, and available is enough without Progressing."""
    generation = work["metadata"].get("generation")
    known = {one["type"]: one for one in _conditions(work)}
    current = {type_: one for type_, one in known.items() if one.get("observedGeneration") == generation}
    applied, progressing, degraded = (current.get(type_, {}) for type_ in ("Applied", "Progressing", "Degraded"))

    def status(state: str, one: Json) -> Json:
        since = one.get("lastTransitionTime") or (format_time(now) if ours else None)
        found = {"cluster": work["metadata"]["namespace"], "status": state}
        return found | ({"lastTransitionTime": since} if since and state != "ToApply" else {})

    to_apply = status("ToApply", {})
    if ours and applied.get("status") == "False":
        return status("Failed", applied)
    if applied.get("status") != "True" or ("Degraded" in known and not degraded):
        return to_apply
    if ours and degraded.get("status") == "True":
        return status("Failed", degraded)
    if not progressing:
        available = current.get("Available", {}).get("status") == "True"
        done = ours and available and "Progressing" not in known
        return status("Succeeded", applied) if done else to_apply
    if progressing["status"] == "True" and degraded.get("status") == "True":
        return status("Failed", degraded)
    return status("Succeeded" if progressing["status"] == "False" else "Progressing", progressing)


def _conditions(work: Json) -> list[Json]:
    return list(work.get("status", {}).get("conditions") or ())


@dataclass
class _Found:
    """What the placements of a pass give together."""

    created: list[Json] = field(default_factory=list)
    updated: list[Json] = field(default_factory=list)
    deleted: list[Json] = field(default_factory=list)
    summaries: list[Json] = field(default_factory=list)
    selected: int = 0
    succeeded: int = 0
    soaking: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    rechecks: list[str] = field(default_factory=list)
    error: str = ""


class _Pass:
    def __init__(self, given: Json, *, ours: bool) -> None:
        self.given, self.ours, self.now = given, ours, parse_time(given["now"])
        self.set = the_set(given)
        meta = self.set["metadata"]
        self.name, self.namespace = meta["name"], meta["namespace"]
        self.owner = f"{self.namespace}.{self.name}"
        works = own_works(given)
        # muster removes a work at once: none is ever being deleted.
        self.works = [w for w in works if not (ours and w["metadata"].get("deletionTimestamp"))]
        self.before = self.set.get("status") or {}
        self.conditions = {one["type"]: one for one in self.before.get("conditions") or ()}
        self.found, self.placed = _Found(), dict[str, int]()

    def outcome(self) -> Json:
        meta = self.set["metadata"]
        finalizers = list(meta.get("finalizers") or ())
        if self.given.get("step") == "status" and not self.ours:
            return self._status_step(finalizers)
        if meta.get("deletionTimestamp"):
            if self.ours or FINALIZER in finalizers:
                self._delete(self.works)
                foreground = self.set["spec"].get("cascadeDeletionPolicy") == "Foreground"
                if not (foreground and self.works):
                    finalizers = [one for one in finalizers if one != FINALIZER]
            return self._result(self._kept_summary(), finalizers)
        if FINALIZER not in finalizers and not self.ours:
            return self._result(self._kept_summary(), [*finalizers, FINALIZER])
        if len(self.owner) > _LONGEST:
            text = (
                f'ManifestWork owner reference "{self.owner}" (namespace.name) is not a valid label value: must be no '
                "more than 63 bytes; recreate the ManifestWorkReplicaSet with a shorter namespace and/or name so the "
                "combined length is at most 63 characters"
            )
            self._say(APPLIED, "False", "InvalidManifestWorkName", text)
            return self._result(self._kept_summary(), finalizers)
        if not self._deploy():
            self._say(VERIFIED, "False", "PlacementDecisionNotFound")
            # The status step counts again, against the old total; muster leaves all that as it was.
            return self._result(self._kept_summary(), finalizers)
        return self._result(self._concluded(), finalizers)

    # -- deploy

    @property
    def refs(self) -> list[Json]:
        return list(self.set["spec"]["placementRefs"])

    def _deploy(self) -> bool:
        """Go through the placements; False if one is missing."""
        named = {ref["name"] for ref in self.refs}
        there = {
            body["metadata"]["name"]
            for body in self.given["objects"]
            if body["kind"] == "Placement" and body["metadata"]["namespace"] == self.namespace
        }
        if not self.ours:
            left = [work for work in self.works if work["metadata"]["labels"].get(PLACED) not in named]
            self._delete(left)
            self.works = [work for work in self.works if work not in left]
        for number, ref in enumerate(self.refs):
            if ref["name"] not in there:
                if self.ours:
                    self._remove(named)
                return False
            self._placement(number, ref)
        if self.ours:
            self._remove(set())
        return True

    def _remove(self, keeping: set[str]) -> None:
        gone = [work for work in self.works if work["metadata"]["namespace"] not in self.placed]
        self._delete(work for work in gone if work["metadata"]["labels"].get(PLACED) not in keeping)

    def _placement(self, number: int, ref: Json) -> None:
        name, found = ref["name"], self.found
        groups = groups_of(self.given, self.namespace, name)
        if self.ours:
            for group in groups:
                for cluster in group["clusters"]:
                    self.placed.setdefault(cluster, number)
                group["clusters"] = [c for c in group["clusters"] if self.placed[c] == number]
        clusters = [cluster for group in groups for cluster in group["clusters"]]
        own = {
            work["metadata"]["namespace"]: work
            for work in reversed(self.works)
            if self.ours or work["metadata"]["labels"].get(PLACED) == name
        }
        if self.ours:
            own = {cluster: work for cluster, work in own.items() if cluster in clusters}
        template = self.set["spec"]["manifestWorkTemplate"]
        existing = {cluster: work for cluster, work in own.items() if work["spec"] == template}
        states = {c: work_state(w, self.now, ours=self.ours) for c, w in own.items()}
        given = {
            "now": self.given["now"],
            "strategy": ref.get("rolloutStrategy") or {"type": "All"},
            "groups": groups,
            "existing": [states[cluster] for cluster in sorted(existing)],
            "stale": [states[c] for c in sorted(own.keys() - existing.keys())] if self.ours else [],
        }
        step = rolled_out(given, SWITCHES.keys() if self.ours else frozenset())
        if step["error"]:
            found.error = step["error_contains"]
            if self.ours:
                found.stopped.append(f"the strategy of placement {name} cannot be followed: {found.error}")
                self._relabel(name, own, ())
                self._count(name, groups, clusters, existing, ())
            return
        turn = [one["cluster"] for one in step["clustersToRollout"] if one["status"] == "ToApply"]
        for cluster in turn:
            self._apply(name, cluster, own.get(cluster), template)
        if self.ours:
            self._relabel(name, own, turn)
        else:
            self._delete(own[one["cluster"]] for one in step["clustersRemoved"])
        found.rechecks += [step["recheckAt"]] * bool(step["recheckAt"])
        self._count(name, groups, clusters, existing, set(turn) - existing.keys())
        done = {cluster for cluster in existing if states[cluster]["status"] == "Succeeded" and cluster in clusters}
        soaking = [one for one in step["clustersToRollout"] if one["status"] == "Succeeded"]
        found.succeeded += len(done)
        found.soaking += [one["recheckTime"] for one in soaking]
        if step["maxFailureBreach"]:
            failed = [one["cluster"] for one in (*step["clustersToRollout"], *step["clustersTimeOut"])]
            failed = sorted(c for c in failed if c in existing and self._failed(states[c], step))
            count = f"{len(failed)} cluster{'' if len(failed) == 1 else 's'}"
            found.stopped.append(f"{count} failed: {', '.join(failed)}")

    def _failed(self, state: Json, step: Json) -> bool:
        timed_out = {one["cluster"] for one in step["clustersTimeOut"]}
        return state["status"] == "Failed" or state["cluster"] in timed_out

    def _apply(self, name: str, cluster: str, work: Json, template: Json) -> None:
        if work is None:
            more = self.set["metadata"].get("labels") or {}
            self.found.created.append({"cluster": cluster, "placement": name} | ({"labels": more} if more else {}))
            return
        labels = {**(self.set["metadata"].get("labels") or {}), OWNER: self.owner, PLACED: name}
        changed = ["template"] * (work["spec"] != template) + ["labels"] * (work["metadata"]["labels"] != labels)
        self._update(work, changed)

    def _relabel(self, name: str, own: Mapping[str, Json], turn: Iterable[str]) -> None:
        for cluster in own.keys() - set(turn):
            if own[cluster]["metadata"]["labels"].get(PLACED) != name:
                self._update(own[cluster], ["labels"])

    def _update(self, work: Json, changed: list[str]) -> None:
        if changed:
            meta = work["metadata"]
            self.found.updated.append({"cluster": meta["namespace"], "name": meta["name"], "changed": changed})

    def _delete(self, works: Iterable[Json]) -> None:
        for work in works:
            self.found.deleted.append({"cluster": work["metadata"]["namespace"], "name": work["metadata"]["name"]})

    def _count(
        self, name: str, groups: list[Json], clusters: list[str], existing: Mapping[str, Json], new: Iterable[str]
    ) -> None:
        known = [work for cluster, work in existing.items() if cluster in clusters]
        total, selected = len(known) + len(list(new)), len(clusters)
        if not self.ours:
            known = [work for work in known if not work["metadata"].get("deletionTimestamp")]
            selected = self._number_selected(name)
        text = f"{len({group['index'] for group in groups})} ({total} / {selected} clusters applied)"
        summary = counts_of(known, total, current=self.ours)
        self.found.summaries.append({"name": name, "availableDecisionGroups": text, **summary})
        self.found.selected += selected

    def _number_selected(self, name: str) -> int:
        found = next(
            body
            for body in self.given["objects"]
            if body["kind"] == "Placement"
            and (body["metadata"]["namespace"], body["metadata"]["name"]) == (self.namespace, name)
        )
        return int(found.get("status", {}).get("numberOfSelectedClusters") or 0)

    # -- status

    def _concluded(self) -> tuple[Json, list[Json]]:
        found = self.found
        names = ("total", *(type_.lower() for type_ in COUNTED))
        summary = {name: sum(one[name] for one in found.summaries) for name in names}
        empty = not summary["total"]
        self._say(VERIFIED, *(("False", "PlacementDecisionEmpty") if empty else ("True", "AsExpected")))
        self._say(ROLLED_OUT, *(self._ours_rolled_out() if self.ours else self._theirs_rolled_out()))
        self._say(APPLIED, *_applied(summary, empty=empty))
        return summary, found.summaries

    def _theirs_rolled_out(self) -> tuple[str, str]:
        complete = self.found.selected == self.found.succeeded
        return ("True", "Complete") if complete else ("False", "Progressing")

    def _ours_rolled_out(self) -> tuple[str, str, str]:
        found, soaking = self.found, len(self.found.soaking)
        done = found.succeeded - soaking
        if found.stopped:
            return "False", "Stopped", "; ".join(found.stopped)
        if found.selected and done == found.selected:
            return "True", "Complete", ""
        if not found.selected:
            return "False", "Progressing", "no placement chooses a cluster"
        if soaking and done + soaking == found.selected:
            number = f"{soaking} cluster{'' if soaking == 1 else 's'}"
            return "False", "Soaking", f"{number} until {max(found.soaking)}"
        return "False", "Progressing", ""

    def _status_step(self, finalizers: list[str]) -> Json:
        """Only the status step: counts against the total that the deploy step left."""
        before = self.before.get("summary") or {}
        placements = []
        for one in self.before.get("placementSummary") or ():
            own = [w for w in self.works if w["metadata"]["labels"].get(PLACED) == one["name"]]
            placements.append(
                {key: one[key] for key in ("name", "availableDecisionGroups")} | self._counted(own, one["summary"])
            )
        summary = self._counted(self.works, before)
        said = self.conditions.get(VERIFIED) or {}
        empty = not summary["total"] and said.get("reason") == "PlacementDecisionEmpty"
        self._say(APPLIED, *_applied(summary, empty=empty))
        return self._result((summary, placements), finalizers)

    def _counted(self, works: Iterable[Json], before: Json) -> Json:
        known = [work for work in works if not work["metadata"].get("deletionTimestamp")]
        return counts_of(known, before.get("total") or 0, current=False)

    def _kept_summary(self) -> tuple[Json, list[Json]]:
        names = ("total", *(type_.lower() for type_ in COUNTED))
        summary = {name: (self.before.get("summary") or {}).get(name, 0) for name in names}
        placements = [
            {key: one[key] for key in ("name", "availableDecisionGroups")}
            | {n: one["summary"].get(n, 0) for n in names}
            for one in self.before.get("placementSummary") or ()
        ]
        return summary, placements

    @property
    def _goes_on(self) -> bool:
        """A pass after which everything is rolled out asks for no other."""
        return self.ours or self.conditions.get(ROLLED_OUT, {}).get("status") != "True"

    def _say(self, type_: str, status: str, reason: str, message: str = "") -> None:
        """A condition; only a new status is a transition."""
        old = self.conditions.get(type_) or {}
        since = old["lastTransitionTime"] if old.get("status") == status else format_time(self.now)
        self.conditions[type_] = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        }

    def _result(self, counted: tuple[Json, list[Json]], finalizers: list[str]) -> Json:
        found = self.found
        never = {"desiredTotal": 0, "updated": 0}
        return {
            "error": bool(found.error) and not self.ours,
            "error_contains": "" if self.ours else found.error,
            "works": {
                "created": ordered(found.created),
                "updated": ordered(found.updated),
                "deleted": ordered(found.deleted),
            },
            "conditions": self.conditions,
            "summary": {**counted[0], **never},
            "placementSummary": counted[1],
            "finalizers": finalizers,
            "recheckAt": min(found.rechecks, default=None) if self._goes_on else None,
        }


def ordered(entries: Iterable[Json]) -> list[Json]:
    """Entries of works by cluster."""
    return sorted(entries, key=lambda one: (one["cluster"], one.get("placement", ""), one.get("name", "")))


def _applied(summary: Json, *, empty: bool) -> tuple[str, str]:
    if empty:
        return "False", "PlacementDecisionEmpty"
    if summary["available"] == summary["total"] and not summary["progressing"] and not summary["degraded"]:
        return ("True", "AsExpected") if summary["total"] else ("False", "NotAsExpected")
    return "False", "Processing" if summary["progressing"] and not summary["degraded"] else "NotAsExpected"
