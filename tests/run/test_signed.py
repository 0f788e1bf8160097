"""Where agents have to sign, warm runs and runs in shards decide what cold ones do, too: of agents, of strangers who
write over them, and of certificates that people take back."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import yaml

from muster.agents.identity.authority import Authority, load_authority
from muster.agents.identity.request import CertificateRequest, new_request
from muster.features.sign.signing import sign
from muster.git.repository import open_repository
from muster.git.signatures.signature import sealed
from muster.run.incremental import answer
from muster.run.memo.state import open_state
from muster.run.question import WholeNeeded
from muster.run.shards.sharded import decide_in_shards
from tests.features.sign.test_signing import manifest
from tests.run.shuffled import Shuffled
from tests.support.authority import new_authority
from tests.support.example import NOON
from tests.support.living import Living, told

FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: signed}
spec:
  agents: {signing: required}
  policyParams: {csr-approval: {autoApprovedUsers: ["agents/*"]}}
"""
#: Certificates are of before the commits of these tests, and last until today and longer.
BEGIN, LONGEST = NOON - timedelta(days=1), timedelta(days=3000)


@dataclass
class Signing(Living):
    """A fleet whose agents sign, and now and then somebody else does, or nobody."""

    agents: dict[str, CertificateRequest] = field(default_factory=dict)

    def join(self, name: str, authority: Authority) -> None:
        """The agent of a cluster gets its certificate."""
        self.agents[name] = new_request(name)
        self._push(name, {})
        self.settled()
        sign(
            open_repository(self.repo.path, self.repo.environ),
            authority,
            lambda: BEGIN,
            branch="main",
            remote=None,
            attempts=range(2),
        )
        self.repo.git("reset", "--quiet", "--hard")

    def settled(self) -> None:
        """A cold run, and what follows."""
        self.land(answer(self.question(), None).settled)

    def step(self) -> str:
        return self.chance.choice(
            (
                self.heartbeats,
                self.heartbeats,
                self.a_status,
                self.forged,
                self.forged,
                self.revoked,
                self.nothing,
                self.time_passes,
                self.an_acceptance,
                self.a_label,
            )
        )()

    def time_passes(self) -> str:
        self.now += timedelta(seconds=self.chance.choice((61, 400)))
        return f"it is {self.now}"

    def forged(self) -> str:
        """Somebody writes over an agent's word, with another one's key or none, and leaves its request out or not."""
        name, other = self.chance.choice(sorted(self.agents)), self.chance.choice((*sorted(self.agents), ""))
        mine, self.agents[name] = self.agents[name], self.agents.get(other, CertificateRequest(b"", b""))
        self._speak(name)
        self.agents[name] = mine
        return f"{other or 'nobody'} signs for {name}"

    def revoked(self) -> str:
        name = self.chance.choice(sorted(self.agents))
        request = self.agents[name].object_name(name)
        text = yaml.safe_dump(
            {
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {"name": request},
                "status": {"conditions": [{"type": "Denied", "status": "True", "reason": "No", "message": "no"}]},
            }
        )
        return self._put({f"denied/{name}.yaml": text}, f"{name} is revoked")

    def _push(self, name: str, files: dict[str, str]) -> None:
        request = self.agents.get(name)
        if request is not None and request.pem:
            files = {**files, "request.yaml": manifest(request.object_name(name), name, request)}
        super()._push(name, files)
        if request is not None and request.key:
            ref = f"refs/heads/agents/{name}"
            raw = sealed(self.repo.git_bytes("cat-file", "commit", ref), request.key)
            made = self.repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).strip()
            self.repo.git("update-ref", ref, made)


def signing_fleet(folder: Path, seed: int) -> Signing:
    living = Signing.small(folder / "fleet", seed, 5)
    authority = load_authority(*new_authority(folder / "ca"), LONGEST, BEGIN)
    living.repo.commit({"fleet.yaml": FLEET})
    for name in living.names:
        if int(name[1:4]) % 2:
            living.join(name, authority)
            living._speak(name)
    living.settled()
    verified = {one.user for one in (living.question().heard.agents.identities or {}).values()}
    assert len(verified) == len(living.agents)
    assert "" not in verified
    return living


def compare(living: Signing, folder: Path, steps: int) -> tuple[int, int]:
    """Let a fleet live, and compare warm runs and runs in shards with cold ones; return how many of each there were."""
    state = open_state(folder / "kept" / "state.sqlite")
    assert state is not None
    lived, sharded, warm = [], 0, 0
    for _ in range(steps):
        lived.append(living.step())
        asked, whole = living.question(), living.whole()
        found = answer(asked, state)
        assert told(found.settled) == whole, (found.looked_at, lived)
        assert "Error" not in found.looked_at, lived
        warm += not found.looked_at.startswith("the whole fleet")
        try:
            assert told(decide_in_shards(asked, "", Shuffled(1), 4).settled) == whole, lived
            sharded += 1
        except WholeNeeded:
            pass
        living.land(found.settled)
        found.remember(state)
    state.close()
    return warm, sharded


def test_warm_and_in_shards_and_cold(tmp_path: Path) -> None:
    warm, sharded = compare(signing_fleet(tmp_path, 9), tmp_path, 8)
    assert min(warm, sharded) > 3
