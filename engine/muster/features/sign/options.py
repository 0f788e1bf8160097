"""The options and the output of the commands that sign: `sign`, `reconcile` and `watch`."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.agents.identity.options import identity_errors
from muster.cli.options import FILE, DurationType, combine_options
from muster.cli.outcome import say, say_behind
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.agents.identity.authority import Authority
    from muster.cli.listening import Freshness
    from muster.features.edits.editing import Edited
    from muster.git.repository import Repository

_F = TypeVar("_F", bound=Callable[..., Any])
_SHORTEST: Final = timedelta(seconds=1)


def signer_options(*, required: bool) -> Callable[[_F], _F]:
    """`--ca-cert FILE`, `--ca-key FILE` and `--longest DURATION`, as one parameter `signer`."""

    def add(function: _F) -> _F:
        joined = combine_options(function, "signer", _signer, "ca_cert", "ca_key", "longest")
        for option in (
            click.option(
                "--longest",
                type=DurationType(_SHORTEST, "12h or 30m"),
                default="720h",
                show_default=True,
                metavar="DURATION",
                help="The longest lifetime of a certificate.",
            ),
            click.option(
                "--ca-key",
                type=FILE,
                required=required,
                metavar="FILE",
                help="The authority's key: outside the repository, and readable only by you.",
            ),
            click.option(
                "--ca-cert",
                type=FILE,
                required=required,
                metavar="FILE",
                help="Sign approved requests with this authority (PEM).",
            ),
        ):
            joined = option(joined)
        return joined

    return add


@dataclass(frozen=True, slots=True)
class Signer:
    """A signing authority, as the options name it."""

    certificate: Path
    key: Path
    longest: timedelta

    def load(self, repository: "Repository", now: datetime) -> "Authority":
        """Read the authority. click.UsageError if that fails, or if its key is inside the repository."""
        for place in (repository.worktree, repository.git_dir):
            if place is not None and self.key.resolve().is_relative_to(place.resolve()):
                raise click.UsageError(f"--ca-key {self.key} is inside the repository, where it must never be.")
        with identity_errors():
            from muster.agents.identity.authority import load_authority  # needs the extra `identity`

            return load_authority(self.certificate, self.key, self.longest, now)


def _signer(ca_cert: Path | None, ca_key: Path | None, longest: timedelta) -> Signer | None:
    """The named signer; None if there is none. click.UsageError for an incomplete one."""
    if ca_cert is None and ca_key is None:
        return None
    if ca_cert is None or ca_key is None:
        raise click.UsageError("--ca-cert and --ca-key go together.")
    return Signer(ca_cert, ca_key, longest)


def sign_once(
    repository: "Repository",
    authority: "Authority",
    now: Callable[[], datetime],
    branch: str,
    remote: str | None,
    freshness: "Freshness",
) -> "Edited":
    """Sign approved requests, and print the result."""
    from muster.features.sign.signing import sign  # needs the extra `identity`
    from muster.git.push import branch_attempts  # reconcile and watch read these options without signing

    done = sign(
        repository,
        authority,
        now,
        branch=branch,
        remote=remote,
        attempts=branch_attempts(),
        freshness=freshness,
    )
    if done.commit:
        say(f"{done.commit[:12]} signed {len(done.changes)}", *(f"  {line}" for line in done.changes))
    say(*done.refused, err=True)
    say_behind(done)
    return done
