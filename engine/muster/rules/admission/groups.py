"""Groups of people, as the Fleet lists them: `request.userInfo.groups`.

A member is an e-mail address, or one with the ssh key that signs its commits, as in git's file of allowed signers. An
address compares exactly, so neither another case nor a lookalike is a member. Without a key, it is what git says,
without proof; with a key, a commit counts only if it is signed with it.
"""

from collections.abc import Iterator, Mapping

from muster.data.snapshot import Authors
from muster.data.tree import mapping_at
from muster.fleet.settings import Settings


def groups_of(mail: str, settings: Settings, authors: Authors, files: Mapping[str, str]) -> list[str]:
    """Return the groups of the last author of files, sorted. `settings`: those in force before the change."""

    def memberships() -> Iterator[str]:
        for group, members in mapping_at(settings.spec, "groups").items():
            for address, _, key in (member.partition(" ") for member in members):
                if address == mail and (not key or authors.is_signed(files, key)):
                    yield group

    return sorted(set(memberships())) if mail else []
