"""What is supposed is what would be so had it been committed."""

from datetime import timedelta
from pathlib import Path

import pytest

from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER, REMEDY
from muster.features.whatif.rehearsal import rehearsal
from muster.features.whatif.supposing import NotSupposable, Supposition
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.git.agents.listing import local_agent_refs
from muster.git.repository import open_repository
from muster.rules.policies.selectors import LabelSelector
from tests.support.example import NOON
from tests.support.fuzzing import corpus
from tests.support.living import Living
from tests.support.mutations import Broken

REGION = LabelSelector.written("region=eu")


def fleet(files: dict[tuple[str, str], bytes] | None = None) -> Fleet:
    return assemble(Broken(corpus() if files is None else files))


def supposed(supposition: Supposition) -> Fleet:
    files = {**corpus(), **{where: data for where, data in supposition.edits.items() if data is not None}}
    for where, data in supposition.edits.items():
        if data is None:
            del files[where]
    return fleet(files)


def test_a_region_is_lost() -> None:
    supposition = Supposition(fleet())
    lost = supposition.lose(REGION, NOON)
    assert set(lost) >= {"prod-eu-1", "prod-eu-2"}
    assert set(supposition.edits) == {
        ("", f"clusters/eu/{name}/lease.yaml") for name in lost if ("", f"clusters/eu/{name}/lease.yaml") in corpus()
    }
    assert len(supposition.edits) > 3
    with pytest.raises(NotSupposable, match="no cluster has these labels"):
        supposition.lose(LabelSelector.written("region=nowhere"), NOON)


def test_a_report_takes_the_place_of_what_was_reported() -> None:
    supposition = Supposition(fleet())
    cluster = KARMADA_CLUSTER.id("member-ap-1")
    supposition.report(cluster, "ServiceDomainNameResolutionReady", "False", NOON)
    supposition.report(cluster, "Ready", "Unknown", NOON)
    found = supposed(supposition).reported(cluster)
    assert found["ServiceDomainNameResolutionReady"]["status"] == "False"
    assert found["Ready"]["status"] == "Unknown"
    with pytest.raises(NotSupposable, match="there is no ManagedCluster/nobody"):
        supposition.report(MANAGED_CLUSTER.id("nobody"), "Ready", "False", NOON)


def test_a_report_of_what_nobody_reported_yet() -> None:
    supposition = Supposition(fleet())
    supposition.report(MANAGED_CLUSTER.id("new-ap-1"), "Odd", "True", NOON)
    assert supposed(supposition).reported(MANAGED_CLUSTER.id("new-ap-1"))["Odd"]["status"] == "True"


def test_the_objects_of_a_file_take_the_place_of_their_like() -> None:
    text = corpus()["", "remedies/dns-down.yaml"].replace(b"dns-down", b"upgrade-member-eu-1")
    supposition = Supposition(fleet())
    supposition.put("mine.yaml", text)
    found = supposed(supposition)
    assert [part.source.path for part in found.objects[REMEDY.id("upgrade-member-eu-1")].parts] == [
        "supposed/mine.yaml"
    ]
    assert not found.broken


@pytest.mark.parametrize("seed", range(4))
def test_an_edit_is_supposed_as_it_would_be_committed(tmp_path: Path, seed: int) -> None:
    """What-if of an edit equals committing it in the repository and planning there."""
    living = Living.small(tmp_path / "fleet", seed, 6)
    for _ in range(4):
        living.step()
    repo, repository = living.repo, open_repository(living.repo.path, living.repo.environ)
    path = sorted(path for path in repo.paths() if path.startswith("clusters/"))[seed]
    edited = repo.show(path).replace("leaseDurationSeconds: 60", "leaseDurationSeconds: 20") + "\n"
    edited = edited.replace("hubAcceptsClient: true", "hubAcceptsClient: false").replace(
        'status: "True"', 'status: "False"'
    )
    now = living.now + timedelta(minutes=1)
    with rehearsal(repository, repo.tip(), local_agent_refs(repository)) as trial:
        trial.suppose({("", path): edited.encode()})
        found = trial.step(now)
    committed = repo.commit({path: edited})
    with rehearsal(repository, committed, local_agent_refs(repository)) as trial:
        real = trial.step(now)
    assert found.files == real.files
    assert [str(change) for change in found.changes] == [str(change) for change in real.changes]
    assert found.last.held == real.last.held
