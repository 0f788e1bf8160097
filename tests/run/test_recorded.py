"""A run of the past is repeated from its record, whatever agents say now: files, message, findings, horizon."""

from datetime import timedelta
from pathlib import Path

import pytest

from muster.git.agents.listing import local_agent_refs
from muster.git.record.draft import HeardNow, draft_record
from muster.git.record.reading import heard_at
from muster.git.repository import Repository
from muster.run.full_and_partial import run_whole
from muster.run.recorded import question_of
from muster.run.run import Settled
from muster.run.transitions.transitions import commit_message
from tests.support.example import NOON
from tests.support.living import Living, told


def decided(living: Living) -> tuple[str, Settled] | None:
    """Let a run decide the fleet as it is; return its commit and what it came to, if it committed."""
    done = living.reconcile()
    assert not [found for found in done.settled.findings if found.code == "MUS519"]
    return (done.commit, done.settled) if done.commit else None


def repeated(repository: Repository, commit: str) -> Settled:
    """What a run comes to that is given what the run heard that made a commit."""
    found = heard_at(repository, commit)
    assert found.heard is not None, found.findings
    settled = run_whole(question_of(repository, found.heard), "asked").settled
    message = commit_message(settled.last, settled.changes, found.heard.notes)
    written = repository.git.output("show", "--no-patch", "--format=%B", commit).decode().rstrip("\n")
    assert written.startswith(message.rstrip("\n"))
    return settled


@pytest.mark.parametrize("seed", (2,))
def test_a_life_is_repeated_from_its_records(tmp_path: Path, seed: int) -> None:
    living = Living.small(tmp_path / "fleet", seed, 8)
    runs = list[tuple[str, object]]()
    for _ in range(16):
        living.step()
        if (done := decided(living)) is not None:
            runs.append((done[0], told(done[1])))
    living.now += timedelta(days=2)
    living.speaks(living.names[0])
    living.repo.git("update-ref", "-d", f"refs/heads/agents/{living.names[1]}")
    assert len(runs) > 4
    for commit, before in runs:
        assert told(repeated(living.repository, commit)) == before


def test_a_record_is_the_same_whether_rows_are_kept_or_not(tmp_path: Path) -> None:
    living, kept = Living.small(tmp_path / "fleet", 3, 40), tmp_path / "fleet" / ".git" / "muster" / "heard"
    records = list[str]()
    for hours in (0, 0, 1, 20, 20, 40):
        living.now = NOON + timedelta(hours=hours)
        for name in living.names[: 3 + hours]:
            living.speaks(name)
        heard = HeardNow(local_agent_refs(living.repository), {}, "", living.now, living.tip())
        trees = [draft_record(living.repository, heard).tree for _ in range(2)]
        assert hours or kept.stat().st_size > 1000
        kept.unlink(missing_ok=True)
        trees.append(draft_record(living.repository, heard).tree)
        records.append(trees[0])
        assert len(set(trees)) == 1
    assert len(set(records)) > 4


@pytest.mark.parametrize("damage", (b"", b"\xff", b"{}", b"\x81\xa7made_by\x94"))
def test_damaged_rows_are_made_again(tmp_path: Path, damage: bytes) -> None:
    living = Living.small(tmp_path / "fleet", 3, 40)
    heard = HeardNow(local_agent_refs(living.repository), {}, "", living.now, living.tip())
    draft = draft_record(living.repository, heard)
    (tmp_path / "fleet" / ".git" / "muster" / "heard").write_bytes(damage)
    assert draft_record(living.repository, heard) == draft
