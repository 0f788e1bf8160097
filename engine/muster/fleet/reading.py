"""What was read of a snapshot: parts of objects, what is wrong, and what could not be read."""

from dataclasses import dataclass, field

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.source import Part, SourceFile
from muster.data.tree import Tree
from muster.fleet import messages
from muster.fleet.foreign import Foreign
from muster.fleet.heard import is_report
from muster.fleet.slips import Guess


@dataclass(frozen=True, slots=True)
class Suspect:
    """A person's file in which something is no object of the fleet's.

    `blank`: there is nothing in it; `troubled`: a document of it cannot be read; `strangers` are its documents that
    are of no kind that is known, each by what tells it from others.
    """

    source: SourceFile
    blank: bool
    troubled: bool
    strangers: frozenset[str]


@dataclass
class FilesRead:
    """What was read: parts in order of file and document, findings, and what could not be read.

    `broken` are objects that a broken document holds; `unclear` are people's files, each with its id (empty where it
    was left out unread), in which something does not even say what it is. `stand_ins` are parts whose kind is misspelt:
    what is known of an object until it is mended; `guesses` are documents that lack a line, and what they may have
    been. `suspects` are the files in which there is anything else than objects of the fleet; `files` are all of
    people's, each with its id. `foreign` are people's objects of kinds that nobody knows. `as_written` are the trees of
    derived files, by path, that are known to hold the very bytes that muster writes for such a tree. `lost` are the
    agents' refs of which the repository has lost something, each with what.
    """

    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: set[ObjectId] = field(default_factory=set)
    unclear: dict[str, str] = field(default_factory=dict)
    stand_ins: list[Part] = field(default_factory=list)
    guesses: list[tuple[messages.Origin, Guess]] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    derived_files: dict[str, str] = field(default_factory=dict)
    as_written: dict[str, Tree] = field(default_factory=dict)
    foreign: list[Foreign] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)

    @property
    def slipped(self) -> bool:
        """Whether any file of people's does not say what it is, or cannot be read."""
        return bool(self.broken or self.unclear or self.stand_ins or self.guesses)

    def doubt(self, source: SourceFile) -> None:
        """Something in a file does not say what it is. An agent's slip is its own affair: it counts as not sent."""
        if not source.ref:
            self.unclear[source.path] = source.oid

    def lose(self, id_: ObjectId) -> None:
        """An object that cannot be read keeps its last state; a report counts as not sent."""
        if not is_report(id_):
            self.broken.add(id_)
