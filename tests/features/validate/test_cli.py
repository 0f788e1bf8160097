"""`muster validate`: what the hook takes into its hands, and what it leaves alone."""

import subprocess
import sys
from pathlib import Path

from tests.support.git import git_environ
from tests.support.living import Living

_HOOK = """
import sys
from muster import commandline as cli
code = cli.run(["validate", "--staged", "--touched"])
unused = {"muster.rules.pipeline", "muster.git.push", "muster.features.plan"}
unused |= {"celpy", "jsonschema", "lark", "re2", "rich", "git"}
print(sum(name.startswith("muster") for name in sys.modules), code, *sorted(unused & set(sys.modules)))
"""
#: So many modules of muster the hook may load. Each costs half a millisecond: import on use, or join what is always
#: loaded together, before you raise it. Lower it when you can.
_MOST = 204


def test_the_hook_imports_nothing_that_one_edited_cluster_does_not_need(tmp_path: Path) -> None:
    living = Living.small(tmp_path / "fleet", 1, 5)
    trace = tmp_path / "trace"

    def hook() -> str:
        done = subprocess.run(
            [sys.executable, "-c", _HOOK],
            cwd=living.repo.path,
            capture_output=True,
            text=True,
            check=True,
            env={**git_environ(tmp_path), "MUSTER_CACHE_DIR": str(tmp_path), "GIT_TRACE2_EVENT": str(trace)},
        )
        return done.stdout.splitlines()[-1]

    for region in ("us", "ap"):
        file = living.repo.path / "clusters/c001/cluster.yaml"
        file.write_text(file.read_text().replace("region: eu", f"region: {region}"))
        living.repo.git("add", "--all")
        trace.write_text("")
        said = hook()
    count, _, said = said.partition(" ")
    assert said == "0"
    assert int(count) <= _MOST
    assert trace.read_text().count('"event":"start"') <= 5, "git is started too often for one edited cluster"
