"""`--set TARGET=VALUES`: a field of an object, and the values that it is given one after the other.

A target is `POLICY.PARAMETER`, which the Fleet's `policyParams` set for any policy; `fleet.spec.FIELD`; or
`KIND/[NAMESPACE/]NAME.FIELD`, such as `DisruptionBudget/default.maxDisrupted`, of an object or a built-in policy.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_POOL, FLEET, MANIFEST_WORK_REPLICA_SET, ROLLOUT, Kind, kinds_named
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mapping_at
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.features.whatif.fields import set_field
from muster.features.whatif.supposing import NotSupposable, Supposition
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object

_MOST_VALUES: Final = 100
_SECTIONS: Final = ("spec", "metadata")

#: Kinds whose decisions agents and provisioners carry out and report on.
_ANSWERED: Final = (ROLLOUT, MANIFEST_WORK_REPLICA_SET, CLUSTER_POOL)


def unanswered(kind: Kind) -> str:
    """Why the past does not tell what would have followed from another object of a kind."""
    return (
        f"agents report on what a {kind.name} has them do, and nobody knows what they would have reported at another "
        "time; see what follows from now on with muster forecast --edit FILE --all-well"
    )


@dataclass(frozen=True, slots=True)
class FieldSetting:
    """A field of an object, as `text` names it. `builtin`: the body of the object if it is built in."""

    text: str
    object: ObjectId
    path: At
    builtin: Tree = None

    def put(self, supposition: Supposition, value: Tree) -> None:
        """Suppose that the field has a value. NotSupposable if the object has no such list."""
        try:
            set_field(supposition, self.object, self.path, value, self.builtin)
        except NotSupposable as error:
            raise NotSupposable(f"{self.text}: {error}") from None


@dataclass(frozen=True, slots=True)
class Sweep:
    """A setting and its values, in the order in which they were given."""

    setting: FieldSetting
    values: Sequence[Tree]


def parse_sweep(text: str, fleet: Fleet) -> Sweep:
    """Parse `TARGET=VALUES`. NotSupposable, with the nearest name, for a target that the fleet does not have, or values
    that are none; UnknownKind."""
    target, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise NotSupposable(f"{text!r} is not TARGET=VALUES, such as managed-cluster-available.graceFactor=2..8")
    return Sweep(_setting(target.strip(), fleet), _values(values))


def _values(text: str) -> Sequence[Tree]:
    first, dots, last = text.partition("..")
    if dots:
        if not (_is_count(first) and _is_count(last) and int(first) <= int(last)):
            raise NotSupposable(f"{text!r} is not a range of whole numbers such as 2..8")
        values: list[Tree] = list(range(int(first), int(last) + 1)[: _MOST_VALUES + 1])
    else:
        listed = dig(first_body(f"values: [{text}]\n".encode(), "--set"), "values")
        if not isinstance(listed, list) or not listed:
            raise NotSupposable(f"{text!r} are not values of YAML, with commas between them")
        values = listed
    if len(values) > _MOST_VALUES:
        raise NotSupposable(f"{text!r} are more than {_MOST_VALUES} values")
    if None in values:
        raise NotSupposable(f"{text!r} has an empty value")
    return [value for number, value in enumerate(values) if value not in values[:number]]


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9


def _setting(target: str, fleet: Fleet) -> FieldSetting:
    head, slash, rest = target.partition("/")
    if slash:
        return _of_object(target, head, rest, fleet)
    first, _, field = target.partition(".")
    if first.casefold() == FLEET.name.casefold():
        return FieldSetting(target, _fleet(fleet), _path(field, target))
    params: dict[str, set[str]] = {}
    for id_, obj in _all(fleet).items():
        params.setdefault(id_.name, set()).update(mapping_at(obj.body, "spec", "params"))
    names = {name for name, several in params.items() if several}
    policy = _longest(target, names)
    if not policy:
        hint = did_you_mean(first, names) or "write POLICY.PARAMETER, fleet.spec.FIELD or KIND/NAME.FIELD"
        raise NotSupposable(f"{target!r}: no policy {first!r} has parameters; {hint}")
    parameter = target.removeprefix(policy).removeprefix(".")
    name = parameter.partition(".")[0].partition("[")[0]
    if name not in params[policy]:
        hint = did_you_mean(name, params[policy]) or f"it has {', '.join(sorted(params[policy]))}"
        raise NotSupposable(f"{target!r}: {policy} has no parameter {name!r}; {hint}")
    return FieldSetting(target, _fleet(fleet), ("spec", "policyParams", policy, *_path(parameter, target, sections=())))


def _fleet(fleet: Fleet) -> ObjectId:
    fleets = fleet.of(FLEET)
    return fleets[0].id if fleets else FLEET.id("fleet")


def _all(fleet: Fleet) -> Mapping[ObjectId, Object]:
    return {**fleet.read.builtin, **fleet.objects}


def _of_object(target: str, kind: str, rest: str, fleet: Fleet) -> FieldSetting:
    kinds = kinds_named(kind)
    if (answered := next((candidate for candidate in kinds if candidate in _ANSWERED), None)) is not None:
        raise NotSupposable(f"{target!r}: {unanswered(answered)}")
    named = {
        (f"{id_.namespace}/" if id_.namespace else "") + id_.name: id_
        for id_ in _all(fleet)
        if any(candidate.has(id_) for candidate in kinds)
    }
    name = _longest(rest, named)
    if not name:
        hint = did_you_mean(rest.rpartition(".")[0] or rest, named)
        raise NotSupposable(f"{target!r}: there is no such {kinds[0].name}{f'; {hint}' if hint else ''}")
    id_ = named[name]
    builtin = fleet.read.builtin.get(id_)
    return FieldSetting(target, id_, _path(rest.removeprefix(name)[1:], target), builtin.body if builtin else None)


def _longest(text: str, names: Iterable[str]) -> str:
    """The longest name with which a text begins, followed by a dot or nothing; empty for none."""
    return max((name for name in names if text == name or text.startswith(f"{name}.")), key=len, default="")


def _path(text: str, target: str, sections: Sequence[str] = _SECTIONS) -> At:
    """A path such as `spec.stages[0].maxConcurrency`; of an object, `spec` may be left out."""
    steps: list[str | int] = []
    for word in text.split("."):
        name, *indices = word.split("[")
        if not name or not all(index.endswith("]") and _is_count(index[:-1]) for index in indices):
            raise NotSupposable(f"{target!r} is not a path to a field such as spec.stages[0].maxConcurrency")
        steps += [name, *(int(index[:-1]) for index in indices)]
    return tuple(steps) if not sections or steps[0] in sections else (sections[0], *steps)


def objection(before: Iterable[Finding], after: Iterable[Finding]) -> Finding | None:
    """The gravest finding that a value brings about; None for none. Places may have moved: the text counts."""
    old = {(finding.code, finding.object, finding.message) for finding in before}
    new = [finding for finding in after if (finding.code, finding.object, finding.message) not in old]
    return min(new, key=lambda finding: (finding.severity.rank, finding.sort_key()), default=None)
