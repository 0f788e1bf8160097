"""A load balancer's file, and a real nginx that follows a fleet."""

import re
import shlex
from pathlib import Path

import pytest

from muster.cli.following import TryAgainError
from muster.features.export.configfile import ConfigFile
from tests.support import ingress as files
from tests.support.commandline import Run
from tests.support.git import new_repository
from tests.support.nginx import needs_nginx, nginx
from tests.support.patience import wait_until
from tests.support.processes import running


def test_it_is_written_and_loaded_once_for_each_text(tmp_path: Path) -> None:
    path, log = tmp_path / "fleet.conf", tmp_path / "log"
    file = ConfigFile(path, f"sh -c 'echo loaded >> {log}'")
    assert [file.put(text) for text in ("a", "a", "b")] == [True, False, True]
    assert (path.read_text(), log.read_text(), path.stat().st_mode & 0o777) == ("b", "loaded\n" * 2, 0o644)
    assert ConfigFile(path, "").put("b")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fleet.conf", "log"]


@pytest.mark.parametrize("command", ["false", "no-such-program"])
def test_a_failed_load_is_tried_again(tmp_path: Path, command: str) -> None:
    file = ConfigFile(tmp_path / "fleet.conf", command)
    for _ in range(2):
        with pytest.raises(TryAgainError):
            file.put("a")
    assert (tmp_path / "fleet.conf").read_text() == "a"


def test_options_that_do_not_go_together(muster: Run, tmp_path: Path) -> None:
    for arguments, said in (
        (("--follow",), "--follow and --reload need --out FILE."),
        (("--reload", "x"), "need --out FILE."),
        (("--follow", "--out", "x", "--worktree"), "not with --rev or --worktree"),
    ):
        code, _, errors = muster("export", "endpoints", "--repo", tmp_path, *arguments)
        assert (code, said in errors) == (2, True), errors


@needs_nginx
def test_nginx_follows_a_fleet(tmp_path: Path) -> None:
    """A blocked cluster gets no requests soon after the commit, although the first reload fails."""
    repo = new_repository(tmp_path / "fleet")
    spec = {"rules": [files.rule("shop.example.com", ("/", "Prefix", files.backend("web")))]}
    located = {"serviceLocations": [files.located("web", "a", "b")]}
    repo.commit(
        {
            "ingress.yaml": files.ingress(spec, located),
            "a.yaml": files.cluster("a"),
            "b.yaml": files.cluster("b"),
            **{
                f"slice-{name}.yaml": files.endpoint_slice(name, "web", [("http", 9)], [f"127.0.0.{number}"])
                for number, name in ((1, "a"), (2, "b"))
            },
        }
    )
    out = tmp_path / "fleet.conf"
    with nginx(tmp_path / "nginx") as server:
        loaded = tmp_path / "loaded"
        command = shlex.join(["cp", str(out), str(loaded)])
        environ = {**repo.environ, "PYTHONUNBUFFERED": "1"}
        follow = ("export", "endpoints", "--repo", str(repo.path), "--listen", str(server.port), "--out", str(out))
        process = running(*follow, "--reload", command, "--follow", environ=environ)
        with process as following:
            following.wait_for(f"wrote {out}")
            server.load(loaded.read_text())
            assert server.get("shop.example.com")[0] == 502, "nobody listens on port 9"
            both = re.compile("server 127.0.0.[12]:9;")
            assert len(both.findall(loaded.read_text())) == 2
            repo.commit({"ingress.yaml": files.ingress(spec, {"serviceLocations": [files.located("web", "a")]})})
            wait_until(lambda: len(both.findall(loaded.read_text())) == 1, lambda: str(following.lines))
            repo.commit({"slice-a.yaml": files.endpoint_slice("a", "web", [("http", 9)], ["127.0.0.1"], ready=False)})
            wait_until(lambda: not both.findall(loaded.read_text()), lambda: str(following.lines))
            server.load(loaded.read_text())
            wait_until(lambda: server.get("shop.example.com")[0] == 503)
            following.kill()
