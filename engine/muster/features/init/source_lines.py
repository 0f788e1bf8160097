"""The lines of a fleet repository's files that say where muster is installed from, or that somebody has to say it."""

import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from muster.data.yaml.emitter import inline, quoted
from muster.features.init.origin import DISTRIBUTION, Origin

#: What stands in a line that a person has to fill in. A job or hook that runs into it fails: it installs nothing.
MARK: Final = "FILL IN"
_EXAMPLE: Final = f"{DISTRIBUTION} @ git+https://git.example.com/you/muster.git@COMMIT"


def filled(text: str, origin: Origin) -> str:
    """Return a file of the skeleton with the lines that stand for others replaced, each at its indentation."""
    lines: list[str] = []
    for line in text.split("\n"):
        make = _REPLACED.get(line.strip())
        indent = line[: len(line) - len(line.lstrip())]
        lines.extend([line] if make is None else [f"{indent}{new}" for new in make(origin)])
    return "\n".join(lines)


def marked(text: str) -> list[int]:
    """Return the numbers of the lines that a person has to fill in."""
    return [number for number, line in enumerate(text.split("\n"), 1) if MARK in line and line.lstrip()[:1] != "#"]


def workflow_lines(origin: Origin) -> list[str]:
    """The step that installs muster in a job of GitHub's."""
    if origin.requirement:
        return [
            f"# Where muster came from when this was laid down, pinned: {origin.told}.",
            "# It is published on no index; what has its name there is somebody else's.",
            f"- run: {quoted(f'pip install {shlex.quote(origin.requirement)}')}",
        ]
    return [
        *_why(origin),
        f"# {MARK} where this job can have it from, pinned, in place of the next line. For example",
        f"#   - run: pip install '{_EXAMPLE}'",
        f"- run: \"echo 'this workflow does not say yet where muster comes from' >&2; exit 1\"  # {MARK}",
    ]


def script_lines(origin: Origin) -> list[str]:
    """The same as a line of a script of GitLab's."""
    return [line.replace("- run: ", "- ", 1) for line in workflow_lines(origin)]


def hook_lines(origin: Origin) -> list[str]:
    """The entry of `.pre-commit-config.yaml` for the hook."""
    if origin.repository:
        return [
            *_only_here(origin, by_path=origin.repository.startswith("/")),
            f"- repo: {inline(origin.repository)}",
            f"  rev: {inline(origin.commit)}",
            "  hooks:",
            "  - id: muster-validate",
        ]
    if requirement := origin.requirement or origin.here:
        return [
            *_only_here(origin, by_path=not origin.requirement),
            "- repo: local",
            "  hooks:",
            "  - id: muster-validate",
            "    name: muster validate",
            "    language: python",
            f"    additional_dependencies: [{quoted(requirement)}]",
            "    entry: muster validate --staged",
            r"    files: \.(ya?ml|json)$",
            "    require_serial: true",
        ]
    return [
        *_why(origin),
        f"# {MARK} the git repository of muster, and a commit of it, in the next two lines.",
        f'- repo: "{MARK}"',
        f'  rev: "{MARK}"',
        "  hooks:",
        "  - id: muster-validate",
    ]


def _why(origin: Origin) -> list[str]:
    known = f" ({origin.known})" if origin.known else ""
    return [f"# muster is published on no index, and the one that laid this down came from {origin.told}{known}."]


def _only_here(origin: Origin, *, by_path: bool) -> list[str]:
    if not by_path:
        return [f"# Where muster came from when this was laid down, pinned: {origin.told}."]
    return [
        "# Where muster came from when this was laid down, pinned. It is a path on one machine: put a URL here before",
        "# others use this hook.",
    ]


_REPLACED: Final[Mapping[str, Callable[[Origin], list[str]]]] = MappingProxyType(
    {"@workflow@": workflow_lines, "@script@": script_lines, "@hook@": hook_lines}
)
