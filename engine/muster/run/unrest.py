"""Unrest: objects that do not come to rest at one instant, and the states between which they alternate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION, id_of_body, kind_of
from muster.data.names import few
from muster.data.source import Place
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import load_documents
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.rules.placements.shards import PLACEMENT_LABEL
from muster.run.run import Run
from muster.run.transitions.transitions import leaves

_MOST_FIELDS = 3
_HINT = (
    "Nothing of it is committed. Look for two rules that undo each other, or for a policy that reads `previous`; "
    "if there is none, it is an error in muster: please report it."
)


@dataclass(frozen=True, slots=True)
class Unrest:
    """Objects that do not come to rest, each with its finding."""

    findings: Mapping[ObjectId, Finding] = field(default_factory=dict)

    @property
    def objects(self) -> frozenset[ObjectId]:
        """The objects."""
        return frozenset(self.findings)

    def __bool__(self) -> bool:
        """Are there any?"""
        return bool(self.findings)


def unrest_among(fleet: Fleet, states: Sequence[Mapping[str, str | None]], run: Run, earlier: Unrest) -> Unrest:
    """Return `known` and the objects whose derived files differ between successive states.

    `fleet` is that of the snapshot below the states, `run` a pass from one state to the next.
    """
    findings = dict(earlier.findings)
    ids = {path: id_ for id_, path in fleet.derived_paths.items()}
    for path in sorted({path for state in states for path in state}):
        texts = [state.get(path, "as it was") for state in states]
        if len(set(texts)) == 1:
            continue
        turn = next(index for index, text in enumerate(texts) if text != texts[0])
        one, other = (_body(fleet, ids.get(path), states[index], path) for index in (turn - 1, turn))
        for id_ in _concerned(one or other):
            findings.setdefault(id_, _finding(fleet, id_, path, (one, other), run))
    return Unrest(findings)


def _body(fleet: Fleet, id_: ObjectId | None, state: Mapping[str, str | None], path: str) -> Tree:
    """The object's derived part in a state; None for none."""
    if path not in state:
        return fleet.previous.get(id_) if id_ is not None else None
    text = state[path]
    return None if text is None else load_documents(text.encode(), path).documents[0].body


def _concerned(body: Tree) -> Iterator[ObjectId]:
    """The object of a derived part, and the Placement of a PlacementDecision."""
    id_ = id_of_body(body)
    assert id_ is not None
    yield id_
    owner = dig(body, "metadata", "labels", PLACEMENT_LABEL)
    if PLACEMENT_DECISION.has(id_) and isinstance(owner, str):
        yield PLACEMENT.id(owner, id_.namespace)


def _finding(fleet: Fleet, id_: ObjectId, path: str, bodies: tuple[Tree, Tree], run: Run) -> Finding:
    one, other = (dict(leaves(body, kind_of(id_).list_keys)) if body else {} for body in bodies)
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    telling = [name for name in names if not name.endswith("Time")] or names
    obj = fleet.objects.get(id_)
    place = obj.parts[0].place if obj is not None else Place(path)
    return finding(
        Code.DOES_NOT_SETTLE,
        f"{id_} does not come to rest: at {format_time(run.now)} it goes back and forth between "
        f"({_state(bodies[0], one, telling)}) and ({_state(bodies[1], other, telling)})",
        place,
        hint=_HINT,
        object_=id_,
    )


def _state(body: Tree, fields: Mapping[str, str], names: list[str]) -> str:
    """The fields that differ from the other state, in words."""
    if body is None:
        return "nothing derived"
    texts = [f"{name} {fields[name]}" if name in fields else f"no {name}" for name in names]
    return few(texts, _MOST_FIELDS)
