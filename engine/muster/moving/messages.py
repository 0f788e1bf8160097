"""All texts of moving in: what is not taken over as it stands, and why."""

from muster.model.finding import Finding, Severity
from muster.model.findings import finding
from muster.model.ids import ObjectId
from muster.model.source import Part, Place


def no_object(place: Place) -> Finding:
    """A document that is no object."""
    return finding(
        "MUS103", "this document has no apiVersion and kind, so it was passed over", place,
        hint="a dump is what kubectl get -o yaml prints; take other files out of the folder",
        severity=Severity.WARNING,
    )  # fmt: skip


def withheld(part: Part, reason: str) -> Finding:
    """An object that is credentials, or cannot be told from them."""
    return finding(
        "MUS960", f"{part.id} was not imported: {reason}", _at(part),
        hint="a repository never forgets: let a secret store deliver it, and import the object without it",
        object_=part.id,
    )  # fmt: skip


def cleaned(part: Part, path: str) -> Finding:
    """A field of an object that held a credential."""
    return finding(
        "MUS960", f"{path} of {part.id} held a credential, which was left out", _at(part),
        hint="a repository never forgets: let a secret store deliver it",
        object_=part.id,
    )  # fmt: skip


def twice(part: Part, first: Part) -> Finding:
    """An object of which a dump has two states."""
    return finding(
        "MUS961", f"{part.id} is in the dump twice and not the same: the state at {_at(first)} counts", _at(part),
        hint="dump the hub at one instant, each kind once",
        object_=part.id,
    )  # fmt: skip


def no_place(id_: ObjectId | None, path: str, reason: str) -> Finding:
    """A file that cannot be written."""
    return finding(
        "MUS962", f"{id_ or path} was not imported: {reason}", Place(path),
        hint="make room for the file, and import again: what is there already is left as it is",
        object_=id_,
    )  # fmt: skip


def inside(path: str) -> Finding:
    """A dump that is itself a file of the repository."""
    return finding(
        "MUS963", "the dump lies in the repository, where its objects would stand a second time", Place(path),
        hint="move it elsewhere, or name it in .musterignore, before you commit",
    )  # fmt: skip


def elsewhere(id_: ObjectId, part: Part) -> Finding:
    """An object that was to be replaced and stands where no import would have put it."""
    return finding(
        "MUS964", f"{id_} stays as it is: it stands in {part.source.label}, which import did not write", _at(part),
        hint="import replaces only files that hold nothing but the object; edit this one by hand",
        object_=id_,
    )  # fmt: skip


def unseen_secrets(names: list[str]) -> Finding:
    """Secrets on which imported pools rest."""
    return finding(
        "MUS965", f"imported pools need Secrets that muster cannot see: {', '.join(names)}",
        hint="name them in spec.pools.externalDependencies of the Fleet, or the pools make no clusters",
    )  # fmt: skip


def _at(part: Part) -> Place:
    return Place(part.source.label, part.line, 1)
