"""Decisions: what muster concluded, why, and until when.

Every stage of the pipeline returns a list of outcomes. A `Decision` sets one field of one object's derived
part; a `Pulse` is an event that is due; a `Held` is a disruptive effect that a budget, or the want of an approval,
keeps from happening; a `Wake` is an instant at which to look again though nothing is decided; a `Finding` is something
that only deciding could show to be wrong.
Explain, forecast, incremental reconcile and the watch loop's timer all live on `because` and `horizon`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.tree import At, Tree


class PulseKey(NamedTuple):
    """What a memory is of: an object, and the name of the PulsePolicy that asked."""

    object: ObjectId
    policy: str


@dataclass(frozen=True, slots=True)
class Published:
    """The last pulse of a policy for an object: of which generation, when, and how many went out in a row without an
    accepted report in between, itself among them."""

    generation: int
    time: datetime
    count: int = 1


Memory: TypeAlias = Mapping[PulseKey, Published]

#: A plain directory has no memory: its pulses follow from generations and the age of reports alone.
NOTHING_PUBLISHED: Memory = {}

#: A field of an object. A step is a mapping's key, or, inside a list that merges by key, the tuple of the
#: element's key values: `("status", "conditions", ("Ready",))`, `("spec", "taints", ("dedicated", "NoSelect"))`.
Path: TypeAlias = tuple[str | tuple[str, ...], ...]
#: The same, or with the numbers of a list's elements (`At`).
AnyPath: TypeAlias = tuple[str | int | tuple[str, ...], ...]


class Input(NamedTuple):
    """A field that decided something: of the object that was decided, unless another is named."""

    path: AnyPath
    object: ObjectId | None = None


class Because(NamedTuple):
    """Why a decision was made: the rule (`ConditionPolicy/managed-cluster-available#lease-expired`, or a name such as
    `registration`), the fields that it looked at, and what the rule alone does not tell, in words.

    Of a rule in CEL the field is the rule itself: what its expressions read is told by evaluating them once more.
    Where a field stands is found when somebody asks (`muster.fleet.places.place_of`).
    """

    rule: str
    inputs: tuple[Input, ...]
    text: str = ""


#: The inputs of what follows from an object as a whole, or from its being there.
OF_ITSELF = (Input(("metadata", "name")),)
OF_SPEC = (Input(("spec",)),)
OF_CONDITIONS = (Input(("status", "conditions")),)


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


class ApprovalWait(NamedTuple):
    """An effect that is proposed under a topic, and asked for since an instant; `approved` where a person has said yes
    since, and something else is in the way."""

    topic: str
    since: datetime
    approved: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A disruptive effect that a budget holds back, or that waits for approval: `effect` says which
    (`taint key:NoSelect`, `remedy TrafficControl`, `replacement`), `reason` why, in a sentence. `wait` is there where
    the effect needs approval, whatever holds it."""

    object: ObjectId
    effect: str
    reason: str
    because: Because
    horizon: datetime | None = None
    wait: ApprovalWait | None = None


class Failed(NamedTuple):
    """An expression of a policy, at a place in its source, failed in deciding: for a `number` of objects, of which
    `object` is the first, and how it did for that one. `offset` is the character of the expression at which it did;
    `cut_off`: it costs too much. `stage` is the name of the stage that asked."""

    policy: ObjectId
    at: At
    object: ObjectId
    message: str
    offset: int
    cut_off: bool
    number: int = 1
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing is decided of an object, but at the instant `horizon` time alone will change something. `pulse`: what it
    may make due is a pulse, and nothing else."""

    object: ObjectId
    because: Because
    horizon: datetime
    pulse: bool = False


Outcome: TypeAlias = Decision | Pulse | Held | Wake | Finding
