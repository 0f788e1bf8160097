"""HyperFleet's conditions under the seed's names or today's: the same rules, and no timer starts again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

import muster
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.fleet.files import builtin_objects
from muster.fleet.settings import Settings
from muster.fleet.vocabulary import translate_builtin
from tests.rules.reports.test_stage import CLUSTER, FLEET, NOON, report

TODAY = {"hyperfleet": {"vocabulary": "reconciled"}}
LATER = NOON + timedelta(hours=1)


def evaluate(folder: Path, now: datetime) -> muster.Run:
    """Evaluate a folder, and keep what follows."""
    done = muster.evaluate(folder, now)
    for path, text in done.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink() if text is None else target.write_text(text, encoding="utf-8")
    return done


def said(done: muster.Run, kind: str = "ManagedCluster") -> dict[str, Tree]:
    (body,) = (obj for obj in done.objects if obj["kind"] == kind)
    return {condition["type"]: condition for condition in body["status"]["conditions"]}


def write(folder: Path, **files: Tree) -> None:
    for name, body in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")


def fleet(**spec: Tree) -> Tree:
    return {**FLEET, "spec": {"adapters": {"ManagedCluster": ["dns"]}, **spec}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, fleet=fleet(), cluster=CLUSTER, report=report("dns", 3, 0, "True"))
    return tmp_path


def test_the_seeds_names_are_the_default(folder: Path) -> None:
    conditions = said(evaluate(folder, NOON))
    assert {"Available", "Ready"} <= conditions.keys()
    write(folder, fleet=fleet(hyperfleet={"vocabulary": "ready"}))
    assert said(evaluate(folder, NOON)) == conditions


def test_a_live_fleet_changes_its_vocabulary_and_back_and_no_timer_starts_again(folder: Path) -> None:
    write(folder, fleet=fleet(reports={"maxAge": "24h"}))
    first = said(evaluate(folder, NOON))
    assert first["Ready"]["status"] == "True"
    write(folder, fleet=fleet(reports={"maxAge": "24h"}, **TODAY))
    done = evaluate(folder, LATER)
    now = said(done)
    assert not {"Available", "Ready"} & now.keys()
    for seed, today in (("Available", "LastKnownReconciled"), ("Ready", "Reconciled")):
        assert {**now[today], "type": seed} == first[seed]
    assert evaluate(folder, LATER).files == {}
    write(folder, fleet=fleet(reports={"maxAge": "24h"}))
    back = said(evaluate(folder, LATER + timedelta(hours=1)))
    assert {name: back[name] for name in ("Available", "Ready")} == {
        name: first[name] for name in ("Available", "Ready")
    }
    assert not {"Reconciled", "LastKnownReconciled"} & back.keys()


def test_pulses_follow_the_vocabulary(folder: Path) -> None:
    """An object that is ready is left alone for half an hour, and one that is not for ten seconds."""
    write(folder, fleet=fleet(**TODAY))
    evaluate(folder, NOON)
    quiet = muster.evaluate(folder, NOON + timedelta(seconds=20)).pulses
    write(folder, report=report("dns", 3, 1, "False"))
    evaluate(folder, NOON + timedelta(seconds=21))
    reasons = [pulse["data"]["reason"] for pulse in muster.evaluate(folder, NOON + timedelta(seconds=40)).pulses]
    assert ([pulse["data"]["reason"] for pulse in quiet], reasons) == ([], ["ttl-not-ready"])


def test_availability_remembers_what_it_tracked(folder: Path) -> None:
    write(folder, fleet=fleet())
    evaluate(folder, NOON)
    write(
        folder,
        fleet=fleet(**TODAY),
        cluster={**CLUSTER, "spec": {"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": "https://a"}]}},
    )
    now = said(evaluate(folder, NOON + timedelta(minutes=1)))
    assert (now["LastKnownReconciled"]["status"], now["LastKnownReconciled"]["observedGeneration"]) == ("True", 3)
    assert now["Reconciled"]["status"] == "False"


def test_karmadas_ready_stays_karmadas(tmp_path: Path) -> None:
    cluster = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "c1", "generation": 1},
        "spec": {"syncMode": "Push"},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "ClusterReady", "lastTransitionTime": format_time(NOON)},
            ]
        },
    }
    spec = {"adapters": {"Cluster": ["dns"]}}
    write(tmp_path, fleet={**FLEET, "spec": spec}, cluster=cluster)
    assert said(evaluate(tmp_path, NOON), "Cluster")["Ready"]["reason"] == "ReconciledMissingAdapters"
    write(tmp_path, fleet={**FLEET, "spec": {**spec, **TODAY}})
    conditions = said(evaluate(tmp_path, LATER), "Cluster")
    assert (conditions["Ready"]["reason"], conditions["Reconciled"]["reason"]) == (
        "ClusterReady",
        "ReconciledMissingAdapters",
    )
    assert conditions["Reconciled"]["lastTransitionTime"] == format_time(NOON)


def test_a_fleets_own_policy_may_stand_in_for_a_built_in_one(folder: Path) -> None:
    own = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "ConditionPolicy",
        "metadata": {"name": "adapters-ready"},
        "spec": {
            "target": {"kind": "ManagedCluster"},
            "type": "Reconciled",
            "rules": [{"name": "ever", "status": "True", "reason": "Ever"}],
        },
    }
    write(folder, fleet=fleet(**TODAY), own=own)
    done = evaluate(folder, NOON)
    assert said(done)["Reconciled"]["reason"] == "Ever"
    assert [one.code for one in done.findings] == ["MUS314"]
    rival = {**own, "metadata": {"name": "rival"}}
    write(folder, own=rival)
    assert [one.code for one in evaluate(folder, NOON).findings] == ["MUS313"]


def test_every_built_in_policy_that_speaks_of_them_is_translated() -> None:
    known, spoken = builtin_objects(), translate_builtin(builtin_objects(), Settings(TODAY))
    changed = {id_.name: str(spoken[id_].spec) for id_ in known if spoken[id_] != known[id_]}
    assert changed.keys() == {"adapters-available", "adapters-ready", "adapters-pulses"}
    text = changed["adapters-available"]
    assert "previous['Available']" not in text
    assert "previous['LastKnownReconciled'].observedGeneration" in text
    assert "'LastKnownReconciled' in previous" in text
    assert "c.type == 'Available'" in text  # what adapters say is called as ever
    assert "status(conditions, 'Reconciled')" in changed["adapters-pulses"]


def test_another_word_is_refused(folder: Path) -> None:
    write(folder, fleet=fleet(hyperfleet={"vocabulary": "reconcilled"}))
    assert "MUS203" in [one.code for one in muster.evaluate(folder, datetime(2026, 1, 1, tzinfo=UTC)).findings]
