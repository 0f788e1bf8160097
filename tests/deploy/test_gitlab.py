"""templates/fleet.yml, the component for GitLab: the jobs of `muster init` with inputs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPONENT = (ROOT / "templates/fleet.yml").read_text()
LAID_DOWN = ROOT / "fleet-repo-example/.gitlab-ci.yml"
REQUIREMENT = f"muster-fleet[identity] @ git+https://git.example.com/you/muster.git@{'a' * 40}"


def spec() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = next(yaml.safe_load_all(COMPONENT))["spec"]["inputs"]
    return found


def included(**inputs: str) -> str:
    """The text of the jobs, as GitLab makes it: with inputs in their places."""
    values = {name: one["default"] for name, one in spec().items() if "default" in one} | inputs
    return re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda one: values[one[1]], COMPONENT.partition("\n---\n")[2])


def jobs(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_its_jobs_are_those_that_are_laid_down() -> None:
    """Those are run in tests/e2e/test_pull_requests.py, on real repositories."""
    own, laid_down = jobs(included(requirement=REQUIREMENT)), jobs(LAID_DOWN.read_text())
    for name in ("plan", "comment", "reconcile"):
        for key in ("script", "rules", "artifacts", "cache", "variables", "interruptible"):
            assert own[name].get(key) == laid_down[name].get(key), (name, key)
    assert own[".muster"]["variables"]["GIT_DEPTH"] == laid_down["variables"]["GIT_DEPTH"]


def test_gitlab_would_read_it(tmp_path: Path) -> None:
    """By the schema that GitLab publishes; both what is included and what is laid down, and the inputs."""
    header = tmp_path / "header.json"
    header.write_text(json.dumps(next(yaml.safe_load_all(COMPONENT)) | jobs(included(requirement=REQUIREMENT))))
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.gitlab-ci",
        "--data-transform",
        "gitlab-ci",
        str(header),
        str(LAID_DOWN),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_prefix_is_on_all_names_and_where_they_are_referred_to() -> None:
    named = jobs(included(requirement=REQUIREMENT, prefix="fleet-"))
    assert sorted(named) == [".fleet-muster", "fleet-comment", "fleet-plan", "fleet-reconcile"]
    assert named["fleet-comment"]["needs"][0]["job"] == "fleet-plan"
    assert {job["extends"] for name, job in named.items() if name[0] != "."} == {".fleet-muster"}


@pytest.mark.parametrize(
    ("requirement", "taken"),
    [
        (REQUIREMENT, True),
        (f"muster-fleet @ git+https://git.example.com/m.git@{'a' * 40}", True),
        ("muster-fleet", False),
        ("muster", False),
        ("-r other.txt", False),
    ],
)
def test_what_is_installed_has_a_place(requirement: str, taken: bool) -> None:
    """GitLab refuses what its pattern does not match; the requirement is one word to pip, whatever it holds."""
    pattern = spec()["requirement"]["regex"].strip("/")
    assert bool(re.search(pattern, requirement)) == taken
    muster = jobs(included(requirement=requirement))[".muster"]
    assert muster["variables"]["MUSTER_REQUIREMENT"] == requirement
    assert muster["before_script"] == ['pip install --quiet --disable-pip-version-check "$MUSTER_REQUIREMENT"']
