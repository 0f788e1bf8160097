"""The commit message: what changed in the fleet's terms, then each transition, then trailers for machines."""

import hashlib
import re
from collections.abc import Iterable, Sequence

from muster.data.kinds import CONDITION_POLICY, DISRUPTION_BUDGET, NOTIFICATION_POLICY, PULSE_POLICY, TAINT_POLICY
from muster.data.printable import printable, without_secrets
from muster.data.times import format_time
from muster.fleet.fleet import Fleet
from muster.git.enginecommits import NOW, SOURCE, WHOLE
from muster.run.change import Change
from muster.run.changes import summary
from muster.run.run import Run

_POLICY_KINDS = (CONDITION_POLICY, TAINT_POLICY, PULSE_POLICY, DISRUPTION_BUDGET, NOTIFICATION_POLICY)
_LONGEST_SUBJECT = 100
#: What keeps a forge from running anything on a commit: that is not for an agent to say.
_SKIP = re.compile(r"\[([^][]*\b(?:skip|no[- _]?ci)\b[^][]*)\]|\*\*\*(no_ci)\*\*\*", re.IGNORECASE)
#: What a forge takes for people, issues, merge requests and the like: it would tell them, or close them.
_REFERENCE = re.compile(
    r"(?<!\w)@(?=\w)|#(?=\w)|(?<!\w)[!&$%~](?=\d)|\bGH-(?=\d)"
    r"|/(?:issues|pulls?|merge_requests|epics|work_items)/(?=\d)", re.IGNORECASE,
)  # fmt: skip
_MOST_LINES = 1000


def commit_message(run: Run, found: Sequence[Change], notes: Sequence[str] = ()) -> str:
    """Return the message of the commit that carries out a run; `notes` are lines about the run itself."""
    (subject,) = plain((summary(found),))
    if len(subject) > _LONGEST_SUBJECT:
        subject = subject[: _LONGEST_SUBJECT - 1].rsplit(",", 1)[0] + ", …"
    if run.fleet.settings.skip_ci:
        subject = f"{subject} [skip ci]"
    body = [str(change) for change in found[:_MOST_LINES]]
    if len(found) > _MOST_LINES:
        body.append(f"… and {len(found) - _MOST_LINES} more")
    body.extend(f"held: {held.object}: {held.effect}: {held.reason}" for held in run.fleet.held)
    body.extend(notes)
    trailers = [*_trailers(run), f"Muster-Policies: {policies_digest(run.fleet)}"]
    return "\n".join([subject, "", *plain(body), "", *trailers]) + "\n"


def plain_message(run: Run, files: int) -> str:
    """Return a message that says no more than how many files change."""
    subject = f"write or remove {files} derived files" if files != 1 else "write or remove 1 derived file"
    return "\n".join([subject, "", *_trailers(run)]) + "\n"


def _trailers(run: Run) -> list[str]:
    whole = [f"{WHOLE}: {run.fleet.whole_at}"] if run.fleet.whole_at else []
    return [f"{NOW}: {format_time(run.now)}", f"{SOURCE}: {run.commit or 'none'}", *whole]


def policies_digest(fleet: Fleet) -> str:
    """Return 12 hex digits that change when a condition, taint, pulse or notification policy or a budget in force does,
    built-in ones included."""
    digest = hashlib.sha256()
    for kind in _POLICY_KINDS:
        for policy in fleet.policies(kind):
            digest.update(repr((policy.id, policy.body)).encode())
    return digest.hexdigest()[:12]


def plain(lines: Iterable[str]) -> Iterable[str]:
    """One line each, whatever an agent's message holds: no newline becomes a trailer, no URL tells a password, nothing
    moves the cursor of who reads the log, closes an issue, or calls people."""
    texts = (printable(" ".join(without_secrets(line).split())) for line in lines)
    return (_REFERENCE.sub(r"\g<0> ", _SKIP.sub(lambda found: f"({found[1] or found[2]})", text)) for text in texts)
