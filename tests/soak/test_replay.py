"""A history of a thousand commits, replayed."""

from pathlib import Path

from tests.features.replay.test_replay import Past


def test_a_thousand_commits_are_what_they_were(tmp_path: Path) -> None:
    past = Past.of(tmp_path / "fleet", 1000)
    first = past.repo.tip()
    past.live(1000)
    assert past.replayed(first).differences == ()
