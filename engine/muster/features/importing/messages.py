"""The messages of moving in: what is not imported unchanged, and why."""

from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.findings import finding, finding_of
from muster.data.ids import ObjectId
from muster.data.source import Part, Place


def no_object(place: Place) -> Finding:
    """A document that is no object."""
    message = "this document has no apiVersion and kind, so it was passed over"
    hint = "a dump is what kubectl get -o yaml prints; take other files out of the folder"
    return finding(Code.MISSING_IDENTITY, message, place, hint=hint, severity=Severity.WARNING)


def withheld(part: Part, reason: str) -> Finding:
    """An object that is credentials, or cannot be told from them."""
    message = f"{part.id} was not imported: {reason}"
    hint = "a repository never forgets: let a secret store deliver it, and import the object without it"
    return finding_of(part, Code.CREDENTIALS_LEFT_OUT, message, hint)


def cleaned(part: Part, path: str) -> Finding:
    """A field of an object that held a credential."""
    message = f"{path} of {part.id} held a credential, which was left out"
    hint = "a repository never forgets: let a secret store deliver it"
    return finding_of(part, Code.CREDENTIALS_LEFT_OUT, message, hint)


def twice(part: Part, first: Part) -> Finding:
    """An object of which a dump has two states."""
    message = f"{part.id} is in the dump twice and not the same: the state at {first.place} counts"
    return finding_of(part, Code.TWICE_IN_DUMP, message, "dump the hub at one instant, each kind once")


def proposed(part: Part, path: str) -> Finding:
    """An object that commands muster."""
    message = f"{part.id} was not imported but proposed, in {path}: it says what muster may do, and muster obeys it"
    hint = f"read it; what you want of it goes into {path.removesuffix('.proposed')}, and muster reads it from there"
    return finding_of(part, Code.IMPORTED_COMMAND, message, hint)


def no_place(id_: ObjectId | None, path: str, reason: str) -> Finding:
    """A file that cannot be written."""
    message = f"{id_ or path} was not imported: {reason}"
    hint = "make room for the file, and import again: existing files stay unchanged"
    return finding(Code.NO_PLACE_FOR_OBJECT, message, Place(path), hint=hint, object_=id_)


def inside(path: str) -> Finding:
    """A dump that is itself a file of the repository."""
    message = "the dump is in the repository, so its objects would be there twice"
    hint = "move it elsewhere, or name it in .musterignore, before you commit"
    return finding(Code.DUMP_IN_REPOSITORY, message, Place(path), hint=hint)


def elsewhere(part: Part) -> Finding:
    """An object that was to be replaced and stands where no import would have put it."""
    message = f"{part.id} stays as it is: it is in {part.source.label}, which import did not write"
    hint = "import replaces only files that hold nothing but the object; edit this one by hand"
    return finding_of(part, Code.OBJECT_ELSEWHERE, message, hint)


def unseen_secrets(names: list[str]) -> Finding:
    """Secrets on which imported pools rest."""
    return finding(
        Code.SECRETS_NOT_VISIBLE,
        f"imported pools need Secrets that muster cannot see: {', '.join(names)}",
        hint="name them in spec.pools.externalDependencies of the Fleet, or the pools make no clusters",
    )
