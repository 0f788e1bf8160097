"""What agents had said between two recorded runs.

A record has the renewals as of its run. Until the next run an agent renewed in time, up to the last renewal that the
next record has. If a process watched, renewals that came late are in that record too (`LateRenewal`), so silences in
between are known. Other contents are those of the earlier run: had they changed what it decides, there would be a run.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from muster.data.times import try_time
from muster.dataclass import dataclass
from muster.git.agents.listing import AgentRefs
from muster.git.agents.refs import AgentRef, RecordedContents
from muster.git.record.reading import Heard
from muster.git.record.renewals import RenewTime, with_renewals, without_renewals
from muster.git.store.objects import format_of, tree_id


@dataclass(frozen=True, slots=True)
class Silence:
    """The seconds of an agent's last renewal before a silence, and of the one that ended it."""

    since: int
    until: int


class Between:
    """The agents' refs between the run that `before` is the record of and the next one, `after`."""

    def __init__(self, before: Heard, after: Heard) -> None:
        self._before, self._after = before, after
        self._silences: dict[str, list[Silence]] = {}
        self._later_texts: dict[str, str] = {}
        for late in after.late:
            since, until = try_time(late.before), try_time(late.renewed)
            if since is not None and until is not None:
                self._silences.setdefault(late.ref, []).append(Silence(_second(since), _second(until)))

    @property
    def news(self) -> Sequence[datetime]:
        """When agents were heard again after a silence, in order."""
        seconds = {silence.until for several in self._silences.values() for silence in several}
        return [datetime.fromtimestamp(second, UTC) for second in sorted(seconds)]

    def at(self, instant: datetime) -> AgentRefs:
        """The refs as they were at an instant."""
        refs = tuple(self._ref_at(ref, _second(instant)) for ref in self._before.refs.refs)
        return replace(self._before.refs, refs=refs)

    def _ref_at(self, ref: AgentRef, second: int) -> AgentRef:
        if ref.recorded is None or ref.name not in self._before.renewals:
            return ref
        taken, files = list[RenewTime](), dict(ref.recorded.files)
        now = _second(self._before.run.now)
        texts = {path: data.decode() for path, data in files.items() if isinstance(data, bytes) and _is_text(data)}
        pieces = {path: without_renewals(text, now, taken) for path, text in texts.items()}
        renewals = [self._renewal_at(ref.name, number, version, second).text for number, version in enumerate(taken)]
        files |= {path: with_renewals(parts, renewals).encode() for path, parts in pieces.items()}
        contents = {path: data if isinstance(data, bytes) else str(data).encode() for path, data in files.items()}
        recorded = RecordedContents(files, ref.recorded.skipped)
        return replace(ref, commit=tree_id(contents, format_of(ref.commit)), recorded=recorded)

    def _texts_after(self, ref: str) -> str:
        """What the ref held at the next run, as one text."""
        if ref not in self._later_texts:
            recorded = next((ref_after.recorded for ref_after in self._after.refs.refs if ref_after.name == ref), None)
            contents = recorded.files.values() if recorded is not None else ()
            data = b"\n".join(data for data in contents if isinstance(data, bytes))
            self._later_texts[ref] = data.decode(errors="replace")
        return self._later_texts[ref]

    def _renewal_at(self, ref: str, number: int, renewal: RenewTime, second: int) -> RenewTime:
        """The last renewal up to a second, of the one that was `known` before."""
        later = self._after.renewals.get(ref, ())
        latest = later[number].second if number < len(later) else second
        if renewal.text in self._texts_after(ref):  # also one that is too old to be among the renewals
            latest = renewal.second
        for silence in self._silences.get(ref, ()):
            if silence.since <= second < silence.until and renewal.second <= silence.since and silence.until <= latest:
                return RenewTime(silence.since)
        renewed = max(renewal.second, min(second, latest))
        return renewal if renewed == renewal.second else RenewTime(renewed)


def _second(instant: datetime) -> int:
    return int(instant.timestamp())


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
