"""A restricted environment for git: nothing runs that a repository's own configuration names.

A configuration may come with a folder that somebody gave you, in an archive or on a shared disk, and many of its keys
name programs. The settings of the user (system, user and environment) count; for keys that run something, they replace
the repository's own settings, else git's default does. Hooks and file monitors never run, whoever configured them, and
only transports are allowed that run no configured program.

With `MUSTER_TRUST_CONFIG=1` the repository's own configuration counts like the user's: for a clone that configures its
filters or ssh command itself.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from muster.data.wildcards import matches, matches_any
from muster.git.errors import RepositoryError
from muster.git.store.process import Git, lies_in_repository, require_git, without_location

TRUST: Final = "MUSTER_TRUST_CONFIG"
_PROTOCOLS: Final = "file:git:http:https:ssh"
_ALWAYS: Final = (("core.hookspath", os.devnull), ("core.fsmonitor", "false"))
_OWN: Final = (b"local", b"worktree")
#: Where the settings of a repository are from if its git directory is the folder `.git` of its work tree.
_USUAL: Final = b"file:.git/config"
#: A setting in the environment: a git that does not list it is too old, and need not be asked for its version.
_MARK: Final = "muster.mark"

_FILTER: Final = "filter."
_FILTERING: Final = ("clean", "smudge", "process")
#: Keys that name a program, as git writes them, and the value that replaces them if the user sets none.
_RUN: Final = {
    "core.sshcommand": "",
    "core.askpass": "",
    "core.alternaterefscommand": "true",
    **{f"{_FILTER}*.{name}": "" for name in _FILTERING},
    f"{_FILTER}*.required": "false",
    "diff.external": "",
    "diff.*.command": "cat",
    "diff.*.textconv": "cat",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.defaultkeycommand": "",
}
#: A list, which an empty value clears.
_HELPER: Final = ("credential.helper", "credential.*.helper")
#: Keys that no later setting can override.
_REFUSED: Final = (
    "core.gitproxy",
    "remote.*.vcs",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "gc.recentobjectshook",
)


class Setting(NamedTuple):
    """A line of git's configuration. `own`: of the repository, not of the user. `key` as git writes it: section and
    name in lower case."""

    own: bool
    key: str
    value: str

    @property
    def is_true(self) -> bool:
        """Does git read the value as true?"""
        return self.value.lower() in ("true", "yes", "on") or self.value.strip("+-0").isdigit()


class Configuration(NamedTuple):
    """git's configuration as it counts in a directory. Of `settings` the last one of a key counts. `is_usual`: git uses
    a repository that is the folder `.git` of its work tree. One that git does not accept (of another user, of an
    unknown format) has no settings."""

    settings: tuple[Setting, ...] = ()
    is_usual: bool = False


def restricted_git(directory: Path, environ: Mapping[str, str]) -> Git:
    """Return restricted git for a directory that need not be a repository's. RepositoryError: see `restricted`."""
    git = Git(directory, without_location(environ))
    try:
        configured = read_configuration(git) if lies_in_repository(directory) else Configuration()
    except RepositoryError:
        configured = Configuration()  # without git nothing is run
    return restricted(git, configured.settings)[0]


def restricted(git: Git, settings: Sequence[Setting]) -> tuple[Git, dict[str, Setting]]:
    """Return git with the settings of the repository that it runs in restricted, and those that then count, by key.

    RepositoryError if that configuration runs something that cannot be prevented.
    """
    environ = dict(git.environ)
    environ.pop("GIT_EXTERNAL_DIFF", None)
    environ.setdefault("GIT_ALLOW_PROTOCOL", _PROTOCOLS)
    more = [*_ALWAYS]
    if environ.get(TRUST) != "1":
        more += _overrides(settings)
    counting = {
        setting.key: setting
        for setting in (*settings, *(Setting(own=False, key=key, value=value) for key, value in more))
    }
    return Git(git.directory, _add_settings(environ, more), git.inherited), counting


def disabled_filters(git: Git) -> frozenset[str]:
    """Return the names of the configured filters that a restricted git does not run."""
    keys = (value for name, value in git.environ.items() if name.startswith("GIT_CONFIG_KEY_"))
    parts = (key.removeprefix(_FILTER).rpartition(".") for key in keys if key.startswith(_FILTER))
    return frozenset(name for name, dot, what in parts if dot and what in _FILTERING)


def _overrides(settings: Sequence[Setting]) -> Iterator[tuple[str, str]]:
    users = [setting for setting in settings if not setting.own]
    keys = dict.fromkeys(setting.key for setting in settings if setting.own)
    for key in keys:
        if matches_any(_REFUSED, key):
            raise RepositoryError(
                f"the repository's own configuration would run a program: {key}",
                f"remove it (git config --unset-all {key}), or set {TRUST}=1 if you trust it",
            )
        default = next((default for pattern, default in _RUN.items() if matches(pattern, key)), None)
        if default is not None:
            yield key, next((setting.value for setting in reversed(users) if setting.key == key), default)
    if any(matches_any(_HELPER, key) for key in keys):
        yield "credential.helper", ""
        yield from ((key, value) for _, key, value in users if matches_any(_HELPER, key))


def read_configuration(git: Git) -> Configuration:
    """Return the configuration of the directory that git runs in. RepositoryError if git is missing or too old."""
    marked = _add_settings(dict(git.environ), [(_MARK, "true")])
    fields = git.run("config", "--show-scope", "--show-origin", "--list", "-z", env=marked).stdout.split(b"\0")
    lines = [*zip(fields[0::3], fields[1::3], fields[2::3], strict=False)]
    settings = tuple(_setting(scope, *line.partition(b"\n")) for scope, _, line in lines)
    if not any(setting.key == _MARK for setting in settings):
        require_git(git)
    return Configuration(settings, any(scope == b"local" and origin == _USUAL for scope, origin, _ in lines))


def _setting(scope: bytes, key: bytes, given: bytes, value: bytes) -> Setting:
    return Setting(scope in _OWN, os.fsdecode(key), os.fsdecode(value) if given else "true")


def _add_settings(environ: dict[str, str], settings: list[tuple[str, str]]) -> dict[str, str]:
    counted = environ.get("GIT_CONFIG_COUNT", "")
    first = int(counted) if counted.isascii() and counted.isdigit() else 0
    for number, (key, value) in enumerate(settings, first):
        environ[f"GIT_CONFIG_KEY_{number}"], environ[f"GIT_CONFIG_VALUE_{number}"] = key, value
    environ["GIT_CONFIG_COUNT"] = str(first + len(settings))
    return environ
