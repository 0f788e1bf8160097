"""What a relay's collectors say: files by cluster and collector, on a ref of the relay's own repository.

They are on disk before a collector gets its answer, so a relay that is killed loses nothing, and a hub that is away
gets them later. The relay copies the ref's tree to `collected/` of its branch (`muster.git.agents.relays`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from threading import Lock
from typing import Final, TypeAlias

from muster.data.agentref import COLLECTED, RELAYS, cluster_of, collected
from muster.data.snapshot import DEFAULT_LIMITS, AgentLimits
from muster.dataclass import dataclass
from muster.git.agents.refs import AgentFiles, AgentRef
from muster.git.agents.relays import cluster_folder
from muster.git.errors import Moved, RepositoryError, UnreadableError
from muster.git.fastimport import build_changed, remove_command, tree_command, write_command
from muster.git.landing.commit import swap_ref
from muster.git.repository import Repository, ref_tip
from muster.git.store.objects import object_id

REF: Final = f"refs/muster/{COLLECTED}"
_NAMED: Final = f"refs/heads/{RELAYS}{COLLECTED}"
#: A cluster, and the path of a file in its folder.
FilePath: TypeAlias = tuple[str, str]
#: New contents of files; None removes one.
Changes: TypeAlias = Mapping[FilePath, bytes | None]


class TooMuchError(ValueError):
    """A cluster would have more files than an agent may have."""


@dataclass
class CollectedFiles:
    """The files of one relay's repository. Thread-safe. Those of a cluster stay within `limits`."""

    repository: Repository
    limits: AgentLimits = DEFAULT_LIMITS
    _lock: Lock = field(default_factory=Lock)

    @property
    def tree(self) -> str:
        """The id of all files as one tree; empty for none."""
        tree = ref_tip(self.repository, f"{REF}^{{tree}}") or ""
        return tree if tree != object_id("tree", b"", self.repository.object_format) else ""

    def restore(self, tree: str) -> None:
        """Take the files of a tree over, for a repository that has none yet."""
        if ref_tip(self.repository, REF) is None:
            self._write(None, [tree_command("", tree)])

    def change(self, asked: Collection[FilePath], make: Callable[[Mapping[FilePath, bytes]], Changes]) -> None:
        """Write what `make` returns for the present contents of the `asked` files. TooMuchError beyond the limits: then
        nothing is written."""
        with self._lock:
            tip = ref_tip(self.repository, REF)
            made = make(self._read(tip, sorted(set(asked))))
            if not made:
                return
            commands = [
                remove_command(place(path)) if content is None else write_command(place(path), content)
                for path, content in sorted(made.items())
            ]
            self._write(tip, commands, {cluster for cluster, _ in made})

    def _read(self, tip: str | None, asked: Collection[FilePath]) -> dict[FilePath, bytes]:
        if tip is None:
            return {}
        answers = list(self.repository.objects.read([f"{tip}:{place(path)}" for path in asked]))
        return {
            path: answer.content
            for path, answer in zip(asked, answers, strict=True)
            if not isinstance(answer, UnreadableError)
        }

    def _write(self, tip: str | None, commands: Collection[bytes], clusters: Collection[str] = ()) -> None:
        commit = build_changed(self.repository, tip, commands, f"{COLLECTED}\n", root=True)
        self._check(commit, sorted(clusters))
        if isinstance(swap_ref(self.repository, REF, commit, tip, reason="muster: collect"), Moved):
            raise RepositoryError(f"{REF} has moved", "does another relay use this repository?")

    def _check(self, commit: str, clusters: Sequence[str]) -> None:
        """TooMuchError if a run would leave out what is said of a cluster."""
        names = (f"{commit}:{cluster_folder(cluster)}" for cluster in clusters)
        lines = self.repository.git.run("cat-file", "--batch-check", stdin="\n".join(names).encode()).stdout.split(
            b"\n"
        )
        refs = [
            AgentRef(collected(_NAMED, cluster), line.split()[0].decode())
            for cluster, line in zip(clusters, lines, strict=False)
            if b" tree " in line
        ]
        for skip in AgentFiles(self.repository.objects, refs, self.limits).skipped:
            raise TooMuchError(f"{cluster_of(skip.ref)}: {skip.detail}")


def place(path: FilePath) -> str:
    """Return where a file is in the tree."""
    return f"{cluster_folder(path[0])}/{path[1]}"
