"""Upstream's rollout handler in the words of the cases, with a switch for each thing that muster decides otherwise.

A port of `rollout.go` of sdk-go that shares nothing with muster's own rules. With no switch it must give what a case
expects; with all switches, what muster is held to.
"""

import re
from collections.abc import Iterable, Set
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil
from typing import Any

from muster.data.times import format_time, parse_duration, parse_time

Json = Any

#: switch -> what muster decides (docs/rollouts.md tells users the same).
SWITCHES = {
    "order": "mandatory groups go in the order of the list, then groups by index, then names",
    "counts": "failures count before anything is cut off at maxConcurrency; all that is in flight is listed",
    "tolerates": "maxFailures above the number of clusters tolerates all",
    "mandatory": "the mandatory step looks at the clusters of mandatory groups only",
    "unknown": "a mandatory group that does not exist holds the rollout",
    "waits": "a group is waited for while a cluster is to apply, progressing or soaking",
    "frees": "a tolerated failure without a deadline frees its place at once",
    "deadline": "a cluster that does not report what it was given has until progressDeadline, too",
    "gaps": "a gap in the indexes of groups loses no group, and a decision without an index is of the first",
}
_BODY = {"All": "all", "Progressive": "progressive", "ProgressivePerGroup": "progressivePerGroup"}
_DONE = ("Succeeded", "Skip", "TimeOut", "ToApply")


class Refused(Exception):  # noqa: N818 - what upstream's handler does
    """The strategy cannot be followed."""


def size(value: Json, total: int, default: int, on: Set[str] = frozenset()) -> int:
    """`calculateRolloutSize`."""
    if isinstance(value, str):
        if not re.fullmatch(r"-?\d+(\.\d+)?%", value):
            raise Refused(f"'{value}' is an invalid maximum threshold value: string is not a percentage")
        length = ceil(Fraction(value[:-1]) * total / 100)
    else:
        length = value or 0
    if length > total and "tolerates" in on:
        return total
    return default if length <= 0 or length > total else length


def seconds(value: Json) -> float | None:
    """`parseTimeout`; None: never."""
    if value in (None, "", "None"):
        return None
    if not re.match(r"[0-9]+[h|m|s]", value):
        raise Refused(f"invalid timeout format: {value}")
    try:
        return parse_duration(value).total_seconds()
    except ValueError:
        raise Refused(f"invalid timeout format: {value}") from None


def rolled_out(given: Json, on: Set[str] = frozenset()) -> Json:
    """`GetRolloutCluster`: the whole expectation of a case of a strategy."""
    try:
        return _Handler(given, on).outcome()
    except Refused as error:
        return {"error": True, "error_contains": str(error)}


class _Handler:
    def __init__(self, given: Json, on: Set[str]) -> None:
        self.on, self.now = on, parse_time(given["now"])
        strategy = given["strategy"]
        self.type = strategy.get("type", "")
        if self.type not in _BODY:
            raise Refused("incorrect rollout strategy type")
        self.body = strategy.get(_BODY[self.type]) or {}
        deadline = seconds(self.body.get("progressDeadline"))
        self.deadline = None if deadline is None else timedelta(seconds=deadline)
        soak = self.body.get("minSuccessTime") if self.type != "All" else None
        self.soak = parse_duration(soak) if soak else timedelta(0)
        groups = sorted(given["groups"], key=lambda group: group["index"])
        if "gaps" not in on:
            groups = [group for position, group in enumerate(groups) if group["index"] < len(groups)]
        self.mandatory, self.rest = self._split(groups)
        self.groups = [*self.mandatory, *self.rest] if "order" in on else groups
        self.group_of = {name: group for group in self.groups for name in group["clusters"]}
        everyone = (
            sorted(self.group_of) if "order" not in on else [n for g in self.groups for n in sorted(g["clusters"])]
        )
        self.position = {name: position for position, name in enumerate(everyone)}
        existing = given.get("existing") or []
        self.removed = [status for status in existing if status["cluster"] not in self.group_of]
        self.existing = sorted(
            (status for status in existing if status["cluster"] in self.group_of),
            key=lambda status: self.position[status["cluster"]],
        )

        sent = ({**s, "status": "Progressing"} if s["status"] == "ToApply" else s for s in given.get("stale") or ())
        judged = [self.judged(status) for status in sent if status["cluster"] in self.group_of]
        #: Clusters in flight with an earlier revision.
        self.stale = {
            s["cluster"]
            for s in judged
            if s["status"] == "Progressing" or (s["status"] == "Failed" and "recheckTime" in s)
        }
        self.stale_times = [s["recheckTime"] for s in judged if s["cluster"] in self.stale and "recheckTime" in s]

    def outcome(self) -> Json:
        rolling, timed_out, breach = self._found()
        if "counts" in self.on or "waits" in self.on:
            timed_out = [s for s in map(self.judged, self.existing) if s["status"] == "TimeOut" and "recheckTime" in s]
        news = {status["cluster"] for status in self.existing}
        rolling.sort(key=lambda status: (status["cluster"] not in news, self.position[status["cluster"]]))
        timed = [*rolling, *(map(self.judged, self.existing) if "deadline" in self.on else ())]
        until = [status["recheckTime"] for status in timed if "recheckTime" in status]
        times = [parse_time(text) for text in (*until, *self.stale_times)]
        first = min((time for time in times if time > self.now), default=None)
        return {
            "error": False,
            "clustersToRollout": rolling,
            "clustersTimeOut": timed_out,
            "clustersRemoved": self.removed,
            "maxFailureBreach": breach,
            "recheckAt": None if first is None else format_time(first),
        }

    def _split(self, groups: list[Json]) -> tuple[list[Json], list[Json]]:
        named: list[Json] = []
        for key in self.body.get("mandatoryDecisionGroups") or ():
            name, index = key.get("groupName", ""), key.get("groupIndex", 0)
            meant = [g for g in groups if (g.get("name", "") == name if name else g["index"] == index)]
            if not meant and "unknown" in self.on:
                raise Refused("there is no decision group")
            named += [group for group in meant if group not in named]
        if "order" not in self.on:
            named.sort(key=lambda group: group["index"])
        return named, [group for group in groups if group not in named]

    def judged(self, status: Json) -> Json:
        """`determineRolloutStatus`."""
        since = status.get("lastTransitionTime")
        start = parse_time(since) if since else self.now
        if status["status"] == "Succeeded" and self.now < (end := start + self.soak):
            return {**status, "recheckTime": _at(end)}
        waits = "deadline" in self.on and status["status"] == "ToApply" and since
        if (status["status"] in _DONE and not waits) or self.deadline is None:
            return status
        end = start + self.deadline
        return {**status, "recheckTime": _at(end), **({} if self.now < end else {"status": "TimeOut"})}

    def _found(self) -> tuple[list[Json], list[Json], bool]:
        if self.type == "All":
            rolling, timed_out, _ = self._scan(self.existing, None)
            return rolling + self._missing(self.groups), timed_out, False
        if self.mandatory:
            rolling, timed_out, breach = self._by_group(self.mandatory, 0, strict=True)
            if rolling or timed_out or (breach and "mandatory" in self.on):
                if "mandatory" in self.on:
                    rolling += [s for s in self._scan(self._of(self.rest), None)[0] if s["status"] != "ToApply"]
                return rolling, timed_out, breach
        if self.type == "ProgressivePerGroup":
            return self._by_group(self.rest, self.body.get("maxFailures"), strict="mandatory" in self.on)
        return self._progressive()

    def _progressive(self) -> tuple[list[Json], list[Json], bool]:
        existing = self._of(self.rest)
        total = sum(len(group["clusters"]) for group in self.rest)
        tolerated = size(self.body.get("maxFailures"), len(self.group_of), 0, self.on)
        try:
            most = size(self.body.get("maxConcurrency"), total, total, self.on)
        except Refused as error:
            raise Refused(f"failed to parse the provided maxConcurrency: {error}") from None
        if "counts" not in self.on:
            rolling, timed_out, failures = self._scan(existing, most)
            if failures > tolerated:
                return [s for s in rolling if s["status"] != "ToApply"], timed_out, True
            return rolling + self._missing(self.rest)[: max(0, most - len(rolling))], timed_out, False
        rolling, timed_out, failures = self._scan(existing, None)
        flying = [status for status in rolling if status["status"] != "ToApply"]
        if failures > tolerated:
            return flying, timed_out, True
        held = flying
        if "frees" in self.on:
            held = [s for s in flying if s["status"] != "Failed" or "recheckTime" in s]
        waiting = [s for s in rolling if s["status"] == "ToApply"] + self._missing(self.rest)
        places = most - len(held) - len(self.stale - {status["cluster"] for status in existing})
        for status in waiting:  # those in flight with an earlier revision have their place
            own = status["cluster"] in self.stale
            if not own and places <= 0:
                break
            flying.append(status)
            places -= not own
        return flying, timed_out, False

    def _scan(self, existing: Iterable[Json], most: int | None) -> tuple[list[Json], list[Json], int]:
        """`progressivePerCluster`: what exists, until so many are being rolled out."""
        rolling, timed_out, failures = [], [], 0
        for before in existing:
            status = self.judged(before)
            if status["status"] == "TimeOut":
                failures += 1
                if "recheckTime" in status:
                    timed_out.append(status)
                continue
            failures += status["status"] == "Failed"
            soaking = status["status"] == "Succeeded" and "recheckTime" in status
            if soaking or status["status"] not in ("Succeeded", "Skip"):
                rolling.append(status)
            if most is not None and len(rolling) == most:
                break
        return rolling, timed_out, failures

    def _by_group(self, groups: list[Json], most: Json, *, strict: bool) -> tuple[list[Json], list[Json], bool]:
        of_these = strict and "mandatory" in self.on
        existing = self._of(groups) if of_these else self.existing
        rolling, timed_out, _ = self._scan(existing, None)
        total = 0
        for group in groups:
            failures = self._scan(self._of([group]), None)[2]
            total += failures
            rolling += self._missing([group])
            breach = failures > size(most, len(group["clusters"]), 0, self.on)
            waited = len(rolling) - total
            if "waits" in self.on:
                waited = sum(status["status"] != "Failed" for status in rolling)
            if waited > 0 or breach:
                return rolling, timed_out, breach
        return rolling, timed_out, False

    def _of(self, groups: list[Json]) -> list[Json]:
        names = {name for group in groups for name in group["clusters"]}
        return [status for status in self.existing if status["cluster"] in names]

    def _missing(self, groups: list[Json]) -> list[Json]:
        there = {status["cluster"] for status in self.existing}
        names = {name for group in groups for name in group["clusters"]} - there
        return [
            with_group({"cluster": name, "status": "ToApply"}, self.group_of[name])
            for name in sorted(names, key=self.position.__getitem__)
        ]


def tracked(given: Json, on: Set[str] = frozenset()) -> Json:
    """`PlacementDecisionClustersTracker`: what changed, and the groups that keys name."""
    if "gaps" not in on and any(decision.get("groupIndex") is None for decision in given["decisions"]):
        return {"error": True}
    merged: dict[tuple[int, str], set[str]] = {}
    for decision in given["decisions"]:
        index = int(decision.get("groupIndex") or 0)
        merged.setdefault((index, decision.get("groupName") or ""), set()).update(decision["clusters"])
    groups: list[Json] = [{"name": k[1], "index": k[0], "clusters": sorted(merged[k])} for k in sorted(merged)]
    before = {name for group in given.get("before") or () for name in group["clusters"]}
    after = {name for group in groups for name in group["clusters"]}
    known = groups if "gaps" in on else [group for group in groups if group["index"] < len(groups)]
    named: list[Json] = []
    for key in given.get("keys") or ():
        name, index = key.get("groupName", ""), key.get("groupIndex", 0)
        named += [g for g in known if (g["name"] == name if name else g["index"] == index) and g not in named]
    rest = [group for group in known if group not in named]
    if "order" not in on:
        named.sort(key=lambda group: group["index"])
    return {
        "error": False,
        "added": sorted(after - before),
        "removed": sorted(before - after),
        "named": named,
        "rest": rest,
    }


def with_group(status: Json, group: Json) -> Json:
    """A status with the group of its cluster, as the cases write it."""
    if name := group.get("name"):
        status["group"] = name
    if index := group["index"]:
        status["groupIndex"] = index
    return status


def _at(instant: datetime) -> str:
    return format_time(instant)
