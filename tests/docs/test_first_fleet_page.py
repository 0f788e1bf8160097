"""The tutorial's last part: what it runs in a real cluster. `test_generated.py` runs all that comes before."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.docs import DOCS
from tests.support.git import git_environ
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub
from tests.support.in_process import muster

PAGE = (DOCS / "first-fleet.md").read_text(encoding="utf-8")


@needs_hub
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl not installed")
def test_a_cluster_takes_the_agent(hub: Hub, tmp_path: Path) -> None:
    (join,) = re.findall(r"^\$ muster (join [^>]*) > \.\./agent.yaml$", PAGE, re.MULTILINE)
    code, text, steps = muster(*shlex.split(join.replace("\\\n", "")), environ=git_environ(tmp_path), cwd=tmp_path)
    assert code == 0
    folder = tmp_path / "fleet"
    folder.mkdir()
    (tmp_path / "agent.yaml").write_text(text, encoding="utf-8")
    (folder / "credentials").write_text("https://ada:secret@git.example.com\n", encoding="utf-8")
    (commands,) = re.findall(r"^```text\n(kubectl apply .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert commands.splitlines()[-1] in steps.splitlines(), "the command that join prints"
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=folder,
        env=git_environ(tmp_path, KUBECONFIG=str(hub.kubeconfig)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "deployment.apps/muster-agent" in done.stdout
    assert "secret/muster-agent created" in done.stdout
