"""The answers of `muster replay` as text and as JSON data: repeated runs, and the rows of a setting."""

import json
from collections.abc import Callable, Sequence
from datetime import timedelta

from muster.cli.documents import object_document
from muster.cli.table import table_text
from muster.data.names import few
from muster.data.printable import counted
from muster.data.times import brief, format_duration, format_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.replay.past import past_between
from muster.features.replay.repeat import Difference, differences_of, repeated_runs
from muster.features.replay.signers import CommitSigner, signers_between
from muster.features.replay.sweep import SweepRow, Swept
from muster.features.replay.tally import Counts, middle
from muster.git.repository import Repository


@dataclass(frozen=True, slots=True)
class Repeated:
    """The runs of a range: `runs` in all, of which `repeated` were made again. `unrecorded` are the commits of runs
    that recorded nothing; `unreadable` those of which the record is missing here or does not count, each with the
    reason. `differences` are in the order of commits; `instants` are those of their runs. `complete`: it was not
    stopped before the end."""

    runs: int
    repeated: int
    unrecorded: Sequence[str]
    unreadable: Sequence[tuple[str, str]]
    differences: Sequence[Difference]
    signers: Sequence[CommitSigner]
    complete: bool

    @property
    def is_proved(self) -> bool:
        """Is every run repeated, and nothing different?"""
        return self.repeated == self.runs and not self.differences


def repeat(repository: Repository, start: str, end: str, stopped: Callable[[], bool] = lambda: False) -> Repeated:
    """Repeat the runs after the commit `start` up to `end` from their records, until `stopped`."""
    past = past_between(repository, start, end)
    unrecorded, unreadable, repeated, seen = list[str](), list[tuple[str, str]](), 0, 0
    differences = [difference for other in past.others for difference in differences_of(repository, other)]
    for run in repeated_runs(repository, past.runs, stopped=stopped):
        seen += 1
        if run.settled is not None:
            repeated += 1
            differences.extend(run.differences)
        elif run.why:
            unreadable.extend((run.past.commit, finding.message) for finding in run.why)
        else:
            unrecorded.append(run.past.commit)
    signers = signers_between(repository, start, end, (run.commit for run in past.runs))
    return Repeated(len(past.runs), repeated, unrecorded, unreadable, differences, signers, seen == len(past.runs))


def repeated_text(repeated: Repeated) -> str:
    """Return a table of differences, and what was repeated."""
    if not repeated.runs and not repeated.differences:
        return "no run of muster made a commit in this range\n"
    parts = []
    if repeated.differences:
        rows = [
            [
                difference.commit[:12],
                str(difference.object) if difference.object else "-",
                difference.field,
                difference.file or "-",
                difference.committed or "-",
                difference.repeated or "-",
            ]
            for difference in repeated.differences
        ]
        parts.append(table_text(["COMMIT", "OBJECT", "FIELD", "FILE", "COMMITTED", "REPEATED"], rows))
    parts += [f"{commit[:12]}: {why}" for commit, why in repeated.unreadable]
    commits = len({difference.commit for difference in repeated.differences})
    same = "all the same" if not repeated.differences else f"{counted(commits, 'commit')} with differences"
    of_all = "" if repeated.repeated == repeated.runs else f"{repeated.repeated} of "
    end = f": {same}" if repeated.repeated or repeated.differences else ""
    parts.append(f"{of_all}{counted(repeated.runs, 'run')} repeated{end}")
    if repeated.unrecorded:
        named = few([commit[:12] for commit in repeated.unrecorded])
        parts.append(f"{counted(len(repeated.unrecorded), 'run')} without a record: {named}")
    parts += [_signer_line(signer) for signer in repeated.signers]
    if not repeated.complete:
        parts.append("stopped before the end")
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def _signer_line(signer: CommitSigner) -> str:
    who = f"signed with {signer.key}{f' ({signer.comment})' if signer.comment else ''}" if signer.key else "not signed"
    return f"{who}: {counted(signer.runs, 'run')}, {counted(signer.others, 'other commit')}"


def repeated_document(repeated: Repeated) -> Tree:
    """Return the same as JSON data."""
    return {
        "runs": repeated.runs,
        "repeated": repeated.repeated,
        "complete": repeated.complete,
        "unrecorded": list(repeated.unrecorded),
        "unreadable": [{"commit": commit, "reason": why} for commit, why in repeated.unreadable],
        "differences": [
            {
                "commit": difference.commit,
                "object": object_document(difference.object) if difference.object else None,
                "field": difference.field,
                "file": difference.file or None,
                "committed": difference.committed or None,
                "repeated": difference.repeated or None,
            }
            for difference in repeated.differences
        ],
        "signers": [
            {"key": signer.key or None, "comment": signer.comment or None, "runs": signer.runs, "others": signer.others}
            for signer in repeated.signers
        ],
    }


# -- settings


def swept_text(swept: Swept) -> str:
    """Return a row for each value, and what the columns count."""
    fact = swept.rows[0].counts
    rows = [_cells(row, fact) for row in swept.rows]
    table = table_text(["VALUE", "OUTAGES", "EARLIER", "FALSE ALARMS", "MOVES", "HELD"], rows)
    lines = [f"{swept.setting.text} in {counted(swept.runs, 'run')}; a false alarm ended within {brief(swept.alarm)}"]
    if swept.unrecorded:
        lines.append(
            f"{counted(swept.unrecorded, 'run')} without a record, not counted: what agents said then is not known"
        )
    if swept.unwatched:
        lines.append(f"no muster watch ran before {counted(swept.unwatched, 'run')}: nothing is tried in between")
    if not swept.complete:
        lines.append("stopped before the end")
    return "".join((table, "\n", *(f"{line}\n" for line in lines)))


def _shown(value: Tree) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _cells(row: SweepRow, fact: Counts) -> list[str]:
    counts = row.counts
    earlier = None if row.value is None else middle(counts.earlier(fact))
    return [
        "as it was" if row.value is None else _shown(row.value),
        str(len(counts.outages)),
        _lead(earlier),
        str(counts.false_alarms),
        str(counts.moves),
        str(counts.held),
    ]


def _lead(span: timedelta | None) -> str:
    if span is None:
        return "-"
    return f"-{format_duration(-span)}" if span < timedelta() else format_duration(span)


def swept_document(swept: Swept) -> Tree:
    """Return the same as JSON data, with each outage."""
    fact = swept.rows[0].counts
    return {
        "set": swept.setting.text,
        "runs": swept.runs,
        "unrecorded": swept.unrecorded,
        "unwatched": swept.unwatched,
        "complete": swept.complete,
        "falseAlarmSeconds": int(swept.alarm.total_seconds()),
        "rows": [_row_document(row, fact) for row in swept.rows],
    }


def _row_document(row: SweepRow, fact: Counts) -> Tree:
    counts = row.counts
    earlier = [] if row.value is None else counts.earlier(fact)
    median = middle(earlier)
    return {
        "value": row.value,
        "asItWas": row.value is None,
        "outages": [
            {
                "object": object_document(outage.cluster),
                "since": format_time(outage.since),
                "until": format_time(outage.until) if outage.until else None,
            }
            for outage in counts.outages
        ],
        "found": len(counts.outages),
        "earlierSeconds": None if median is None else int(median.total_seconds()),
        "falseAlarms": counts.false_alarms,
        "moves": counts.moves,
        "held": counts.held,
    }
