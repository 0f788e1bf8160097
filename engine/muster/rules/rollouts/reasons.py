"""Why a cluster of a Rollout has the revision that it has, and what it waits for, as one sentence."""

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, of_kinds
from muster.data.times import format_time
from muster.data.tree import Tree, dig
from muster.fleet.view import View
from muster.rules.placements.shards import clusters_of, decided_shards
from muster.rules.progress.step import TIME_OUT
from muster.rules.rollouts.policy import ClusterRollout, Rollout
from muster.rules.rollouts.progress import entries_of
from muster.rules.rollouts.status import ROLLED_OUT
from muster.rules.stages import ROLLOUTS


def clusters_of_rollout(view: View, rollout: Rollout) -> list[str]:
    """The clusters of its Placement, and those that keep their places without it, by name."""
    path = (*ROLLOUTS, rollout.key)
    decided = ((id_, view.decisions(id_).get(path)) for id_ in of_kinds(view.decided, MANAGED_CLUSTER))
    with_entry = {id_.name for id_, entry in decided if entry is not None and entry.value is not None}
    return sorted(with_entry | clusters_of(decided_shards(view).get(rollout.placement, ())))


def why_revision(view: View, rollout: Rollout, name: str) -> str:
    """Why a cluster of the Placement has its revision, and what it waits for."""
    cluster = MANAGED_CLUSTER.id(name)
    entry = entries_of(view, [cluster], rollout.key).get(name)
    revision = str(view.now(rollout.id, "status", "revision"))
    has = f"has {entry.revision} ({_state(entry)})" if entry else "has no revision yet"
    if entry is not None and entry.revision == revision:
        waits = f"; it has not passed the gate {entry.gate}" if entry.gate else ""
        if entry.silent_after is not None:
            waits = f"; it is silent, after its last sign of life at {format_time(entry.silent_after)}"
        return f"{has}, in stage {entry.stage}{waits}"
    stage = _stage_of(view, rollout, cluster)
    if not stage:
        return f"{has}: no stage selects it"
    condition: Tree = view.conditions(rollout.id).get(ROLLED_OUT)
    rolled_out = f"{dig(condition, 'reason')}: {dig(condition, 'message')}"
    return f"{has}; it gets {revision} in stage {stage}. {rolled_out}"


def _state(entry: ClusterRollout) -> str:
    began = "in change since" if entry.state == TIME_OUT else "since"
    return f"{entry.state}{',' if entry.state == TIME_OUT else ''} {began} {format_time(entry.since)}"


def _stage_of(view: View, rollout: Rollout, cluster: ObjectId) -> str:
    shards = decided_shards(view).get(rollout.placement, ())
    group = next((shard.group for shard in shards if cluster.name in shard.clusters), "")
    obj = view.objects.get(cluster)
    labels = obj.labels if obj is not None else {}
    return next((stage.name for stage in rollout.stages if stage.selects(labels, group)), "")
