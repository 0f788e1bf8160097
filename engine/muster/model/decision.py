"""Decisions: what muster concluded, why, and until when.

Every stage of the pipeline returns a list of outcomes. A `Decision` sets one field of one object's derived
part; a `Pulse` is an event that is due; a `Held` is a disruptive effect that a budget keeps from happening; a `Wake` is
an instant at which to look again though nothing is decided; a `Finding` is something that only deciding could show to
be wrong.
Explain, forecast, incremental reconcile and the watch loop's timer all live on `because` and `horizon`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias

from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.published import Published
from muster.model.source import Place
from muster.model.tree import Tree

#: A field of an object. A step is a mapping's key, or, inside a list that merges by key, the tuple of the
#: element's key values: `("status", "conditions", ("Ready",))`, `("spec", "taints", ("dedicated", "NoSelect"))`.
Path: TypeAlias = tuple[str | tuple[str, ...], ...]


class Because(NamedTuple):
    """Why a decision was made: the rule (`ConditionPolicy/managed-cluster-available#lease-expired`, or a name
    such as `registration`), and the places of the inputs that decided it."""

    rule: str
    places: tuple[Place, ...] = ()
    text: str = ""


class Decision(NamedTuple):
    """One field of one object's derived part. `value` None means: decided to be absent.

    `horizon` is the first instant at which time alone would change it; None when time never will.

    Tuples, as ids are: a run makes a dozen of them for every cluster, in a third of the time.
    """

    object: ObjectId
    path: Path
    value: Tree
    because: Because
    horizon: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pulse:
    """A CloudEvent that is due, as the JSON form of the event.

    `policy` is the name of the PulsePolicy that asks for it, `reason` its rule's; `sent` is what is to be remembered
    once it went out. `horizon`: when the next one is due if nobody answers this one.
    """

    object: ObjectId
    event: Tree
    because: Because
    horizon: datetime | None = None
    policy: str = ""
    reason: str = ""
    sent: Published | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A disruptive effect that a budget holds back: `effect` says which (`taint key:NoSelect`,
    `remedy TrafficControl`, `replacement`), `reason` why, in a sentence."""

    object: ObjectId
    effect: str
    reason: str
    because: Because
    horizon: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing is decided of an object, but at the instant `horizon` time alone will change something. `pulse`: what it
    may make due is a pulse, and nothing else."""

    object: ObjectId
    because: Because
    horizon: datetime
    pulse: bool = False


Outcome: TypeAlias = Decision | Pulse | Held | Wake | Finding
