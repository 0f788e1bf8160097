"""Documents that lack a line: what each was meant to be is kept."""

from muster.data.ids import ObjectId
from muster.data.kinds import Kind, kind_of
from muster.fleet import messages
from muster.fleet.documents import DEFAULT_NAMESPACE
from muster.fleet.missed.search import Search
from muster.fleet.slips import Guess


def by_guess(search: Search, origin: messages.Origin, guess: Guess) -> None:
    """Keep what a document was meant to be that lacks its `apiVersion`, its `kind` or both."""
    body = origin.document.body
    if not guess.kinds:
        ids = [id_ for id_ in search.missing() if id_.name == guess.name and _same_place(id_, guess)]
        if ids:
            search.broken.update(ids)
            search.findings.append(messages.bears_name(origin, ids))
        return
    missing = (
        "kind" if isinstance(body.get("apiVersion"), str) and not isinstance(body.get("kind"), str) else "apiVersion"
    )
    search.findings.append(messages.incomplete(origin, missing, body, guess.kinds))
    if not guess.name:
        search.unclear[origin.source.path] = origin.source.oid
        return
    candidates = {_id(kind, guess) for kind in guess.kinds}
    known = {id_ for id_ in search.missing() if id_ in candidates}
    search.broken.update(known or candidates.difference(search.declared))


def _id(kind: Kind, guess: Guess) -> ObjectId:
    return kind.id(guess.name, (guess.namespace or DEFAULT_NAMESPACE) if kind.namespaced else "")


def _same_place(id_: ObjectId, guess: Guess) -> bool:
    return not kind_of(id_).namespaced or id_.namespace == (guess.namespace or DEFAULT_NAMESPACE)
