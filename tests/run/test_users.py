"""Admission policies that read who changed an object: a run from what was kept finds what one from nothing finds."""

import random
from datetime import timedelta
from pathlib import Path

import pytest

from tests.run.test_incremental import same, state_in
from tests.support.git import Repo
from tests.support.living import ADMISSION, Living

ADA, EVE = "Ada <ada@example.com>", "Eve <eve@example.com>"
POLICY = ADMISSION.format(
    refused="eu", resource="managedclusters", action="Warn", user=" || request.userInfo.username == 'ada@example.com'"
)

#: As of a fleet with tenants: a policy for all kinds and operations, and the groups of the Fleet.
TENANTS = (
    POLICY.replace("apiGroups: [cluster.open-cluster-management.io]", "apiGroups: ['*']")
    .replace("operations: [CREATE, UPDATE], resources: [managedclusters]", "operations: ['*'], resources: ['*']")
    .replace("object.metadata.labels.region != 'eu'", "!files.exists(f, f.startsWith('clusters/'))")
    .replace("request.userInfo.username == 'ada@example.com'", "'ops' in request.userInfo.groups")
)
FLEET = (
    "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: small}\n"
    "spec: {groups: {ops: [%s@example.com], others: []}}\n"
)
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"


def commit(repo: Repo, path: str, text: str, author: str) -> None:
    repo.write(path, text)
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--allow-empty", "--message", "x", f"--author={author}")


@pytest.mark.parametrize("policy", [POLICY, TENANTS], ids=["a kind", "all kinds"])
@pytest.mark.parametrize("seed", range(3))
def test_of_people_who_change_things_and_change_them_back(tmp_path: Path, seed: int, policy: str) -> None:
    living, chance, state = Living.small(tmp_path / "fleet", 1, 8), random.Random(seed), state_in(tmp_path)
    paths = [path for path in living.repo.git("ls-files").splitlines() if path.endswith("cluster.yaml")]
    texts = {path: living.repo.show(path) + "\n" for path in paths}
    few = [path for path in paths if "region: eu" in texts[path]][:2]
    living.repo.commit({"policies/admission.yaml": policy, "fleet.yaml": FLEET % "eve"})
    reaches = [same(living, state, "the beginning").looked_at]
    for number in range(12):
        living.now += timedelta(seconds=20)
        lived = list[str]()
        for _ in range(chance.randint(2, 4)):
            path, author = chance.choice(few), chance.choice((ADA, EVE))
            what = chance.choice(("changed", "changed back", "changed back"))
            text = texts[path] + (f"# {chance.random()}\n" if what == "changed" else "")
            if number % 5 == 4:
                what = "merged"
                living.repo.git("switch", "--quiet", "--create", f"side{number}-{len(lived)}", "HEAD~1")
                commit(living.repo, path, f"{text}# {number}\n", author)
                living.repo.git("switch", "--quiet", "main")
                living.repo.git("merge", "--quiet", "--no-edit", "-X", "theirs", f"side{number}-{len(lived)}")
            else:
                commit(living.repo, path, text, author)
            if number in (3, 9) and policy == TENANTS:
                living.repo.commit({"fleet.yaml": FLEET % chance.choice(("ada", "eve"))})
            if number in (5, 7) and policy == TENANTS:
                living.repo.commit({"clusters/config.yaml": CONFIG if number == 5 else "# none\n"})
            lived.append(f"{path} {what} by {author}")
        reaches.append(same(living, state, str(lived)).looked_at)
    assert sum("the whole fleet" not in reach for reach in reaches) > 5, reaches
