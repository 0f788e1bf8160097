"""Refs of a single root commit: replaced in place, and never over what somebody else has put there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muster.git.errors import Moved, Rejected, RepositoryError
from muster.git.memory.rootref import NO_CONTENTS, RefContents, RootRef, update
from muster.git.repository import open_repository
from tests.support.git import Repo, new_repository

NAME = "refs/heads/agents/eu"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "fleet.git", bare=True)


def test_a_ref_is_replaced_in_place(repo: Repo) -> None:
    ref = RootRef(open_repository(repo.path, repo.environ), NAME)
    assert ref.look() == NO_CONTENTS
    first = ref.replace(NO_CONTENTS, {"lease.yaml": b"1\n"}, "Beat")
    assert first == RefContents(repo.tip(NAME), {"lease.yaml": b"1\n"})
    second = ref.replace(first, {"lease.yaml": b"2\n"}, "Beat")
    assert second == ref.look() == RefContents(repo.tip(NAME), {"lease.yaml": b"2\n"})
    assert repo.git("rev-list", "--count", NAME) == "1"
    assert ref.replace(NO_CONTENTS, {"lease.yaml": b"3\n"}, "Beat") == Moved(repo.tip(NAME))
    assert ref.replace(first, {"lease.yaml": b"3\n"}, "Beat") == Moved(repo.tip(NAME))
    assert repo.show("lease.yaml", NAME) == "2"
    assert [name for name in repo.refs() if name.startswith("refs/muster")] == []


def test_what_cannot_be_locked_is_no_race(repo: Repo) -> None:
    repo.write(f"{NAME}.lock", "")
    ref = RootRef(open_repository(repo.path, repo.environ), NAME)
    with pytest.raises(RepositoryError, match="another git process holds"):
        ref.replace(NO_CONTENTS, {"lease.yaml": b"1\n"}, "Beat")


@dataclass
class Contested:
    """A ref to which rivals write each time that somebody is about to. Satisfies `ReplaceableRef`."""

    rivals: list[Mapping[str, bytes]]
    files: Mapping[str, bytes] = field(default_factory=dict)
    looks: int = 0

    def look(self, known: RefContents = NO_CONTENTS) -> RefContents:
        self.looks += 1
        return RefContents(str(self.files), self.files)

    def replace(self, known: RefContents, files: Mapping[str, bytes], message: str) -> RefContents | Moved | Rejected:
        if self.rivals:
            self.files = self.rivals.pop(0)
        if known.commit != str(self.files):
            return Moved(None)
        self.files = files
        return self.look()


def mine(known: RefContents) -> Mapping[str, bytes] | None:
    return None if "mine" in known.files else {**known.files, "mine": b"1"}


def test_what_others_put_there_stays() -> None:
    ref = Contested([{"a": b"1"}, {"a": b"1", "b": b"1"}])
    done = update(ref, mine, "Mine", attempts=range(3))
    assert isinstance(done, RefContents)
    assert done.files == ref.files == {"a": b"1", "b": b"1", "mine": b"1"}


def test_attempts_run_out() -> None:
    ref = Contested([{"a": bytes([number])} for number in range(9)])
    assert update(ref, mine, "Mine", attempts=range(3)) == Moved(None)
    assert ref.looks == 3


def test_what_stands_already_is_left_alone() -> None:
    ref = Contested([], {"mine": b"0"})
    assert update(ref, mine, "Mine", attempts=range(3)) == RefContents(str(ref.files), {"mine": b"0"})


def test_what_is_known_need_not_be_looked_at_until_it_has_moved() -> None:
    ref = Contested([{"a": b"1"}], {})
    done = update(ref, mine, "Mine", attempts=range(3), known=RefContents("{}", {}))
    assert isinstance(done, RefContents)
    assert done.files == {"a": b"1", "mine": b"1"}
