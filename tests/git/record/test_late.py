"""Renewals that came late are in the next record, and no others."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from muster.data.times import format_time
from muster.features.reconcile.reconcile import reconcile
from muster.git.agents.listing import local_agent_refs
from muster.git.record.form import LateRenewal
from muster.git.record.late import LateRenewals
from muster.git.record.reading import heard_at
from tests.support.example import NOON
from tests.support.living import Living

REF = "refs/heads/agents/c001"


def at(seconds: int) -> str:
    return format_time(NOON + timedelta(seconds=seconds))


@pytest.fixture
def living(tmp_path: Path) -> Living:
    return Living.small(tmp_path / "fleet", 1, 4)


def looking(living: Living, late: LateRenewals) -> Callable[..., None]:
    """Return a function that looks after so many seconds since noon, and before that, renews the lease at some."""

    def look(second: int, *renewals: int) -> None:
        for renewed in renewals:
            living.now = NOON + timedelta(seconds=renewed)
            living.speaks("c001")
        late.look(living.repository, local_agent_refs(living.repository), int(NOON.timestamp()) + second)

    return look


def test_only_a_silence_that_somebody_saw_is_noted(living: Living) -> None:
    late = LateRenewals()
    look = looking(living, late)
    look(5)
    look(65, 60)
    look(155, 149)  # a gap of 89 seconds is not late by half a lease of 60
    assert not late.all
    look(240)
    look(245, 241)
    assert list(late.all) == [LateRenewal(REF, at(149), at(241))]
    look(425, 300, 360, 420)  # nobody looked between 245 and 425, so what was there is not known
    assert len(late.all) == 1
    late.clear()
    look(430)
    assert not late.all


def test_they_are_in_the_next_record(living: Living) -> None:
    late = LateRenewals()

    def run(second: int, *speaking: str) -> str | None:
        living.now = NOON + timedelta(seconds=second)
        for name in speaking:
            living.speaks(name)
        return reconcile(living.repository, lambda: living.now, branch="main", attempts=(1,), late_renewals=late).commit

    run(0, "c001", "c003")
    for second in (60, 120, 180):
        assert run(second, "c003") is None
    assert run(190, "c001", "c003") is None
    living.says_ill("c003")
    commit = run(200)
    assert commit
    heard = heard_at(living.repository, commit).heard
    assert heard is not None
    assert heard.late == (LateRenewal(REF, at(0), at(190)),)
    assert not late.all
