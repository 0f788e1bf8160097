"""What was read of a snapshot: parts of objects, findings, and what could not be read."""

from dataclasses import field
from typing import Final

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.source import Part, SourceFile
from muster.dataclass import dataclass
from muster.fleet import messages
from muster.fleet.foreign import Foreign
from muster.fleet.misspelt import Guess
from muster.fleet.report_parts import is_forgotten


@dataclass(slots=True)
class UnreadReports:
    """What cannot be read on one agent's ref: the objects that broken documents name, and the files that do not tell
    what they hold."""

    ids: set[ObjectId] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class HeldByReports:
    """The `broken` objects, the `clusters` whose agents' reports count as not sent, and `findings` about parts without
    content."""

    broken: frozenset[ObjectId] = frozenset()
    clusters: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """A file with something that is no object of the fleet.

    `blank`: it is empty; `unreadable`: a document cannot be read; `unknown_documents`: signatures of its documents of
    unknown kinds.
    """

    source: SourceFile
    blank: bool
    unreadable: bool
    unknown_documents: frozenset[str]


@dataclass
class FilesRead:
    """Parts in order of file and document, findings, and what could not be read.

    `broken`: objects in broken documents. `unclear`: people's files with a document that does not identify its object,
    with their blob ids (empty if skipped). `stand_ins`: parts with a misspelt kind, used while nothing else declares
    the object; `guesses`: documents that lack a line, and what they may have been. `suspects`: files that hold more
    than objects of the fleet; `files`: all of people's files with their blob ids. `foreign`: people's objects of
    unknown kinds; `groups`: the API group of such an object, by the finding about it. `unsent`: broken reports that
    count as not sent. `lost`: agents' refs with a missing git object, and which one; `unread_reports`: what cannot be
    read on agents' refs.
    """

    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: set[ObjectId] = field(default_factory=set)
    unsent: set[ObjectId] = field(default_factory=set)
    unclear: dict[str, str] = field(default_factory=dict)
    stand_ins: list[Part] = field(default_factory=list)
    guesses: list[tuple[messages.Origin, Guess]] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    derived_files: dict[str, str] = field(default_factory=dict)
    foreign: list[Foreign] = field(default_factory=list)
    groups: dict[Finding, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    unread_reports: dict[str, UnreadReports] = field(default_factory=dict)

    @property
    def has_damage(self) -> bool:
        """Is any of people's files unidentifiable or unreadable?"""
        return bool(self.broken or self.unclear or self.stand_ins or self.guesses)

    def add_unclear(self, source: SourceFile) -> None:
        """Record that a file has an unidentifiable document."""
        self.unclear[source.path] = source.oid

    def add_broken(self, id_: ObjectId) -> None:
        """An unreadable object keeps its last state; a report counts as not sent."""
        (self.unsent if is_forgotten(id_) else self.broken).add(id_)

    def add_agents_file(self, ref: str, path: str, file: "FilesRead") -> None:
        """Add what was read of one file of an agent. A broken file hides no object of people or of other agents."""
        self.parts.extend(file.parts)
        unread = self.unread_reports.setdefault(ref, UnreadReports())
        unread.ids |= file.broken | {part.id for part in file.stand_ins}
        named = file.broken or file.unsent
        if (
            file.unclear
            or file.guesses
            or any(suspect.blank or (suspect.unreadable and not named) for suspect in file.suspects)
        ):
            unread.paths.add(path)


@dataclass(frozen=True, slots=True)
class DamagedFiles:
    """Files that exist and are damaged, and the objects that keep their derived state because of them. Each run reads
    both again until the file is repaired. `elsewhere`: other objects may depend on the files too, so the run must be
    full."""

    files: frozenset[str] = frozenset()
    ids: frozenset[ObjectId] = frozenset()
    elsewhere: bool = False

    def __bool__(self) -> bool:
        return bool(self.files or self.ids or self.elsewhere)


NOTHING_DAMAGED: Final = DamagedFiles()
