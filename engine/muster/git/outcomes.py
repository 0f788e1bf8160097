"""What came of an attempt to move a branch. Data, for the caller to act on; see also `errors.RepositoryError`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Committed:
    """The branch is at `commit` now, and the work tree that has it checked out, if any, with it."""

    commit: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The remote's branch is at `commit` now."""

    commit: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Someone else was first: the branch is at `actual` (None: gone or unknown) and not where it was expected.

    Nothing was changed. Evaluate again on the new head.
    """

    actual: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """Something in the work tree is in the way: `paths` where it is files. Nothing was changed."""

    paths: tuple[str, ...]
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The remote will not take it: a protected branch, a hook, a missing permission. Trying again will not help.

    `reason` is git's word for it, `text` what the remote said.
    """

    reason: str
    text: str
