"""Budgets: are too many clusters disrupted at once? Decided between conditions and their effects.

A cluster is *disrupted* while a disruptive effect is present or requested. While more clusters are disrupted than a
budget allows, and for its cooldown afterwards, new effects are held. If nearly all clusters are silent, muster suspects
itself first: the Fleet shows since when, and the last lease received. A budget's past (exceeded since, met since) is in
the Fleet's derived part and changes at transitions only.

The last stage records held effects on the objects themselves: `status.muster.held` lists those that a budget holds or
that wait for approval, for the latter since when, which Approvals refer to. Counts of clusters are on the Fleet alone,
because they would change every object. An effect that waits for approval on a broken object goes on waiting, so that
nobody has to approve it twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Held, Input, Path
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, FLEET, is_cluster
from muster.data.names import few
from muster.data.times import earliest, format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.leases import leases_by_cluster, renew_time
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance, Holding, holdings
from muster.rules.effects.approval import REMOVAL, Approvals
from muster.rules.effects.budget import (
    Budget,
    Usage,
    counted_broken_clusters,
    fleet_id,
    has_known_labels,
    headline,
    population,
    sound_override,
)
from muster.rules.effects.freeze import FREEZES, FROZEN_BY, Freeze, freezes_of
from muster.rules.policies.in_force import InForce
from muster.rules.registration.removals import held_removals
from muster.rules.stages import CONDITIONS, Disrupted, Local, Wide
from muster.rules.taints.keys import DISRUPTIVE, taints_by_key
from muster.rules.taints.policy import TaintPolicy
from muster.rules.transitions import condition, unchanged_condition

#: The field of the Fleet's derived part with the state of holding budgets.
STATE = ("status", "muster", "budgets")
#: The field with the freezes in force.
IN_FORCE = ("status", "muster", "freezes")
HELD = "DisruptionHeld"
SUSPECT = "ObserverSuspect"
REMOVED = "RemovalHeld"
FROZEN = "Frozen"
_COUNTED = "how many clusters are disrupted, and how many may be"
_UNREAD_BUDGET = Because("kept", OF_ITSELF, "a DisruptionBudget has an error, so this stays as it is")
_EFFECTS = "New taints, remedy actions, traffic blocks and replacements are held."


def stage(
    shared: Shared, now: datetime, rules: InForce, before: Allowance, disrupted_clusters: Disrupted
) -> Iterator[Decision | Allowance]:
    """Decide which budgets hold, what they allow, and the Fleet's conditions."""
    budgets = before.budgets
    id_ = fleet_id(shared)
    past = _past(shared, id_)
    earlier = holdings(shared.before(past, *STATE), budgets)
    disrupted = disrupted_clusters.clusters.union(_broken_with_effects(shared, rules))
    groups = list(_groups(shared, [budget for budget in budgets if not budget.unread]))
    counts = [sum(obj.id in disrupted for obj in (*group.members, *group.unplaced)) for group in groups]
    judged = (
        _judge(group, count, _earlier_holding(earlier, group), now) for group, count in zip(groups, counts, strict=True)
    )
    holding = [holding for holding in judged if holding is not None]
    unread = [
        Holding(budget, "", 0, 0, 0, suspicious=False, since=now, met=None) for budget in budgets if budget.unread
    ]
    allowance = _allowance(shared, id_, budgets, holding, unread, now)
    yield replace(allowance, approvals=before.approvals, usage=tuple(_usage(groups, counts)))
    because = Because("budgets", tuple(Input(("spec",), budget.id) for budget in budgets) or OF_ITSELF, _COUNTED)
    names = {budget.id.name for budget in budgets if budget.unread}
    retained = [entry for entry in mappings_at(shared.previous.get(past), *STATE) if entry.get("budget") in names]
    yield from _state(shared, id_, holding, retained, because, now)
    conditions = _conditions(shared, (id_, past), holding, groups, because, now)
    yield from _as_they_were(shared, past, conditions, always=bool(retained)) if names else conditions
    yield from _frozen(shared, (id_, past), freezes_of(rules.settings, shared), now)


def _allowance(
    shared: Shared,
    id_: ObjectId,
    budgets: tuple[Budget, ...],
    holding: list[Holding],
    unread: list[Holding],
    now: datetime,
) -> Allowance:
    """What is allowed. A broken Fleet keeps what held at the last run; `unread`: budgets that allow nothing."""
    override = sound_override(shared, id_)
    if override is not None and override.covers(now):
        return Allowance(budgets, (), now)
    last_state = mapping_at({"muster": shared.now(id_, *STATE[:2])}, "muster").get(STATE[2])
    return Allowance(budgets, (*(holding or holdings(last_state, budgets)), *unread), now)


def _broken_with_effects(shared: Shared, rules: InForce) -> Iterator[ObjectId]:
    """The broken clusters with a present or held effect: nothing new is requested, but it is not over. Those that are
    silent, too: their taints wait for the repair, but they serve as little as others that are silent."""
    keys = {(rule.key, rule.effect) for policy in rules.compiled.of(TaintPolicy) for rule in policy.taints}
    for obj in counted_broken_clusters(shared):
        body = shared.previous.get(obj.id)
        present = {key for key in taints_by_key(obj.kind, body) if key[1] in DISRUPTIVE and key[:2] in keys}
        muster = mapping_at(body, "status", "muster")
        waiting = any(entry.get("effect") != REMOVAL for entry in mappings_at(muster, "held"))
        silent = headline(shared, obj) == "Unknown"
        if present or waiting or silent or dig(body, "status", "remedyActions") or muster.get("latched"):
            yield obj.id


def _past(shared: Shared, id_: ObjectId) -> ObjectId:
    """The Fleet whose derived part has the last run's state: another one if it was renamed."""
    fleets = sorted(other for other in shared.previous if (other.group, other.kind) == (id_.group, id_.kind))
    return id_ if id_ in fleets or not fleets else fleets[0]


@dataclass(frozen=True, slots=True)
class _Group:
    """The clusters that a budget counts together: its population, or the part in one failure domain.

    `unplaced`: clusters whose labels cannot be read. Whatever happens to them counts, and they allow nothing more.
    """

    budget: Budget
    domain: str
    members: tuple[Object, ...]
    silent: tuple[Object, ...]
    unplaced: tuple[Object, ...] = ()

    @property
    def allowed(self) -> int:
        return self.budget.allowed(len(self.members))

    @property
    def suspicious(self) -> bool:
        """Are so many silent that muster probably does not receive their reports?"""
        silent = len(self.silent)
        return silent > self.allowed and silent * 100 >= len(self.members) * self.budget.suspicious_share


def _groups(shared: Shared, budgets: Iterable[Budget]) -> Iterator[_Group]:
    clusters = [(obj, headline(shared, obj) == "Unknown") for obj in population(shared)]
    unplaced = tuple(obj for obj, _ in clusters if not has_known_labels(shared, obj))
    for budget in budgets:
        without_domain = unplaced if budget.by_labels else ()
        placed = (cluster for cluster in clusters if cluster[0] not in without_domain) if without_domain else clusters
        by_domain = grouped((budget.domain(cluster[0]), cluster) for cluster in placed if budget.counts(cluster[0]))
        for domain, members in sorted(by_domain.items()):
            unheard = tuple(obj for obj, silent in members if silent)
            yield _Group(budget, domain, tuple(obj for obj, _ in members), unheard, without_domain)


def _earlier_holding(earlier: Iterable[Holding], group: _Group) -> Holding | None:
    same_budget = (
        holding for holding in earlier if (holding.budget.id, holding.domain) == (group.budget.id, group.domain)
    )
    return next(same_budget, None)


def _usage(groups: Iterable[_Group], counts: Iterable[int]) -> Iterator[Usage]:
    nearest: dict[str, Usage] = {}
    for group, count in zip(groups, counts, strict=True):
        usage = Usage(group.budget.id.name, count, group.allowed)
        tightest = nearest.setdefault(usage.budget, usage)
        if usage.allowed - usage.disrupted < tightest.allowed - tightest.disrupted:
            nearest[usage.budget] = usage
    yield from nearest.values()


def _judge(group: _Group, count: int, before: Holding | None, now: datetime) -> Holding | None:
    """The budget's holding in a group with `count` disrupted clusters; None unless it is exceeded or cooling down."""
    exceeded = count > group.allowed or group.suspicious
    if not exceeded and before is None:
        return None
    holding = Holding(
        group.budget,
        group.domain,
        count,
        len(group.members) + len(group.unplaced),
        group.allowed,
        group.suspicious,
        since=before.since if before else now,
        met=None if exceeded or before is None else before.met or now,
    )
    return None if holding.until is not None and now >= holding.until else holding


def _as_they_were(
    shared: Shared, past: ObjectId, conditions: Iterable[Decision], *, always: bool
) -> Iterator[Decision]:
    """The conditions while a budget has an error: no condition ends; `always`: they tell what the budget held last."""
    before = shared.conditions_before(past)
    for decision in conditions:
        type_ = str(decision.path[-1][0])
        if type_ in before and (always or dig(decision.value, "status") == "False"):
            yield unchanged_condition(decision.object, type_, before[type_], _UNREAD_BUDGET)
        else:
            yield decision


def _state(
    shared: Shared, id_: ObjectId, holding: list[Holding], retained: list[Tree], because: Because, now: datetime
) -> Iterator[Decision]:
    """Record the budgets that hold; `retained`: entries of the last run about budgets that have an error now."""
    if not holding and not retained:
        return
    horizon = earliest(*(holding.until for holding in holding), *_expiries(shared, id_, holding, now))
    entries = sorted((*(holding.entry() for holding in holding), *retained), key=_order)
    if id_ in shared.broken:
        # The stage of `muster.rules.retention` decided all of status.muster: replace it as a whole.
        value: Tree = {**mapping_at(shared.previous.get(id_), *STATE[:2]), STATE[2]: entries}
        yield Decision(id_, STATE[:2], value, because, horizon)
    else:
        yield Decision(id_, STATE, entries, because, horizon)


def _order(entry: Tree) -> tuple[str, str]:
    return str(entry.get("budget")), str(entry.get("domain", ""))


def _expiries(shared: Shared, id_: ObjectId, holding: list[Holding], now: datetime) -> list[datetime | None]:
    """When overrides end: effects are held again from then on."""
    counted = (obj for obj in shared.objects.values() if obj.id == id_ or is_cluster(obj.id))
    overrides = [
        *(sound_override(shared, obj.id) for obj in counted),
        *(holding.budget.override for holding in holding),
    ]
    return [override.expiry for override in overrides if override is not None and override.covers(now)]


def _conditions(
    shared: Shared,
    ids: tuple[ObjectId, ObjectId],
    holding: list[Holding],
    groups: list[_Group],
    because: Because,
    now: datetime,
) -> Iterator[Decision]:
    def decide(type_: str, status: str, reason: str, message: str) -> Iterator[Decision]:
        return _condition(shared, ids, type_, (status, reason, message), because, now)

    override = sound_override(shared, ids[0])
    if holding and override is not None and override.covers(now):
        text = f"{_sentence(holding)} Allowed until {format_time(override.expiry)}: {override.reason}"
        yield from decide(HELD, "False", "Overridden", text)
    elif holding:
        reason = "BudgetExceeded" if any(holding.met is None for holding in holding) else "CoolingDown"
        yield from decide(HELD, "True", reason, f"{_sentence(holding)} {_EFFECTS}")
    else:
        yield from decide(HELD, "False", "WithinBudget", "No budget is exceeded.")
    # Removals that a freeze holds are reported by the freeze's condition.
    removed = [held for held in held_removals(shared) if not held.because.rule.startswith(FROZEN_BY)]
    if removed:
        names = few([held.object.name for held in removed], 10)
        text = f"{removed[0].reason[0].upper()}{removed[0].reason[1:]}. {names} stay as they are."
        yield from decide(REMOVED, "True", "TooManyRemoved", text)
    else:
        yield from decide(REMOVED, "False", "NoneHeld", "No removal is held.")
    suspicious = [group for group in groups if group.suspicious]
    if suspicious:
        text = " ".join(_suspicion(shared, group) for group in suspicious)
        yield from decide(SUSPECT, "True", "NearlyAllSilent", text)
    else:
        yield from decide(SUSPECT, "False", "ClustersHeard", "Clusters are heard of.")


def _frozen(
    shared: Shared, ids: tuple[ObjectId, ObjectId], freezes: Sequence[Freeze], now: datetime
) -> Iterator[Decision]:
    """The condition of a Fleet with freezes: which are in force? Due when any of them begins or ends."""
    if not freezes:
        return
    id_, past = ids
    ahead = earliest(*(freeze.next_change(now) for freeze in freezes))
    in_force = [freeze for freeze in freezes if freeze.in_force(now)]
    text = "; ".join(f"{freeze.text(now)} holds {_enumerated(freeze.sorts)}" for freeze in in_force)
    if in_force:
        verdict = ("True", "FreezeInForce", f"{text[0].upper()}{text[1:]}.")
    elif ahead is not None:
        names = [repr(freeze.name) for freeze in freezes if freeze.next_change(now) == ahead]
        verdict = ("False", "FreezeAhead", f"Freeze {_enumerated(names)} begins at {format_time(ahead)}.")
    else:
        verdict = ("False", "NoFreeze", "No freeze is ahead.")
    because = Because("freezes", (Input(("spec", FREEZES), id_),), "which freezes are in force")
    before = shared.conditions_before(past).get(FROZEN)
    yield Decision(id_, ("status", "conditions", (FROZEN,)), condition(before, *verdict, now=now), because, ahead)
    for freeze in in_force:
        end = freeze.next_change(now)
        entry: Tree = {"holds": freeze.sorts, **({"until": format_time(end)} if end is not None else {})}
        yield Decision(id_, (*IN_FORCE, freeze.name), entry, because, end)


def _enumerated(texts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([*([", ".join(texts[:-1])] if texts[:-1] else []), *texts[-1:]])


def _sentence(holding: Iterable[Holding]) -> str:
    return " ".join(f"{holding.text[0].upper()}{holding.text[1:]}." for holding in holding)


def _suspicion(shared: Shared, group: _Group) -> str:
    in_domain = f" in {group.domain}" if group.domain else ""
    count = f"{len(group.silent)} of {len(group.members)} clusters{in_domain} are silent"
    instant, name = _latest_renewal(shared, group.silent)
    last = (
        f"the last thing received from any of them was a lease renewed at {instant} by {name}"
        if instant
        else ("nothing was ever received from any of them")
    )
    return f"{count}; {last}. Check that what agents push still arrives, before believing that all clusters failed."


def _latest_renewal(shared: Shared, silent: Iterable[Object]) -> tuple[str, str]:
    """The latest renewal among silent clusters. Others would change the text with every heartbeat."""
    leases = leases_by_cluster(shared)
    renewals = ((try_time(renew_time(leases.get(obj.id.name))), obj.id.name) for obj in silent)
    renewed = [(instant, name) for instant, name in renewals if instant is not None]
    if not renewed:
        return "", ""
    instant = max(instant for instant, _ in renewed)
    return format_time(instant), min(name for moment, name in renewed if moment == instant)


def _condition(
    shared: Shared,
    ids: tuple[ObjectId, ObjectId],
    type_: str,
    verdict: tuple[str, str, str],
    because: Because,
    now: datetime,
) -> Iterator[Decision]:
    """A condition appears with the first incident and stays."""
    (id_, past), (status, reason, _) = ids, verdict
    before = shared.conditions_before(past).get(type_)
    if before is None and status == "False" and reason != "Overridden":
        return
    yield Decision(id_, ("status", "conditions", (type_,)), condition(before, *verdict, now=now), because)


STAGE = Wide("budgets", stage, derives=(((FLEET,), (CONDITIONS, STATE, IN_FORCE)),), foundation=True)


PATH: Path = ("status", "muster", "held")
_UNREAD = "it is approved, and waits until its object has no error"


def record_held(view: View, allowance: Allowance) -> Iterator[Decision | Held]:
    """Decide `status.muster.held` of every object with held effects."""
    waiting = list(_still_waiting(view, allowance.approvals))
    yield from waiting
    for id_, effects_held in sorted(grouped((held.object, held) for held in (*view.held, *waiting)).items()):
        entries = sorted(
            {
                (held.effect, held.because.rule, format_time(held.wait.since) if held.wait else "")
                for held in effects_held
            }
        )
        value: Tree = [
            {"effect": effect, "heldBy": rule, **({"since": since} if since else {})} for effect, rule, since in entries
        ]
        path, whole = PATH, view.now(id_, *PATH[:2])
        if isinstance(whole, dict):  # `muster.rules.retention` decided all of it: replace it as a whole
            effects = {held.effect for held in effects_held}
            others = [entry for entry in mappings_at(whole, "held") if entry.get("effect") not in effects]
            value = sorted([*others, *value], key=lambda entry: str(entry["effect"]))
            path, value = PATH[:2], {**whole, "held": value}
        yield Decision(id_, path, value, effects_held[0].because._replace(text=effects_held[0].reason))


def _still_waiting(view: View, approvals: Approvals) -> Iterator[Held]:
    """Effects that still wait, on objects that keep their last state."""
    lost = view.previous.keys() - view.objects.keys() if view.unidentified else frozenset[ObjectId]()
    for id_ in sorted(view.broken | lost):
        for entry in mappings_at(view.previous.get(id_), *map(str, PATH)):
            effect = str(entry.get("effect"))
            if effect != REMOVAL and "since" in entry and (wait := approvals.wait(view, id_, effect)):
                held = approvals.held(id_, effect, wait)
                yield replace(held, reason=_UNREAD) if wait.approved else held


HELD_EFFECTS = Local("held", record_held, derives=((ALL, (("status", "muster", "held"),)),))
