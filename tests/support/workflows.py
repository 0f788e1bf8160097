"""The jobs that `muster init` lays down, and our action, run here: their own scripts, by the shell that the forge uses.

What the forge does itself (check out, keep an artifact, know who opened what) is done by whoever calls.
"""

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.]+(?: \|\| [\w.]+)*)\s*\}\}")


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
    return _run(["bash", "-e", "-c", step["run"]], {**environ, **_filled(step.get("env", {}), context)}, cwd)


#: Of a step of an action that is an action itself: its name, and what it is given. What it does is up to who calls.
Used = Callable[[str, Mapping[str, str]], None]


def run_action(
    action: Path,
    inputs: Mapping[str, str],
    context: Mapping[str, str],
    environ: Mapping[str, str],
    cwd: Path,
    used: Used,
) -> dict[str, "subprocess.CompletedProcess[str]"]:
    """Run a composite action as a runner does; return what became of the steps with scripts, by their names.

    Inputs have their defaults, conditions are looked at, expressions have values in `env` and `with` and stand in no
    script, scripts are files for bash, and what a step adds to GITHUB_PATH holds for those after it.
    """
    described = yaml.safe_load(action.read_text())
    given = {f"inputs.{name}": one.get("default", "") for name, one in described["inputs"].items()}
    given |= {f"inputs.{name}": value for name, value in inputs.items()}
    values, folder, done = {**context, **given}, cwd.parent / "runner", dict[str, "subprocess.CompletedProcess[str]"]()
    folder.mkdir(exist_ok=True)
    paths = folder / "path"
    paths.write_text("")
    for step in described["runs"]["steps"]:
        failed = any(one.returncode for one in done.values())
        if not _holds(step.get("if", "success()"), values, failed=failed):
            continue
        if "uses" in step:
            used(step["uses"].partition("@")[0], _filled(step["with"], values))
            continue
        assert step["shell"] == "bash"
        script = folder / "script.sh"
        script.write_text(step["run"])
        path = os.pathsep.join([*reversed(paths.read_text().split("\n")[:-1]), environ["PATH"]])
        own = {**environ, **_filled(step.get("env", {}), values), "GITHUB_PATH": str(paths), "PATH": path}
        done[step["name"]] = _run(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], own, cwd)
    return done


def _holds(condition: str, values: Mapping[str, str], *, failed: bool) -> bool:
    """Whether a condition holds: `always()` and comparisons, joined by `&&`."""
    parts = [part.strip() for part in condition.split("&&")]
    sides = [part.split(" == ") for part in parts if part not in ("always()", "success()")]
    return ("always()" in parts or not failed) and all(_value(one, values) == _value(two, values) for one, two in sides)


def _value(word: str, values: Mapping[str, str]) -> str:
    return word[1:-1] if word.startswith("'") else values.get(word, "")


def _filled(given: Mapping[str, object], values: Mapping[str, str]) -> dict[str, str]:
    return {name: _EXPRESSION.sub(lambda match: _first(match[1], values), str(value)) for name, value in given.items()}


def _first(words: str, values: Mapping[str, str]) -> str:
    """The first of some values joined by `||` that is not empty. KeyError if the event has none of them."""
    return next(values[word] for word in [*words.split(" || "), words] if values.get(word) or word == words)


def run_gitlab(jobs: Path, job: str, environ: Mapping[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run the script of a job of such a file as a runner does."""
    script = yaml.safe_load(jobs.read_text())[job]["script"]
    return _run(["bash", "-eo", "pipefail", "-c", "\n".join(script)], environ, cwd)


def _run(command: list[str], environ: Mapping[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, check=False)
