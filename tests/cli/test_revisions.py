"""Each command with --rev says of a past revision the same whatever agents say today."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click
import pytest

import muster as library
from muster.commandline import cli
from muster.data.times import format_time
from tests.git.record.test_past import DARK, an_outage
from tests.support.commandline import Run
from tests.support.git import Repo, copy
from tests.support.living import lease, observed

#: The arguments of each command that has --rev. Those that do not end, or write elsewhere, are tested by their rooms.
COMMANDS = {
    "validate": (),
    "get": ("all", "-o", "yaml"),
    "describe": ("managedcluster/c001",),
    "explain": ("managedcluster/c001", "ManagedClusterConditionAvailable"),
    "site": ("site",),
    "history": ("managedcluster/c001", "-o", "json"),
    "forecast": ("--for", "1h", "-o", "json"),
    "drill": (),
    "plan": ("-o", "json"),
    "export allowed-signers": (),
    "export endpoints": (),
    "export objects": ("managedclusters", "--status"),
    "lint": (),
    "test": (),
}
_NO_INSTANT = {"validate", "lint", "test", "history", "export allowed-signers"}
_ELSEWHERE = {"mcp", "sync"}


def commands(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield each command with --rev."""
    if any("--rev" in parameter.opts for parameter in command.params):
        yield context.command_path.partition(" ")[2]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            assert sub is not None
            yield from commands(sub, click.Context(sub, parent=context, info_name=name))


def test_each_command_with_a_revision_is_listed() -> None:
    assert set(commands(cli, click.Context(cli, info_name="muster"))) == COMMANDS.keys() | _ELSEWHERE


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, Repo, str]:
    """An outage twice: as the fleet went on, and after agents said something else; and the commit that found it."""
    folder = tmp_path_factory.mktemp("fleet")
    repo, commit = an_outage(folder / "fleet")
    other = copy(repo.path, folder / "other")
    other.git("update-ref", "-d", "refs/heads/agents/c003")
    files = {"lease.yaml": lease("c001", DARK), "observed.yaml": observed("c001").replace('"True"', '"False"')}
    other.commit_to("refs/heads/agents/c001", files)
    other.commit_to("refs/heads/agents/c002", {"lease.yaml": lease("c002", DARK), "observed.yaml": observed("c002")})
    return repo, other, commit


@pytest.mark.parametrize("command", COMMANDS)
def test_what_agents_say_today_does_not_count(
    muster: Run, outage: tuple[Repo, Repo, str], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other, commit = outage
    said = []
    for number, place in enumerate((repo, other)):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        now = () if command in _NO_INSTANT else ("--now", format_time(DARK))
        code, out, err = muster(*command.split(), *COMMANDS[command], "--repo", place.path, "--rev", commit, *now)
        written = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        said.append((code, out, err.replace(str(place.path), "REPO"), written))
    assert said[0] == said[1]
    code, out, err, _ = said[0]
    assert code in (0, 1), err


def test_nor_does_it_in_the_library(outage: tuple[Repo, Repo, str]) -> None:
    repo, other, commit = outage
    then, now = (library.evaluate(place.path, DARK, commit) for place in (repo, other))
    assert list(then.objects) == list(now.objects)
    assert then.files == now.files == {}, "it was decided then"
    assert any("ManagedClusterLeaseUpdateStopped" in str(body) for body in then.objects)
    later = DARK + timedelta(minutes=3)
    assert list(library.evaluate(repo.path, later, "main").objects) != list(
        library.evaluate(other.path, later, "main").objects
    )
