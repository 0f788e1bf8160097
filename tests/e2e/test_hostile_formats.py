"""Every output format of the commands that print objects, findings and history, with hostile text in what they print.

No line is a command for a CI system, and no character moves the cursor, turns a line or cannot be seen.
"""

from pathlib import Path

import pytest

from muster.cli import exits
from tests.cli.test_inert_documents import COMMANDS, CONTROLS
from tests.features.pulses.test_walkthrough import cluster, lease
from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository

BEAT, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"
TEXTS = (
    *COMMANDS,
    *CONTROLS,
    "section_start:1:x[collapsed=true]",
    "\x1b[0Ksection_end:1:x\r\x1b[0K",
    "##teamcity[setParameter name='a' value='b']",
)
FORMATS = {
    "get managedclusters": (
        "table",
        "wide",
        "name",
        "yaml",
        "json",
        "jsonpath={..message}",
        "jsonpath={.items[*].metadata}",
        "custom-columns=M:.status.conditions[*].message",
    ),
    "get ManagedCluster/a": ("yaml", "json"),
    "plan": ("table", "yaml", "json", "markdown", "diff"),
    "describe ManagedCluster/a": ("text", "yaml"),
    "explain ManagedCluster/a": ("text", "json"),
    "history ManagedCluster/a": ("text", "json"),
    "validate": ("text", "json", "sarif", "junit", "github", "gitlab", "markdown"),
}
ESCAPED = {ord(char) for text in CONTROLS for char in text if not char.isprintable()}


def quoted(text: str) -> str:
    """A YAML scalar of the text."""
    return '"' + "".join(f"\\U{ord(char):08x}" for char in text) + '"'


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """An agent says each text, at the beginning of a line and within one; a person's file holds them as well, and one
    that cannot be read."""
    repo = new_repository(tmp_path_factory.mktemp("hostile") / "fleet")
    said = "\n".join(("first", *TEXTS, *(f"within {text}" for text in TEXTS), "last"))
    files = {
        "clusters/a/cluster.yaml": cluster("a") + f"# {TEXTS[3]}\n",
        "notes.yaml": f"apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: b, annotations: {{x: {quoted(said)}}}}}\n",
        "wrong.yaml": f"apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: c}}\nspec: {{hubAcceptsClient: {quoted(said)}}}\n",
        "kind.yaml": f"apiVersion: v1\nkind: {quoted(TEXTS[0])}\nmetadata: {{name: {quoted(TEXTS[1])}}}\n",
        "broken.yaml": "a: [\n##[error]x\n::error::y\n##vso[task.complete]z\n",
    }
    repo.commit(files)
    observed = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: a}\nstatus:\n"
        f"  conditions:\n  - {{type: ManagedClusterConditionAvailable, status: 'False', reason: Down,\n"
        f"     message: {quoted(said)}, lastTransitionTime: '{BEAT}'}}\n"
    )
    repo.commit_to("refs/heads/agents/a", {"lease.yaml": lease("a", BEAT), "observed.yaml": observed}, date=BEAT)
    return repo


@pytest.mark.parametrize(
    ("verb", "form"),
    [(verb, form) for verb, forms in FORMATS.items() for form in forms],
    ids=lambda part: str(part)[:24],
)
def test_no_format_obeys(fleet: Repo, muster: Run, tmp_path: Path, verb: str, form: str) -> None:
    time = [] if verb.split()[0] in ("validate", "history") else ["--now", NOW]
    repo = fleet
    if verb.startswith("history"):
        repo = clone(fleet, tmp_path / "clone")
        assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == exits.FINDINGS
    output = [] if form in ("table", "text") else ["-o", form]
    code, out, err = muster(*verb.split(), *output, "--repo", repo.path, *time)
    assert code != exits.USAGE, err
    for line in (out + err).splitlines():
        begin = line.lstrip(" +-|>")
        if not (form == "github" and begin.startswith(("::error ", "::warning ", "::notice "))):
            assert not begin.startswith("::"), line
        assert not begin.startswith(("section_start:", "section_end:")), line
        assert "##[" not in line, line
        assert "##vso[" not in line, line
        assert "##teamcity[" not in line, line
    raw = {hex(ord(char)) for char in (out + err) if ord(char) in ESCAPED}
    assert not raw
