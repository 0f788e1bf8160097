"""A document that lost its spec removes nothing, and a broken admission policy admits nothing new."""

from pathlib import Path
from random import Random

from tests.support.example import NOON
from tests.support.git import new_repository
from tests.support.living import ADMISSION, Living, cluster, lease, observed


def test_a_lost_spec_and_a_broken_admission_policy(tmp_path: Path) -> None:
    living = Living(new_repository(tmp_path / "fleet"), Random(1), now=NOON)
    living.repo.commit({"a.yaml": cluster("a"), "lease.yaml": lease("a", NOON), "o.yaml": observed("a")})
    living.land(living.cold())
    derived = living.repo.git("show", "HEAD:derived/managedclusters/a.yaml")
    living.repo.commit({"a.yaml": cluster("a").replace("spec:", "sepc:")})
    settled = living.cold()
    assert {finding.code for finding in settled.findings} >= {"MUS111"}
    living.land(settled)
    assert living.repo.git("show", "HEAD:derived/managedclusters/a.yaml") == derived
    policy = ADMISSION.format(resource="managedclusters", refused="ap", action="Deny", user="")
    living.repo.commit(
        {
            "a.yaml": cluster("a"),
            "b.yaml": cluster("b"),
            "policy.yaml": policy.replace("validations:", "validatoins:"),
        }
    )
    settled = living.cold()
    assert [str(finding.object) for finding in settled.findings if finding.code == "MUS113"] == ["ManagedCluster/b"]
    assert "derived/managedclusters/b.yaml" not in settled.files
