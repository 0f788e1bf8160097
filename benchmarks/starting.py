"""What starting costs: modules and processor time of commands, over a fleet in which nothing is wrong or due.

python -m benchmarks.starting [--clusters N] [--repeats N]

*Modules* are those of muster and all that are loaded when the command ends; *ms* is the processor time of the command
with all its processes, the least of the repeats, which take turns. Python that does nothing is the first row.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import fleets, scale

#: What is measured, by name: arguments, with `{bare}` for the fleet's repository and `{work}` for a clone.
COMMANDS = {
    "--version": ("--version",),
    "--help": ("--help",),
    "validate FILE": ("validate", "--repo", "{work}", f"{fleets.folder_of(0)}/cluster.yaml"),
    "the hook": ("validate", "--staged", "--touched", "--repo", "{work}"),
    "get clusters": ("get", "clusters", "--repo", "{bare}", "--now", "{noon}"),
    "reconcile, nothing to do": ("reconcile", "--repo", "{bare}", "--now", "{noon}", "--workers", "1"),
}
_GOALS = {"--version": 60, "--help": 80, "validate FILE": 350}
_LOADED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)


def _used() -> float:
    """The processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_ms(command: list[str], environment: Mapping[str, str]) -> float:
    """Run a command, and return its processor time."""
    before = _used()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return (_used() - before) * 1000


def loaded_modules(command: list[str], environment: Mapping[str, str]) -> set[str]:
    """Return the modules that a command loads."""
    python, *rest = command
    traced = [python, "-X", "importtime", *rest]
    done = subprocess.run(traced, env=environment, capture_output=True, text=True, check=True)
    return set(_LOADED.findall(done.stderr))


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scene = scale.staged_scene(Path(directory), given.clusters)
        named = {"bare": str(scene.repository), "work": str(scale.work_of(scene)), "noon": scale.AT_REST}
        commands = {name: scale.muster(*(part.format(**named) for part in parts)) for name, parts in COMMANDS.items()}
        commands = {"python": [sys.executable, "-c", "pass"], **commands}
        least = dict.fromkeys(commands, float("inf"))
        for _ in range(given.repeats + 1):  # the first run compiles, and keeps what the others find
            for name, command in commands.items():
                least[name] = min(least[name], processor_ms(command, scene.environment))
        print(f"{'':<26}{'ours':>6}{'all':>6}{'ms':>7}")
        for name, command in commands.items():
            loaded = loaded_modules(command, scene.environment)
            ours = sum(module.partition(".")[0] == "muster" for module in loaded)
            goal = f"  goal: {_GOALS[name]}" if name in _GOALS else ""
            print(f"{name:<26}{ours:>6}{len(loaded):>6}{least[name]:>7.0f}{goal}")


if __name__ == "__main__":
    main()
