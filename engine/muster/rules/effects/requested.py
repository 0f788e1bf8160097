"""A wish: the effects that policies and Remedies ask for on one cluster, whether budgets let them happen or not.

They are asked once in a run (`muster.rules.effects`), before `budgets`, which counts whom they would disrupt. What they
say is handed on to the stages after it, which put it into effect as far as budgets allow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from muster.data.decision import Decision
from muster.data.ids import ObjectId
from muster.data.tree import Tree
from muster.rules.taints.cluster_policy import ClusterTaintPolicy
from muster.rules.taints.keys import TaintKey

if TYPE_CHECKING:
    from muster.rules.remedies.grounds import Ground, Pair


@dataclass(frozen=True, slots=True)
class Tainting:
    """What TaintPolicies ask for; `put` is what is to be remembered of each taint that a policy put there."""

    decisions: tuple[Decision, ...] = ()
    put: Mapping[TaintKey, Tree] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Latching:
    """What the conditions of a cluster ask of a ClusterTaintPolicy: to add its taints, or to take them off."""

    policy: ClusterTaintPolicy
    adds: bool
    removes: bool


@dataclass(frozen=True, slots=True)
class Acting:
    """What Remedies ask for: actions, each with its Remedy, and on what each Remedy stands, until when.

    `standing`: the actions of the last run that Remedies could still ask for, whatever the conditions say now.
    `doubtful`: the types of the conditions of which nothing new is known and that alone keep a Remedy standing.
    `at_once`: the actions of Remedies that wait for no condition. A person asks for them, so budgets do not hold them.
    """

    pairs: "frozenset[Pair]" = frozenset()
    grounds: "Mapping[str, Ground]" = field(default_factory=dict)
    standing: "frozenset[Pair]" = frozenset()
    doubtful: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()
    horizon: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """All that is asked for on one cluster. `disrupts`: whether any of it is disruptive, be it there already."""

    taints: Tainting = Tainting()
    latches: tuple[Latching, ...] = ()
    actions: Acting = Acting()
    disrupts: bool = False


#: Nothing is asked for.
NOTHING: Final = Wish()


@dataclass(frozen=True, slots=True)
class Wished:
    """The wish for a cluster of which it is not `NOTHING`."""

    object: ObjectId
    wish: Wish
