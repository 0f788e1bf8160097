"""From committed transitions to messages: which are notified, in which groups, and from when on.

Unlike stages this runs after the commit. Messages are stored before anything is sent. If a policy fails, the transition
is notified, because silence would look like good news.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from muster import cel
from muster.data.kinds import kind_of
from muster.data.notices import Message, Notice, digest
from muster.data.printable import counted
from muster.data.times import later
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.rules.calendars.calendar import Calendar
from muster.rules.conditions.stage import guards_hold, holds
from muster.rules.effects.freeze import FROZEN_BY
from muster.rules.failures import PolicyFailure
from muster.rules.notifications.policy import NotificationPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import PolicyScope
from muster.rules.policies.scopes import Scopes

#: Transitions per message: receivers refuse long ones.
MOST_TOGETHER: Final = 1000
#: Waiting transitions, some ten MB: if a sink is gone for good, the oldest messages are dropped.
MOST_WAITING: Final = 20_000
_WHEN, _RESOLVED, _BY = ("spec", "when"), ("spec", "resolvedWhen"), ("spec", "group", "by")


def messages(
    fleet: FleetWithPolicies, notices: Iterable[Notice], pending: Iterable[Message], now: datetime
) -> list[Message]:
    """Return the `pending` messages with these transitions added, to them or to new ones; sorted by due time."""
    notices = _with_held(list(notices))
    by_id = {message.id: message for message in pending}
    open_ = {_group(message): message.id for message in by_id.values() if message.due > now}
    scopes, calendars = Scopes.of(fleet, fleet.rules, now), fleet.rules.calendars_by_name
    for notice in notices:
        for policy in fleet.compiled.of(NotificationPolicy):
            selected = _selected(scopes, policy, notice)
            if selected is None:
                continue
            key, notified = selected
            fresh = _message(policy, key, notified, now, calendars)
            id_ = open_.setdefault(_group(fresh), fresh.id)
            if id_ in by_id and len(by_id[id_].notices) >= MOST_TOGETHER:
                id_ = open_[_group(fresh)] = fresh.id
            if id_ not in by_id:
                by_id[id_] = fresh
            elif notice.id not in {known_notice.id for known_notice in by_id[id_].notices}:
                by_id[id_] = replace(by_id[id_], notices=(*by_id[id_].notices, notified))
    return sorted(by_id.values(), key=lambda message: (message.due, message.id))


def _with_held(notices: list[Notice]) -> list[Notice]:
    """The transitions; those of freezes say how many effects they hold from now on, or no longer hold."""
    held = Counter((notice.reason, notice.after != "") for notice in notices if notice.sort == "held")

    def with_count(notice: Notice) -> Notice:
        begins = notice.after != ""
        count = held[f"{FROZEN_BY} {notice.name}", begins]
        text = f"{counted(count, 'effect')} {'held' if begins else 'released'}"
        reason = f"{notice.reason}; {text}" if notice.reason else text
        return replace(notice, reason=reason, text=f"{notice.text}; {text}")

    return [with_count(notice) if notice.sort == FROZEN_BY else notice for notice in notices]


def bounded(waiting: Iterable[Message]) -> frozenset[str]:
    """Return the ids of the newest messages within the limit."""
    ids, room = set[str](), MOST_WAITING
    for message in sorted(waiting, key=lambda message: (message.due, message.id), reverse=True):
        room -= len(message.notices)
        if room < 0 and ids:
            break
        ids.add(message.id)
    return frozenset(ids)


def _group(message: Message) -> tuple[str, str, str]:
    return message.policy, message.key, message.severity


def _message(
    policy: NotificationPolicy, key: str, notice: Notice, now: datetime, calendars: Mapping[str, Calendar]
) -> Message:
    due = later(now, policy.window) or now
    if policy.quiet is not None and policy.severity not in policy.quiet.exceptions:
        due = policy.quiet.over(due, calendars)
    id_ = digest((policy.id.name, key, notice.id))
    return Message(id_, policy.id.name, key, policy.severity, policy.sinks, due, (notice,))


def _selected(scopes: Scopes, policy: NotificationPolicy, notice: Notice) -> tuple[str, Notice] | None:
    """The group of the transition, and the transition, which may end an incident; None if the policy does not notify
    it."""
    kind = kind_of(notice.object)
    if kind not in policy.target.kinds:
        return None
    obj = scopes.view.declared(scopes.view.objects.get(notice.object) or _bare(notice))
    if not policy.target.selects(obj):
        return None
    scope = scopes.for_policy(policy, scopes.base(obj), notice.object)
    scope["change"] = change_tree(notice)
    resolves = _resolves(policy, scope)
    try:
        if not (guards_hold(policy.guards, scope) and (resolves or holds(policy.when, scope, "when", _WHEN))):
            return None
    except PolicyFailure:
        pass  # unknown whether to notify: notify
    return _key(policy, scope), replace(notice, resolves=True) if resolves else notice


def _resolves(policy: NotificationPolicy, scope: PolicyScope) -> bool:
    """Does the transition end an incident? Not if that cannot be said: an incident that stays open is looked at."""
    try:
        return policy.resolved is not None and holds(policy.resolved, scope, "resolvedWhen", _RESOLVED)
    except PolicyFailure:
        return False


def _bare(notice: Notice) -> Object:
    """A removed object: only its name is known."""
    id_ = notice.object
    namespace = {"namespace": id_.namespace} if id_.namespace else {}
    return Object(id_, {"kind": id_.kind, "metadata": {"name": id_.name, **namespace}}, ())


def _key(policy: NotificationPolicy, scope: PolicyScope) -> str:
    if policy.by is None:
        return ""
    try:
        return str(scope.evaluate(policy.by, _BY))
    except cel.EvaluationError:
        return ""


def change_tree(notice: Notice) -> Tree:
    """Return a transition as expressions and receivers see it."""
    id_ = notice.object
    return {
        "kind": id_.kind,
        "namespace": id_.namespace,
        "object": id_.name,
        "sort": notice.sort,
        "name": notice.name,
        "before": notice.before,
        "after": notice.after,
        "reason": notice.reason,
    }
