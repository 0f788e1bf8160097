"""`muster get` shows what budgets hold back, and only then."""

from pathlib import Path

from muster.model.times import format_time
from tests.commands.conftest import Run
from tests.support.git import new_repository
from tests.support.outages import Fleet


def test_what_is_held_has_a_column_and_its_reason_a_line(tmp_path: Path, muster: Run) -> None:
    fleet = Fleet(12)
    fleet.evaluate()
    repo = new_repository(tmp_path / "fleet")
    repo.commit(dict(fleet.files()))
    code, out, _ = muster("get", "clusters", "--repo", repo.path, "--now", format_time(fleet.now))
    assert (code, "HELD" in out, "held" in out) == (0, False, False)

    fleet.dark(*fleet.names[:9])
    fleet.evaluate()
    repo.commit(dict(fleet.files()))
    code, out, _ = muster("get", "clusters", "--repo", repo.path, "--now", format_time(fleet.now))
    table, last = out.splitlines()[:-1], out.splitlines()[-1]
    assert code == 0
    assert table[0].split()[-1] == "HELD"
    assert table[1].endswith("taint unreachable:NoSelect")
    assert table[12].endswith(" -")
    assert last == (
        f"9 effects are held: 9 of 12 clusters are disrupted, budget 'default' allows 6, since {format_time(fleet.now)}"
    )
