"""Who signed agents' refs: commits are signed with the keys of certificates under `derived/`.

An unsigned commit does not count as received: of its ref only what any stranger may say counts, and what was derived
before holds until the lease has run out (`muster.fleet.agent_refs`). A folder of a relay is judged by the agent's own
commit, which the relay keeps with the files: a relay transports commits, and cannot make any.

A certificate vouches for commits dated within its lifetime, until it ends: whoever has the key of an expired
certificate cannot backdate a commit. It has to be under `derived/`, which a revoked, denied or replaced certificate no
longer is; commits received before that do not count from then on either.

An older commit that is put back is recognised by the newest received commit, which is kept as
`refs/muster/verified/<cluster>`. Nothing else is read from it: a fresh clone decides the same, except that it cannot
recognise replays.
"""

import base64
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from muster.data.kinds import CSR
from muster.data.locations import AUTHORITY, FOLDER
from muster.data.snapshot import SignerIdentity
from muster.data.times import format_time
from muster.data.tree import dig
from muster.git.agents.refs import AgentRef
from muster.git.agents.relays import agent_commits
from muster.git.agents.settings import fleet_spec
from muster.git.clock import CLOCK_SKEW
from muster.git.errors import IdentityError, RepositoryError, UnreadableError, require_library
from muster.git.repository import Repository, grep_lines, list_refs
from muster.git.store.objects import committer_seconds

if TYPE_CHECKING:
    from muster.git.signatures.certificate import Issued

#: Where the newest received commits are kept.
VERIFIED: Final = "refs/muster/verified/"
_CERTIFICATE: Final = b"certificate: "
_MOST_SECONDS: Final = 10**11  # no calendar has a later date


def identify_signers(
    repository: Repository, refs: Sequence[AgentRef], revision: str, present: datetime
) -> tuple[AgentRef, ...]:
    """Return the refs with the identity of their signers.

    The certificates are those of a revision; `present` is the wall clock. RepositoryError if signatures cannot be
    checked on this machine.
    """
    try:
        require_library()
    except IdentityError as error:
        raise RepositoryError("the Fleet asks for signed reports, which cannot be checked here", str(error)) from error
    issued, received = certificates_at(repository, revision), _last_received(repository)
    texts, lost = _read_commits(repository, {*(ref.commit for ref in refs if _speaks(ref)), *received.values()})
    identified, moved = list[AgentRef](), dict[str, str]()
    for ref in refs:
        if not _speaks(ref):
            identified.append(ref)
            continue
        if ref.commit in lost:
            identified.append(
                replace(ref, identity=SignerIdentity("", "Unreadable", "git cannot read its newest commit"))
            )
            continue
        before = received.get(ref.cluster, "")
        judged = _identify(ref, before, texts, issued.get(ref.cluster, ()), present)
        if judged.identity and judged.identity.user and ref.commit != before:
            moved[ref.cluster] = ref.commit
        identified.append(judged)
    _remember(repository, moved)
    return tuple(identified)


def _speaks(ref: AgentRef) -> bool:
    return bool(ref.cluster and ref.commit and not ref.refused)


def certificates_at(repository: Repository, revision: str) -> Mapping[str, Sequence["Issued"]]:
    """Return the agents' certificates under `derived/` at a revision, by cluster; if the Fleet there names an
    authority, only those that it signed."""
    from muster.git.signatures.certificate import issued_of

    lines = grep_lines(repository, "^ +certificate: ", revision, f"{FOLDER}{CSR.plural}")
    named = dig(fleet_spec(repository, revision), *AUTHORITY)
    authority = named if isinstance(named, str) else ""
    by_cluster: defaultdict[str, list[Issued]] = defaultdict(list)
    for line in lines.split(b"\n"):
        _, is_certificate, text = line.partition(_CERTIFICATE)
        try:
            issued = (
                issued_of(base64.b64decode(text.strip(b"\"'"), validate=True), authority) if is_certificate else None
            )
        except ValueError:
            continue
        if issued is not None:
            by_cluster[issued.cluster].append(issued)
    return by_cluster


def _identify(
    ref: AgentRef, before: str, texts: Mapping[str, bytes], issued: Sequence["Issued"], present: datetime
) -> AgentRef:
    text = texts.get(ref.commit, b"")
    user, reason, doubt = _find_signer(text, issued)
    certificate = ""
    dated, received = _date(text), _date(texts.get(before, b""))
    if user and dated is not None:
        # Of this key: an agent with a newer certificate signs with the key of that one.
        last = max(
            (
                candidate
                for candidate in issued
                if candidate.key == _key(text) and candidate.begin <= dated <= candidate.end
            ),
            key=_end,
        )
        end, certificate = last.end, last.digest
        if dated > present + CLOCK_SKEW:
            user, reason, doubt = "", "DatedAhead", "its newest commit is dated ahead"
        elif end <= present:
            doubt = f"the certificate that vouches for its newest commit ended at {format_time(end)}"
            user, reason = "", "CertificateExpired"
        elif received is not None and dated < received:
            user, reason, doubt = "", "Replayed", "an older commit was restored in place of a newer one"
    return replace(ref, identity=SignerIdentity(user, reason, doubt, certificate if user else ""))


def _end(certificate: "Issued") -> datetime:
    return certificate.end


def _find_signer(text: bytes, issued: Sequence["Issued"]) -> tuple[str, str, str]:
    """Return the user who signed a commit, with a certificate valid at its date; else why there is none, as a reason
    and a sentence."""
    key, dated = _key(text), _date(text)
    if key is None or dated is None:
        return "", "NotSigned", "its newest commit has no valid signature"
    mine = [certificate for certificate in issued if certificate.key == key]
    if not mine:
        whose = "no certificate of this agent has that key: it is a stranger's, or was revoked or replaced"
        return "", "UnknownKey", f"its newest commit is signed with another key, and {whose}"
    fits = [certificate for certificate in mine if certificate.begin <= dated <= certificate.end]
    if not fits:
        life = f"{format_time(mine[0].begin)} to {format_time(mine[0].end)}"
        return "", "CertificateExpired", f"its newest commit is not dated within its certificate's life, {life}"
    return fits[0].user, "", ""


@lru_cache(maxsize=1 << 15)
def _key(text: bytes) -> bytes | None:
    from muster.git.signatures.signature import signing_key

    return signing_key(text)


def _date(text: bytes) -> datetime | None:
    seconds = committer_seconds(text)
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None and seconds < _MOST_SECONDS else None


def _read_commits(repository: Repository, commits: set[str]) -> tuple[dict[str, bytes], frozenset[str]]:
    """Return the text of each commit by its id, and of each relay's folder that of the agent's commit; and the ids that
    git cannot read."""
    ordered = sorted(commits)
    answers = list(zip(ordered, repository.objects.read(ordered), strict=True))
    readable = [
        (oid, answer.kind, answer.content) for oid, answer in answers if not isinstance(answer, UnreadableError)
    ]
    relayed = agent_commits(repository.objects, [(oid, content) for oid, kind, content in readable if kind == "tree"])
    lost = frozenset(oid for oid, answer in answers if isinstance(answer, UnreadableError))
    return {oid: content for oid, kind, content in readable if kind == "commit"} | relayed, lost


def _last_received(repository: Repository) -> dict[str, str]:
    return {name.removeprefix(VERIFIED): oid for name, oid in list_refs(repository, VERIFIED).items()}


def _remember(repository: Repository, moved: Mapping[str, str]) -> None:
    """Keep the newest received commits. If that cannot be written, the next run judges again."""
    if moved:
        lines = "".join(f"update {VERIFIED}{cluster}\0{oid}\0\0" for cluster, oid in sorted(moved.items()))
        repository.git.run("-c", "core.logAllRefUpdates=false", "update-ref", "--stdin", "-z", stdin=os.fsencode(lines))
