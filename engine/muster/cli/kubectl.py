"""Commands of kubectl that muster does not have, and what to do here instead."""

from collections.abc import Mapping
from typing import Final

_FILE: Final = "an object is a file: change it and commit; muster plan shows what that changes"
_CLUSTER: Final = "muster reads reports of clusters, and does not log in to them: use kubectl there"
_INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("apply", "create", "edit", "patch", "replace", "set", "annotate"), _FILE),
    "delete": "delete the object's file and commit; muster deny removes a cluster, muster release ends a claim",
    "diff": "muster plan shows what a reconcile would change, muster plan --worktree with your uncommitted edits",
    "scale": "set spec.size of the ClusterPool in its file, and commit",
    "rollout": "muster get rollouts, and muster describe rollout NAME; a Rollout is changed in its file",
    **dict.fromkeys(("logs", "events"), "muster history KIND/NAME shows what happened to an object"),
    "certificate": "muster get waiting lists requests, muster accept CLUSTER accepts the cluster and its key",
    "approve": "muster accept CLUSTER accepts a cluster; docs/proposals.md says how effects are approved",
    **dict.fromkeys(("config", "use-context"), "name the fleet's repository with --repo DIR"),
    **dict.fromkeys(("cluster-info", "top"), "muster get clusters -o wide"),
    "api-versions": "muster api-resources lists the kinds with their versions",
    **dict.fromkeys(("exec", "attach", "cp", "debug", "expose", "port-forward", "proxy", "run"), _CLUSTER),
    "help": "muster --help lists the commands, and muster COMMAND --help describes one",
}


def instead_of(verb: str) -> str:
    """Return what to do instead of a command of kubectl; empty if kubectl has no such command, or muster has it."""
    return _INSTEAD.get(verb, "")
