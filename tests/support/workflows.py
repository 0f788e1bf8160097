"""The jobs that `muster init` lays down, run here: their own scripts, by the shell that the forge uses.

What the forge does itself (check out, keep an artifact, know who opened what) is done by whoever calls.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.]+)\s*\}\}")


def github_step(fleet: Path, workflow: str, name: str) -> dict[str, Any]:
    """Return the step of that name of a workflow with one job."""
    (job,) = yaml.safe_load((fleet / f".github/workflows/{workflow}.yaml").read_text())["jobs"].values()
    (found,) = (step for step in job["steps"] if step.get("name", step.get("run")) == name)
    return dict(found)


def run_github(
    fleet: Path, workflow: str, name: str, context: Mapping[str, str], environ: Mapping[str, str], cwd: Path
) -> "subprocess.CompletedProcess[str]":
    """Run a step as a runner does: its expressions have values, its script goes to `bash -e` as it stands."""
    step = github_step(fleet, workflow, name)
    own = {key: _EXPRESSION.sub(lambda one: context[one[1]], str(value)) for key, value in step.get("env", {}).items()}
    return _run(["bash", "-e", "-c", step["run"]], {**environ, **own}, cwd)


def run_gitlab(fleet: Path, job: str, environ: Mapping[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a job's script as a runner does."""
    script = yaml.safe_load((fleet / ".gitlab-ci.yml").read_text())[job]["script"]
    return _run(["bash", "-eo", "pipefail", "-c", "\n".join(script)], environ, cwd)


def _run(command: list[str], environ: Mapping[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, check=False)
