"""Notifications: the transitions in the commits since the last run, sent to people as policies say.

At least once: messages are remembered (`muster.git.memory.notices`), with the commit up to which they are complete,
before any is sent. If a run is killed before that, the next one finds the same transitions with the same ids; if
afterwards, the next one may send a message again, with the same id.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from muster.data.kinds import ALL, kind_of
from muster.data.locations import FOLDER, is_projected
from muster.data.notices import Message, Notice, digest
from muster.data.printable import counted, printable, without_secrets
from muster.data.times import earliest, format_time
from muster.data.tree import Tree
from muster.data.yaml.loader import first_body
from muster.features.notify.sinks import NoticeSink, opener, sinks_of
from muster.features.pulses.publish import PATIENT, Deliverer, Publication
from muster.features.pulses.sinks import RetryPatience
from muster.fleet.faults import stage_fault
from muster.git.changes import Blob, changed_paths
from muster.git.derivedbranch import derived_branch, derived_tip, evaluated_commit
from muster.git.errors import RepositoryError, UnreadableError
from muster.git.log import read_log
from muster.git.memory.notices import NoticeMemory, read_memory, remember
from muster.git.repository import Repository, has_commit, is_ancestor
from muster.git.store.objects import Objects
from muster.rules.notifications.policy import NotificationPolicy
from muster.rules.notifications.transitions import bounded, change_tree, messages
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.incremental import Wanted, answer
from muster.run.question import default_neighbourhood
from muster.run.run import Run
from muster.run.transitions.notices import notices_of

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult

#: How many transitions a message lists; the others are counted.
_MAX_LINES: Final = 30
#: Past so many commits only the transitions between the first and the last are reported, without those in between.
_MAX_COMMITS: Final = 1000
_TYPE: Final = "dev.muster.notification.v1"


def notify_due(
    repository: Repository,
    done: "ReconcileResult",
    remote: str | None = None,
    environ: Mapping[str, str] = os.environ,
    patience: RetryPatience = PATIENT,
) -> Publication:
    """Send the transitions in the commits up to the branch's present one, and the messages that were waiting.

    The first run only remembers the commit. Without sinks nothing is sent or remembered. A fault of ours is in the
    result. RepositoryError if the memory cannot be read.
    """
    settings = sinks_of(done.settled.last.fleet.settings.spec)
    if not settings or not done.head:
        return Publication()
    try:
        return _notify(repository, done, remote, environ, patience, settings)
    except RepositoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary: what was committed is committed
        return Publication(faults=[stage_fault("telling of transitions", error, "they stay to be told")])


def _notify(
    repository: Repository,
    done: "ReconcileResult",
    remote: str | None,
    environ: Mapping[str, str],
    patience: RetryPatience,
    settings: Mapping[str, NoticeSink],
) -> Publication:
    run, branch = done.settled.last, derived_branch(repository, done.head)
    tip = (derived_tip(repository, branch) if branch else None) or done.head
    memory = read_memory(repository, remote)
    result = Publication()
    if memory.upto != tip:
        notices = list(_since(repository, memory.upto, tip, run.now)) if memory.upto else []
        due = messages(_fleet_of(repository, done, notices), notices, memory.messages.values(), run.now)
        memory.messages = {message.id: message for message in due if message.id not in memory.done}
        if lost := [message for message in due if message.id in memory.messages.keys() - bounded(due)]:
            result.failures["memory"] = [f"{len(lost)} messages that no sink accepted for long are given up"]
            for message in lost:
                memory.finish(message)
        first, memory.upto = memory.upto is None, tip
        if (notices or first) and not _remembered(repository, memory, remote, result):
            _count_waiting(memory, settings, run, result)
            return result  # else every run would send the same messages again
    deliverer = Deliverer(settings, opener(settings, environ), patience, result, "messages")
    _send(repository, memory, remote, run, result, deliverer, settings)
    _count_waiting(memory, settings, run, result)
    result.failures = {
        name: [without_secrets(reason, environ) for reason in reasons] for name, reasons in result.failures.items()
    }
    return result


def _fleet_of(repository: Repository, done: "ReconcileResult", notices: Sequence[Notice]) -> FleetWithPolicies:
    """The fleet with complete objects for the policies.

    A partial or sharded run has only summaries of other objects, or nothing: those that are needed are evaluated now,
    from its state. So the messages do not depend on what the run looked at.
    """
    fleet = done.settled.last.fleet
    if not fleet.partial or not notices:
        return fleet
    targeted = {kind for policy in fleet.compiled.of(NotificationPolicy) for kind in policy.target.kinds}
    if not fleet.objects:  # it has read nothing, not even policies
        targeted = set(ALL)
    ids = {notice.object for notice in notices if _exists_after(notice) and kind_of(notice.object) in targeted}
    missing = {id_ for id_ in ids if id_ not in fleet.objects or id_ in fleet.beyond.standing}
    if not missing and fleet.objects:
        return fleet
    wanted = Wanted(frozenset({str(id_) for id_ in ids} | {default_neighbourhood(id_) for id_ in ids}), wide=not ids)
    run_answer = answer(done.question.at(evaluated_commit(repository, done.head)), done.state, wanted=wanted)
    return run_answer.settled.last.fleet


def _send(
    repository: Repository,
    memory: NoticeMemory,
    remote: str | None,
    run: Run,
    result: Publication,
    to: Deliverer,
    settings: Mapping[str, NoticeSink],
) -> None:
    due = [message for message in memory.messages.values() if message.due <= run.now]
    result.due = len(due)
    try:
        for message in sorted(due, key=lambda message: (message.due, message.notices[0].at, message.id)):
            names, event = _names(message, settings), event_of(message)
            have = set(message.arrived.intersection(names))
            for name in (name for name in names if name not in have):
                took = to.deliver(name, event)
                (result.told.sent if took else result.told.refused)[settings[name].sort] += 1
                have.update([name] if took else [])
            if have == set(names):
                memory.finish(message)
                result.published += 1
            elif not have <= message.arrived:
                memory.messages[message.id] = replace(message, arrived=message.arrived | have)
            else:
                continue
            _remembered(repository, memory, remote, result)
    finally:
        to.close()
    result.next = earliest(*(message.due for message in memory.messages.values() if message.due > run.now))


def _names(message: Message, settings: Mapping[str, NoticeSink]) -> list[str]:
    """The existing sinks of a message."""
    return sorted((message.sinks or settings.keys()) & settings.keys())


def _count_waiting(memory: NoticeMemory, settings: Mapping[str, NoticeSink], run: Run, result: Publication) -> None:
    for message in memory.messages.values():
        left = [name for name in _names(message, settings) if name not in message.arrived]
        result.told.waiting.update({settings[name].sort for name in left})
    result.told.oldest = earliest(*(message.due for message in memory.messages.values() if message.due <= run.now))


def _remembered(repository: Repository, memory: NoticeMemory, remote: str | None, result: Publication) -> bool:
    if trouble := remember(repository, memory, remote):
        result.failures.setdefault("memory", []).append(trouble)
    return not trouble


def _since(repository: Repository, upto: str, tip: str, now: datetime) -> Iterator[Notice]:
    """The transitions of the commits after `upto`, commit by commit; between both ends only if history was rewritten or
    is long."""
    if not has_commit(repository.git, upto):
        return
    commits = [tip]
    if is_ancestor(repository, upto, tip):
        log = read_log(repository, f"^{upto}", tip, paths=(FOLDER,), first_parent=True, oldest_first=True)
        commits = [logged.commit for logged in log]
    before = upto
    for commit in commits if len(commits) <= _MAX_COMMITS else [tip]:
        yield from _of_commit(repository, before, commit, now)
        before = commit


def _of_commit(repository: Repository, old: str, new: str, now: datetime) -> Iterator[Notice]:
    for path in changed_paths(repository, old, new):
        if not path.path.startswith(FOLDER) or is_projected(path.path):
            continue
        before, after = (_body(repository.objects, blob, path.path) for blob in (path.old, path.new))
        yield from notices_of(path.path, before, after, new, now)


def _body(objects: Objects, blob: Blob | None, path: str) -> Tree:
    """A derived document; None if missing or unreadable."""
    try:
        return first_body(objects.blob(blob.oid), path) if blob else None
    except UnreadableError:
        return None


def _exists_after(notice: Notice) -> bool:
    """Does the object of a transition exist afterwards? Not if its derived file is gone."""
    return bool(notice.after) or bool(notice.sort)


def incident_key(policy: str, notice: Notice) -> str:
    """Return what identifies an incident from its beginning to its end: a policy, an object and a fact of it."""
    return digest((policy, *notice.object, notice.sort, notice.name))


def event_of(message: Message) -> Tree:
    """Return a message as the CloudEvent for webhooks, the same each time."""
    shown = [printable(notice.text) for notice in message.notices[:_MAX_LINES]]
    more = len(message.notices) - len(shown)
    text = "\n".join([*shown, *([f"and {more} more"] if more else [])])
    count = counted(len(message.notices), "transition")
    source = f"{printable(message.policy)} {printable(message.key)}".rstrip()
    resolved = all(notice.resolves for notice in message.notices)
    return {
        "specversion": "1.0",
        "id": message.id,
        "source": "muster",
        "type": _TYPE,
        "subject": f"{'resolved' if resolved else message.severity}: {source}: {count}",
        "time": format_time(message.due),
        "datacontenttype": "application/json",
        "data": {
            "policy": message.policy,
            "severity": message.severity,
            "group": message.key,
            "text": text,
            "transitions": [
                {
                    "id": noticed.id,
                    "commit": noticed.commit,
                    "at": format_time(noticed.at),
                    **change_tree(noticed),
                    "incident": incident_key(message.policy, noticed),
                    "resolves": noticed.resolves,
                    "text": printable(noticed.text),
                }
                for noticed in message.notices
            ],
        },
    }
