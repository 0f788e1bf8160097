"""What an agent says goes through every output, and none of them obeys it."""

import re
from pathlib import Path

import pytest

from muster.cli import exits
from tests.features.pulses.test_walkthrough import cluster, lease
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

BEAT, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"
#: An escape sequence, a turned line, a line break with an order to CI and a trailer, orders anywhere in a line, people
#: and issues, Markdown, HTML and nginx.
WORDS = (
    "::error::x \\e[31mred\\x9b2J \\u202e\\n::add-mask::a\\n\\nMuster-Now: 2030-01-01T00:00:00Z ##vso[task.complete]"
    " @all Closes #1 [skip ci] `</code>` ![x](http://evil) <img src=x> | ${x}; } server {"
)
OBSERVED = f"""\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: a}}
status:
  conditions:
  - type: ManagedClusterConditionAvailable
    status: "False"
    reason: Down
    message: "{WORDS}"
    lastTransitionTime: "{BEAT}"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"clusters/a/cluster.yaml": cluster("a")})
    files = {
        "lease.yaml": lease("a", BEAT),
        "observed.yaml": OBSERVED,
        "bad.yaml": f'kind: "{WORDS}"\napiVersion: v1\n',
    }
    made.commit_to("refs/heads/agents/a", files, date=BEAT)
    return made


READING = (
    "plan",
    "plan -o markdown",
    "plan -o json",
    "get managedclusters",
    "get managedclusters -o json",
    "get managedclusters -o yaml",
    "plan -o yaml",
    "plan -o diff",
    "export objects",
    "export objects -o json",
    "get managedclusters -o wide",
    "get managedclusters -o custom-columns=M:.status.conditions[*].message",
    "get managedclusters -o jsonpath={.items[*].status}{..message}",
    "describe ManagedCluster/a",
    "describe ManagedCluster/a -o yaml",
    "explain ManagedCluster/a",
    "validate",
    "validate -o github",
    "validate -o junit",
    "validate -o sarif",
    "get ManagedCluster/a -o yaml",
    "history ManagedCluster/a",
    "forecast",
)


def test_no_output_obeys_what_an_agent_says(repo: Repo, muster: Run) -> None:
    code, out, err = muster("reconcile", "--repo", repo.path, "--now", NOW)
    assert code == exits.FINE
    said = {"reconcile": out + err}
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    for verb in READING:
        if verb.startswith("history"):
            repo.git("reset", "--quiet", "--hard", "HEAD@{1}")
        time = [] if verb.split()[0] in ("validate", "history") else ["--now", NOW]
        code, out, err = muster(*verb.split(), "--repo", repo.path, *time)
        assert code != exits.USAGE, err
        said[verb] = out + err
    for verb, text in said.items():
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), verb
        own = [line for line in text.splitlines() if re.match(r"\s*(::|Muster-Now:)", line)]
        assert all(verb == "validate -o github" and line.startswith("::warning ") for line in own), (verb, own)
        assert "##vso[" not in text, verb
    message = repo.git("log", "-1", "--format=%B")
    assert "Down" in message
    assert not re.search(r"#1|@all|\[skip ci\]|##vso", message)
    assert repo.git("log", "-1", "--format=%(trailers:key=Muster-Now,valueonly)").split() == [NOW]
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    _, markdown, _ = muster("plan", "-o", "markdown", "--repo", repo.path, "--now", NOW)
    assert "Down" in markdown
    assert not re.search(r"!\[|<img|@all|(?<!&)#1|`", re.sub(r"<!--.*?-->", "", markdown))
