"""Decisions: what muster concluded, why, and until when.

Every stage of the pipeline returns outcomes. A `Decision` sets one field of an object's derived part; a `Pulse` is an
event that is due; a `Held` is a disruptive effect that a budget or a missing approval prevents; a `Wake` is an instant
at which to decide again; a `Finding` is a mistake that only deciding can find.

Explain, forecast, incremental runs and the timer of watch use `because` and `horizon`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypeAlias

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.tree import At, Tree
from muster.dataclass import dataclass


class PulseKey(NamedTuple):
    """A key of the memory: an object, and the name of the PulsePolicy."""

    object: ObjectId
    policy: str


@dataclass(frozen=True, slots=True)
class Published:
    """The last pulse of a policy for an object: the generation, the time, and the number of pulses since the last
    accepted report, including this one. `ground`: what the rule said, by which a renamed policy is known."""

    generation: int
    time: datetime
    count: int = 1
    ground: str = ""


Memory: TypeAlias = Mapping[PulseKey, Published]

#: A plain directory has no memory: its pulses follow from generations and the age of reports alone.
NOTHING_PUBLISHED: Memory = {}

#: A field of an object. A step is a mapping's key, or, inside a list that merges by key, the tuple of the
#: element's key values: `("status", "conditions", ("Ready",))`, `("spec", "taints", ("dedicated", "NoSelect"))`.
Path: TypeAlias = tuple[str | tuple[str, ...], ...]
#: The same, or with the numbers of a list's elements (`At`).
AnyPath: TypeAlias = tuple[str | int | tuple[str, ...], ...]


class Input(NamedTuple):
    """A field that a decision depends on: of the decided object, unless another is named."""

    path: AnyPath
    object: ObjectId | None = None


class Because(NamedTuple):
    """Why a decision was made: the rule (`ConditionPolicy/managed-cluster-available#lease-expired`, or a name such as
    `registration`), the fields that it depends on, and a text for what the rule alone does not say.

    For a rule in CEL, the field is the rule itself: evaluating its expressions again shows what they read. The place of
    a field is looked up on demand (`muster.fleet.places.place_of`).
    """

    rule: str
    inputs: tuple[Input, ...]
    text: str = ""


#: The inputs of decisions that depend on an object as a whole, or on its existence.
OF_ITSELF = (Input(("metadata", "name")),)
OF_SPEC = (Input(("spec",)),)
OF_CONDITIONS = (Input(("status", "conditions")),)


class Decision(NamedTuple):
    """One field of one object's derived part. `value` None means: decided to be absent.

    `horizon` is the first instant at which time alone changes it; None for never. It is a tuple, as ids are: a run
    makes a dozen for every cluster, in a third of the time.
    """

    object: ObjectId
    path: Path
    value: Tree
    because: Because
    horizon: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pulse:
    """A CloudEvent that is due, as the JSON form of the event.

    `policy` is the name of its PulsePolicy, `reason` the rule's; `sent` is what to remember once it is published.
    `horizon`: when the next one is due without an answer to this one.
    """

    object: ObjectId
    event: Tree
    because: Because
    horizon: datetime | None = None
    policy: str = ""
    reason: str = ""
    sent: Published | None = None


class ApprovalWait(NamedTuple):
    """An effect that is proposed under a topic, and requested since an instant; `approved`: a person has approved it,
    but something else prevents it."""

    topic: str
    since: datetime
    approved: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A disruptive effect that a budget holds back, or that waits for approval: `effect` says which
    (`taint key:NoSelect`, `remedy TrafficControl`, `replacement`), `reason` why, in a sentence. `wait` is set if the
    effect needs approval, whatever holds it."""

    object: ObjectId
    effect: str
    reason: str
    because: Because
    horizon: datetime | None = None
    wait: ApprovalWait | None = None


class Failed(NamedTuple):
    """A failed expression of a policy, at a place in its source: for `number` objects, with the failure of the first
    one, `object`. `offset` is the character of the expression where it failed; `cut_off`: it costs too much. `stage` is
    the name of the stage. `hint` says what to do, if it is not what helps most expressions."""

    policy: ObjectId
    at: At
    object: ObjectId
    message: str
    offset: int
    cut_off: bool
    number: int = 1
    stage: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing is decided about an object, but at the instant `horizon` time alone will change something. `pulse`: only
    a pulse may become due. Not a `deadline`: an evaluation compared something with that instant, which may change
    nothing; the object is only decided again then."""

    object: ObjectId
    because: Because
    horizon: datetime
    pulse: bool = False
    deadline: bool = True


class ProjectedFile(NamedTuple):
    """The text of a file that a Projection writes, by the entry of `status.muster.projections` that records it. None:
    the file stays as it is."""

    object: ObjectId
    entry: str
    text: str | None


Outcome: TypeAlias = Decision | Pulse | Held | Wake | ProjectedFile | Finding
