"""What is said of a cluster: `get`, `describe`, `explain`, the page, metrics and notifications agree, in any fleet."""

# ruff: noqa: E501 - documents

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from muster.cli.columns import rows
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, is_cluster, kind_of
from muster.data.locations import derived_path
from muster.data.times import age, format_time, parse_time
from muster.data.tree import Tree, mappings_at
from muster.features.explain.description import description
from muster.features.explain.explain import explain
from muster.features.page.details import ClusterDetails
from muster.features.page.overview import ClusterRows
from muster.fleet.derived import derived_body
from muster.rules.policies.lazy import Witness
from muster.run.answer import RunAnswer, figures
from muster.run.cluster_summary import ClusterSummary, conditions_of
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run, Settled
from muster.run.transitions.notices import notices_of
from tests.support.git import Content
from tests.support.living import Living, cluster, lease

KARMADA = (
    "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\n"
    "spec: {{syncMode: Pull}}\nstatus: {{conditions: [{{type: Ready, status: '{ready}', reason: Said, message: said}}]}}\n"
)


class Watched(Living):
    """A fleet in which clusters have several Leases or none, are denied, are being deleted, or are Karmada's."""

    def step(self) -> str:
        if self.chance.random() < 0.4:
            return super().step()
        return self.chance.choice(
            (self.a_detector, self.a_lease_elsewhere, self.a_member, self.a_deletion, self.a_denial, self.no_lease)
        )()

    def a_detector(self) -> str:
        """Its Lease sorts before the agent's."""
        name = self._any()
        text = lease(name, self.now + timedelta(seconds=self.chance.choice((-400, 0)))).replace(
            "managed-cluster-lease", "a-detector"
        )
        return self._put({f"detectors/{name}.yaml": text}, f"a detector of {name}")

    def a_lease_elsewhere(self) -> str:
        name = self._any()
        label = f"name: a-{name}, labels: {{open-cluster-management.io/cluster-name: {name}}}"
        text = lease("elsewhere", self.now).replace("name: managed-cluster-lease", label)
        return self._put({f"elsewhere/{name}.yaml": text}, f"a Lease of {name} in another namespace")

    def a_member(self) -> str:
        name = self.chance.choice(("m1", "m2"))
        own = lease("karmada-cluster", self.now).replace("name: managed-cluster-lease", f"name: {name}")
        files: dict[str, Content] = {
            f"members/{name}/cluster.yaml": KARMADA.format(name=name, ready=self.chance.choice(("True", "False")))
        }
        if self.chance.random() < 0.5:
            files[f"members/{name}/lease.yaml"] = own
        return self._put(files, f"the Karmada cluster {name}, with {len(files)} files")

    def a_deletion(self) -> str:
        name = self._any()
        text = cluster(name, accepted=self.chance.random() < 0.5).replace(
            "  name:", '  deletionTimestamp: "2026-01-01T11:00:00Z"\n  name:'
        )
        return self._put({self._path(name): text}, f"{name} is being deleted")

    def a_denial(self) -> str:
        name = self._any()
        return self._put({self._path(name): cluster(name, accepted=False)}, f"{name} is denied")

    def no_lease(self) -> str:
        name = self._any()
        paths = [path for path in (f"{Path(self._path(name)).parent}/lease.yaml",) if (self.repo.path / path).exists()]
        if self.repo.git("for-each-ref", f"refs/heads/agents/{name}"):
            self._push(name, {})
        return self._put(dict.fromkeys(paths), f"{name} has no Lease")


def _cells(summary: ClusterSummary, now: datetime) -> dict[str, str]:
    headings, [cells] = rows(summary.id.kind, [summary.body], now, namespaced=False, wide=True)
    return dict(zip((heading.text for heading in headings), cells, strict=True))


def _listed(summary: ClusterSummary, now: datetime) -> dict[str, str]:
    """What a table has to say."""
    state = summary.state
    known = (
        summary.id.kind != MANAGED_CLUSTER.name
        or state.accepted != "no"
        or any(
            one.get("type") == "HubAcceptedManagedCluster" for one in mappings_at(summary.body, "status", "conditions")
        )
    )
    since = age(parse_time(state.since), now) if state.since else "-"
    told = {"STATUS": state.status or "-", "SINCE": since, "REASON": state.reason or "-"}
    return told if known else dict.fromkeys(told, "-")


def agrees(
    run: Run, witnessed: Run, witness: Witness, id_: ObjectId, details: ClusterDetails, rows_: ClusterRows
) -> None:
    """Compare all views of one cluster."""
    summary, now = ClusterSummary.of(run, id_), run.now
    state, taints = summary.state, list(map(str, summary.taints))
    # get
    cells, listed = _cells(summary, now), _listed(summary, now)
    assert cells["AVAILABLE" if kind_of(id_) is MANAGED_CLUSTER else "READY"] == listed["STATUS"], id_
    assert (cells["SINCE"], cells["REASON"]) == (listed["SINCE"], listed["REASON"]), id_
    assert cells.get("ACCEPTED", "yes") == state.accepted, id_
    # describe
    text = description(run, id_)
    leases = [line.strip() for line in text.partition("\nLeases:\n")[2].splitlines() if line.startswith("  ")]
    if summary.lease is None:
        assert all("not the cluster's heartbeat" in line for line in leases[: len(summary.leases)]), text
    else:
        of = summary.lease.id
        assert leases[0].startswith(f"{of.namespace}/{of.name}: "), text
        assert (
            format_time(parse_time(summary.lease.renewed)) in leases[0]
            if summary.lease.renewed
            else "never" in leases[0]
        )
    assert all(f"  {taint}, added " in text for taint in taints), text
    # the page
    row, card = rows_.rows[id_], details.card(id_.name)
    assert row[2:6] == [state.accepted, state.state, state.reason, state.since], id_
    assert card["why"] == state.message, id_
    assert card["lease"]["renewed"] == (summary.lease.renewed if summary.lease else ""), id_
    assert [one["taint"] for one in card["taints"]] == taints, id_
    assert [one["status"] for one in card["conditions"]] == [
        one.status for one in conditions_of(run, id_, summary.body)
    ]
    # explain
    fields = (
        {one.label: one for one in explain(witnessed, witness, id_).fields} if witnessed.fleet.decisions(id_) else {}
    )
    headline = fields.get(f"status.conditions[{kind_of(id_).headline}]")
    if headline is not None and isinstance(headline.value, dict):
        assert (headline.value["status"], headline.until) == (state.status, summary.expires), id_
        for read in headline.reads:
            if read.label == "lease.spec.renewTime" and read.place is not None and summary.lease is not None:
                obj = run.fleet.objects.get(summary.lease.id)
                files = {part.source.label for part in obj.parts} if obj else set()
                assert read.place.file in files or not files, (id_, read)
    # notifications: what the derived file alone says, as news
    derived: Tree = derived_body(id_, run.fleet.decisions(id_))
    news = {
        (one.sort, one.name): one.after
        for one in notices_of(derived_path(id_, run.fleet.settings.shards), None, derived, "c", now)
    }
    if kind_of(id_).headline in run.fleet.conditions(id_):
        assert news["condition", kind_of(id_).headline] == state.status, (id_, news)
    assert {name for sort, name in news if sort == "taint"} <= set(taints), (id_, news)


@pytest.mark.parametrize("seed", (2,))
def test_every_view_says_the_same_of_every_cluster(tmp_path: Path, seed: int) -> None:
    living, seen = Watched.small(tmp_path / "fleet", seed, 8), Counter[str]()
    for _ in range(25):
        what = living.step()
        settled: Settled = living.cold()
        run, asked = settled.last, living.question()
        ids = sorted(obj.id for obj in run.fleet.clusters())
        witness = Witness(is_cluster)
        witnessed = evaluate_snapshot(asked.snapshot(), asked.now, asked.remembered.memory, witness=witness)
        details, rows_ = ClusterDetails(run), ClusterRows.of(run)
        for id_ in ids:
            agrees(run, witnessed, witness, id_, details, rows_)
            summary = ClusterSummary.of(run, id_)
            seen.update([summary.state.state or "none", f"{min(len(summary.leases), 2)} leases", id_.kind])
        # metrics
        states = Counter(
            (id_.kind, ClusterSummary.of(run, id_).state.state or "none")
            for id_ in run.fleet.objects
            if is_cluster(id_)
        )
        assert figures(RunAnswer(settled, None, None, None, ""), None).clusters == states, what
        living.land(settled)
    assert {"True", "Unknown", "Denied", "0 leases", "1 leases", "2 leases", "Cluster"} <= seen.keys(), seen
