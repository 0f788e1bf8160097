"""Renewals that came late, by more than half a lease, as a process sees them that looks at agents' refs repeatedly.

A silence that ends before anything is decided leaves no trace in a commit. With these notes in the next record, a
shorter grace period can be tried on the past afterwards. A silence is noted only if it is certain: somebody looked
within the last lease before it ended, so no renewal in between was missed.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from muster.git.agents.listing import AgentRefs
from muster.git.agents.refs import AgentFiles, AgentRef
from muster.git.errors import UnreadableError
from muster.git.record.form import LateRenewal
from muster.git.record.renewals import RenewTime, without_renewals
from muster.git.repository import Repository

#: What agents renew by if they do not say.
_LEASE_SECONDS: Final = 60
_DURATION: Final = "leaseDurationSeconds"
_MOST_DIGITS: Final = 7
#: Until the next record. Further ones are not noted.
_MOST: Final = 10_000


class _Lease(NamedTuple):
    """A renewal, and the seconds after which the next one is due."""

    renewed: RenewTime
    seconds: int


class _SeenRef(NamedTuple):
    """What was seen of a ref: its commit, and its leases by path."""

    commit: str
    leases: Mapping[str, _Lease]


class LateRenewals:
    """The late renewals since the last record."""

    def __init__(self) -> None:
        self._seen: dict[str, _SeenRef] = {}
        self._looked: int | None = None
        self._since: int | None = None
        self._blind = frozenset[str]()
        self._late: dict[LateRenewal, None] = {}

    @property
    def all(self) -> Sequence[LateRenewal]:
        """Return those since `clear`, in the order in which they were seen."""
        return tuple(self._late)

    @property
    def since(self) -> datetime | None:
        """Since when all of them are noted."""
        return None if self._since is None else datetime.fromtimestamp(self._since, UTC)

    def clear(self) -> None:
        """Forget them: they are recorded."""
        self._late.clear()

    def look(self, repository: Repository, heard: AgentRefs, second: int) -> None:
        """See the refs as they are at a second."""
        counting = {ref.name: ref for ref in heard.refs if ref.commit and not ref.refused}
        moved = [
            ref for name, ref in counting.items() if name not in self._seen or self._seen[name].commit != ref.commit
        ]
        for ref, leases in _read_leases(repository, moved, heard).items():
            before = self._seen.get(ref.name)
            if before is not None and self._looked is not None and ref.cluster not in self._blind:
                self._compare(ref.name, before.leases, leases, self._looked)
            self._seen[ref.name] = _SeenRef(ref.commit, leases)
        self._seen = {name: seen for name, seen in self._seen.items() if name in counting}
        if self._since is None or len(self._late) >= _MOST:
            self._since = second
        self._looked, self._blind = second, heard.agents.unknown

    def _compare(self, ref: str, before: Mapping[str, _Lease], after: Mapping[str, _Lease], looked: int) -> None:
        for path, lease in after.items():
            old = before.get(path)
            if old is None or len(self._late) >= _MOST:
                continue
            gap = lease.renewed.second - old.renewed.second
            if 2 * gap > 3 * old.seconds and lease.renewed.second - looked <= old.seconds:
                self._late[LateRenewal(ref, old.renewed.text, lease.renewed.text)] = None


def _read_leases(
    repository: Repository, refs: Sequence[AgentRef], heard: AgentRefs
) -> dict[AgentRef, dict[str, _Lease]]:
    """The leases in refs, by path. A ref that cannot be read has none."""
    leases: dict[str, dict[str, _Lease]] = {ref.short: {} for ref in refs}
    for file in AgentFiles(repository.objects, refs, heard.agents.limits).files() if refs else ():
        try:
            text = file.read().decode()
        except (UnreadableError, UnicodeDecodeError):
            continue
        renewals = list[RenewTime]()
        without_renewals(text, None, renewals)
        if renewals:
            leases[file.ref][file.path] = _Lease(renewals[0], _duration(text))
    return {ref: leases[ref.short] for ref in refs}


def _duration(text: str) -> int:
    """The duration of the lease in a file."""
    after = text.partition(_DURATION)[2][: _MOST_DIGITS + 4].lstrip("\"': ")
    digits = after[: len(after) - len(after.lstrip("0123456789"))]
    return int(digits[:_MOST_DIGITS]) if digits and int(digits) else _LEASE_SECONDS
