"""Where effects are proposed: a branch for each topic, which brings one file."""

from typing import Final

#: What the branches of proposals begin with.
BRANCHES: Final = "muster/proposals/"


def proposal_branch(topic: str) -> str:
    """Return the branch on which a topic's effects are proposed."""
    return f"{BRANCHES}{topic}"


def approval_file(topic: str) -> str:
    """Return the file that merging it brings."""
    return f"approvals/{topic}.yaml"
