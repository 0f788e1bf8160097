"""What the commands that sign share: the options that name a signer, and how its work is told."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.commands.outcome import say, say_behind

if TYPE_CHECKING:
    from muster.acts.editing import Edited
    from muster.answers.listening import Ears
    from muster.gitio.repository import Repository
    from muster.identity.authority import Authority

_F = TypeVar("_F", bound=Callable[..., Any])


def signer_options(*, required: bool) -> Callable[[_F], _F]:
    """`--ca-cert FILE`, `--ca-key FILE` and `--longest DURATION`."""

    def add(function: _F) -> _F:
        file = click.Path(path_type=Path, dir_okay=False)
        for option in (
            click.option("--longest", type=_Duration(), default="720h", show_default=True, metavar="DURATION",
                         help="How long a certificate lives at the most."),
            click.option("--ca-key", type=file, required=required, metavar="FILE",
                         help="Its key: outside the repository, and nobody else's to read."),
            click.option("--ca-cert", type=file, required=required, metavar="FILE",
                         help="Sign what is approved with this authority, PEM."),
        ):  # fmt: skip
            function = option(function)
        return function

    return add


class _Duration(click.ParamType[timedelta]):
    """A duration such as 12h."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Return it; it is positive."""
        from muster.model.times import try_duration

        found = value if isinstance(value, timedelta) else try_duration(value)
        if found is None or found < timedelta(seconds=1):
            self.fail(f"{value!r} is not a duration such as 12h or 30m.", param, ctx)
        return found


@dataclass(frozen=True, slots=True)
class Signer:
    """An authority, as the options name it."""

    certificate: Path
    key: Path
    longest: timedelta

    def load(self, repository: "Repository", now: datetime) -> "Authority":
        """Read it. click.UsageError where that cannot be, or its key lies where git could take it along."""
        from muster.identity.errors import IdentityError, require_library

        for place in (repository.worktree, repository.git_dir):
            if place is not None and self.key.resolve().is_relative_to(place.resolve()):
                raise click.UsageError(f"--ca-key {self.key} lies in the repository, where it must never be.")
        try:
            require_library()
            from muster.identity.authority import load_authority

            return load_authority(self.certificate, self.key, self.longest, now)
        except IdentityError as error:
            raise click.UsageError(f"{error}.") from error


def signer_of(certificate: Path | None, key: Path | None, longest: timedelta) -> Signer | None:
    """The signer that was named; None for none. click.UsageError for half of one."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--ca-cert and --ca-key go together.")
    return Signer(certificate, key, longest)


def sign_once(
    repository: "Repository", authority: "Authority", now: Callable[[], datetime], branch: str, remote: str | None,
    ears: "Ears",
) -> "Edited":  # fmt: skip
    """Sign what is approved, and say what was."""
    from muster.acts.signing import sign
    from muster.gitio.retry import patient

    done = sign(repository, authority, now, branch=branch, remote=remote, attempts=patient(), ears=ears)
    if done.commit:
        say(f"{done.commit[:12]} signed {len(done.told)}")
    for line in done.told:
        say(f"  {line}")
    for line in done.refused:
        say(line, err=True)
    say_behind(done)
    return done
