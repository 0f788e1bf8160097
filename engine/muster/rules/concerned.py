"""Which policies can decide something about a cluster: an edit of one costs those clusters, and no others.

What concerns all clusters is apart: settings, calendars, what is refused, and policies about their add-ons, reports and
the like.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Final, TypeAlias

from muster.data.decision import Path
from muster.data.kinds import ADMISSION, CALENDAR, CLUSTERS, FLEET, Kind, kind_of
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.projected import PROJECTIONS
from muster.fleet.shared import OF_CLUSTERS
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import Compiled, InForce
from muster.rules.policies.policies import Policy, Target
from muster.rules.projections.policy import Projection
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.rollouts.policy import Rollout
from muster.rules.scores.policy import ScorePolicy
from muster.rules.stages import ROLLOUTS, Concerned, GoverningObjects
from muster.rules.taints.policy import TaintPolicy

#: The types of policies with a target.
TARGETED: Final = (ConditionPolicy, TaintPolicy, ScorePolicy, PulsePolicy)
#: The kinds of a cluster's further objects.
_KINDS_BESIDE_CLUSTERS: Final = OF_CLUSTERS.difference(CLUSTERS)
#: An object of these kinds concerns every cluster.
_KINDS_CONCERNING_ALL: Final = (FLEET, CALENDAR, *ADMISSION)
#: The text of a policy, which differs when the policy does, and a function that says whether it can match a cluster.
_Selecting: TypeAlias = tuple[str, Callable[[Concerned], bool]]


def concerning_all(rules: InForce, governing: GoverningObjects) -> list[object]:
    """Return the policies and settings that concern every cluster, and objects without a cluster."""
    policies: Iterable[Policy] = rules.compiled.all_of(*TARGETED)
    return [
        [
            (str(id_), obj.body)
            for id_, obj in sorted(governing.objects.items())
            if kind_of(id_) in _KINDS_CONCERNING_ALL
        ],
        rules.compiled.reads.digest,
        sorted(map(str, governing.broken)),
        rules.grace,
        [_text(policy.source) for policy in policies if not _KINDS_BESIDE_CLUSTERS.isdisjoint(policy.target.kinds)],
        # Other policies decide then whether clusters are available.
        [str(policy.id) for policy in rules.compiled.of(ConditionPolicy) if policy.type in _HEADLINES],
    ]


_HEADLINES: Final = frozenset(kind.headline for kind in CLUSTERS)


@dataclass(frozen=True, slots=True)
class PoliciesByKind:
    """The policies that can decide something about clusters, as texts: those `of_all` clusters of a kind, and those
    `selecting` some."""

    of_all: Mapping[Kind, list[str]]
    selecting: Mapping[Kind, list[_Selecting]]

    @classmethod
    def of(cls, compiled: Compiled, governing: GoverningObjects) -> "PoliciesByKind":
        """Return the policies in force."""
        of_all, selecting = defaultdict[Kind, list[str]](list), defaultdict[Kind, list[_Selecting]](list)
        policies: Iterable[Policy] = compiled.all_of(*TARGETED)
        for policy in policies:
            target = policy.target
            for kind in target.kinds:
                if target.namespaces or target.selector.requirements:
                    selecting[kind].append((_text(policy.source), partial(_targets, target)))
                else:
                    of_all[kind].append(_text(policy.source))
        for kind in CLUSTERS:
            selecting[kind].extend(_other_selecting(compiled, governing, kind))
        return cls(of_all, selecting)

    def concerning(self, concerned: Concerned) -> list[str]:
        """Return the policies that can decide something about a cluster."""
        kind = concerned.cluster.kind
        of_all = self.of_all.get(kind, [])
        selecting = [text for text, selects in self.selecting.get(kind, ()) if selects(concerned)]
        return of_all + selecting if selecting else of_all


def _other_selecting(compiled: Compiled, governing: GoverningObjects, kind: Kind) -> Iterator[_Selecting]:
    for remedy in compiled.of(Remedy):
        yield _text(remedy.source), partial(_acts, remedy)
    for rollout in compiled.of(Rollout):
        yield _text(rollout.source), partial(_is_set, (*ROLLOUTS, rollout.key))
    for projection in compiled.of(Projection):
        if projection.source.of_cluster and projection.kind is kind:
            yield _text(governing.objects[projection.id]), partial(_projects, projection)


def _targets(target: Target, concerned: Concerned) -> bool:
    return target.selects(concerned.cluster)


def _acts(remedy: Remedy, concerned: Concerned) -> bool:
    """Does the Remedy select the cluster, or is anything remembered that it requested?"""
    if remedy.selects(concerned.cluster.id.name):
        return True
    remembered = (decision.value for path, decision in concerned.decided.items() if path[:2] == ("status", "muster"))
    return any(_names(value, remedy.id.name) for value in remembered)


def _projects(projection: Projection, concerned: Concerned) -> bool:
    return projection.selector.matches(concerned.cluster.labels) or _is_set(
        (*PROJECTIONS, projection.id.name), concerned
    )


def _is_set(path: Path, concerned: Concerned) -> bool:
    decision = concerned.decided.get(path)
    return decision is not None and decision.value is not None


def _names(value: Tree, name: str) -> bool:
    if isinstance(value, Mapping):
        return any(_names(part, name) for pair in value.items() for part in pair)
    return any(_names(element, name) for element in value) if isinstance(value, list) else value == name


def _text(policy: Object) -> str:
    """A short text, as it is part of what many clusters are given."""
    return f"{policy.id} {blake2b(repr(policy.body).encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"
