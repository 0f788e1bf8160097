"""CONTRIBUTING.md: whoever follows a recipe has what it promises, and the places that it names are there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.pulses.test_walkthrough import cluster

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
OBJECT = """\
apiVersion: muster.dev/v1alpha1
kind: Maintenance
metadata: {name: tuesday}
spec: {start: 2026-01-06T22:00:00Z}
"""
AGENT = """\
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: {0}}}
spec: {{renewTime: "2026-01-01T00:00:00Z", leaseDurationSeconds: 60}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {0}}}
status: {{conditions: [{{type: ManagedClusterConditionAvailable, status: "True", reason: Up, message: ""}}]}}
"""


def blocks(recipe: str) -> list[str]:
    """The code of a recipe, in order."""
    section = PAGE.split(f"### {recipe}\n")[1].split("\n### ")[0]
    return re.findall(r"^```\w+\n(.*?)^```$", section, re.M | re.S)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the checkout, as far as the program needs it."""
    for folder in ("engine", "schemas", "policies"):
        shutil.copytree(ROOT / folder, tmp_path / "muster" / folder)  # with what is compiled of it
    (tmp_path / "muster/fleet").mkdir()
    return tmp_path / "muster"


def muster(copy: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "PYTHONPATH": str(copy / "engine"), "MUSTER_CACHE_DIR": str(copy / "cache")}
    command = [sys.executable, "-m", "muster", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=copy / "fleet")


def test_a_kind(copy: Path) -> None:
    entry, name, schema = blocks("A kind")
    kinds = copy / "engine/muster/data/kinds.py"
    before, all_, rest = kinds.read_text().partition("ALL: tuple")
    listed, end, after = rest.partition("\n)")
    kinds.write_text(f"{before}{entry}\n{all_}{listed}\n    {name.rstrip()}{end}{after}")
    (copy / "schemas/maintenance.json").write_text(schema)
    tuesday = copy / "fleet/tuesday.yaml"
    tuesday.write_text(OBJECT)
    done = muster(copy, "validate")
    assert (done.returncode, done.stdout) == (0, "1 object, no findings\n")
    assert "tuesday" in muster(copy, "get", "maintenance", "--worktree").stdout
    assert muster(copy, "export", "schemas", "schemas").returncode == 0
    assert "maintenances/*.yaml" in (copy / "fleet/schemas/catalog.json").read_text()
    shutil.rmtree(copy / "fleet/schemas")
    tuesday.write_text(OBJECT.replace("start", "strat"))
    done = muster(copy, "validate")
    assert done.returncode == 1
    assert "unknown field spec.strat" in done.stdout + done.stderr


def test_a_function(copy: Path) -> None:
    (row,) = blocks("A function of CEL")
    library = copy / "engine/muster/cel/library/strings.py"
    library.write_text(f"{library.read_text()}\n\n{row}")
    put(copy / "engine/muster/cel/library/registry.py", "charAt format", "shout ")
    done = muster(copy, "cel", "'quiet'.shout()")
    assert done.returncode == 0, done.stderr
    assert "'QUIET'" in done.stdout
    refused = muster(copy, "cel", "(1).shout()")
    assert refused.returncode == 1
    assert "shout cannot take (int)" in refused.stdout


def put(file: Path, before: str, lines: str) -> None:
    """Put lines into a file, before what stands there once."""
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, f"{lines}{before}"))


def with_module(copy: Path, name: str, module: str) -> Path:
    """Put a module of stages into the rules, and return the pipeline, which imports it."""
    (copy / f"engine/muster/rules/{name}.py").write_text(module)
    pipeline = copy / "engine/muster/rules/pipeline.py"
    put(pipeline, "from muster.rules import generations,", f"from muster.rules import {name}\n")
    return pipeline


def test_a_stage(copy: Path) -> None:
    module, row = blocks("A stage")
    put(with_module(copy, "labelled", module), "    durations.STAGE,", row)
    (copy / "fleet/a.yaml").write_text(cluster("a"))
    done = muster(copy, "explain", "cluster/a", "--worktree", "--now", "2026-01-01T00:00:00Z")
    assert "status.conditions[Labelled]: False (Labels" in done.stdout, done.stderr
    assert "somebody has to answer for it" in done.stdout


def test_a_disruptive_stage(copy: Path) -> None:
    """What it requests counts in budgets, and they hold it back."""
    module, before, after, part = blocks("A disruptive stage")
    pipeline = with_module(copy, "quarantine", module)
    put(pipeline, "    budgets.STAGE,", before)
    put(pipeline, "    traffic.STAGE,", after)
    parts = copy / "schemas/derived/parts.json"
    common, muster_, rest = parts.read_text().partition('"muster": {\n')
    parts.write_text(f"{common}{muster_}{part}{rest}")
    fleet = copy / "fleet"
    for name in "abcdef":
        (fleet / f"{name}.yaml").write_text(cluster(name))
        (fleet / f"{name}-agent.yaml").write_text(AGENT.format(name))
    for verb in ("init", "add .", "commit --quiet -m fleet"):
        subprocess.run(
            ["git", "-c", "user.name=p", "-c", "user.email=p@example.com", *verb.split()], cwd=fleet, check=True
        )
    done = muster(copy, "reconcile", "--now", "2026-01-01T00:00:00Z")
    assert done.returncode == 0, done.stderr
    for name in "abcdef":
        text = cluster(name)
        (fleet / f"{name}.yaml").write_text(text.replace("metadata: {", 'metadata: {labels: {quarantine: "true"}, '))
    done = muster(copy, "plan", "--worktree", "--now", "2026-01-01T00:00:10Z", "-o", "json")
    assert done.stdout.count('"effect": "quarantine"') == 6, (done.stdout, done.stderr)


def test_a_forge(copy: Path) -> None:
    (row,) = blocks("A forge")
    put(copy / "engine/muster/git/forges.py", '    "bitbucket": Forge(', row)
    program = "from muster.git.forges import forge_of, request_page as page; url = 'https://git.sr.ht/~a/b'"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(page(url, forge_of(url), 'main', 'next'))"],
        env={**os.environ, "PYTHONPATH": str(copy / "engine")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "https://git.sr.ht/~a/b/send-email?base=main&head=next\n"


def test_a_verb(copy: Path) -> None:
    module, row = blocks("A verb")
    folder = copy / "engine/muster/features/count"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "cli.py").write_text(module)
    put(copy / "engine/muster/commandline.py", '    "init": ', row)
    (copy / "fleet/a.yaml").write_text(cluster("a"))
    done = muster(copy, "count", "--worktree")
    assert (done.returncode, done.stdout.splitlines()[-1].isdigit()) == (0, True), done.stderr
    assert "count  " in muster(copy, "--help").stdout


def test_an_output_format(copy: Path) -> None:
    module, row = blocks("An output format")
    (copy / "engine/muster/cli/codes.py").write_text(module)
    reports, options = copy / "engine/muster/cli/reports.py", copy / "engine/muster/cli/options.py"
    put(reports, "from muster.cli.documents", "from muster.cli.codes import codes_text\n")
    put(reports, '    "sarif": ', row)
    options.write_text(options.read_text().replace('"gitlab", "markdown")', '"gitlab", "codes")'))
    (copy / "fleet/a.yaml").write_text(cluster("a").replace("hubAcceptsClient", "hubAcceptClient"))
    assert muster(copy, "validate", "-o", "codes").stdout == "MUS201\n"


def test_the_places_that_are_named_are_there() -> None:
    """`NAME` of `file`, and files of the rooms and of the tests."""
    found = re.findall(r"`([A-Za-z_]+)` (?:of|in)\s`([\w/]+\.(?:py|json|md))`", PAGE)
    assert len(found) >= 8
    for name, path in found:
        places = [place for place in (ROOT / path, ROOT / "engine/muster" / path) if place.is_file()]
        assert places, path
        assert name in places[0].read_text(), (name, path)
