"""Whose agent a request for a certificate is for: upstream's name and groups, and nothing near them."""

import pytest

from muster.rules.policies.csr import Decoded, agent_of

GROUP = "system:open-cluster-management:c1"
EVERY = "system:open-cluster-management:managed-clusters"


def request(name: str = f"{GROUP}:a", groups: tuple[str, ...] = (GROUP,), pem: str = "CERTIFICATE REQUEST") -> Decoded:
    return {"pemType": pem, "commonName": name, "organizations": list(groups), "error": ""}


@pytest.mark.parametrize("groups", [(GROUP,), (GROUP, EVERY), (GROUP, GROUP)])
def test_anagent_of_the_cluster(groups: tuple[str, ...]) -> None:
    assert agent_of(request(groups=groups)) == "c1"
    assert agent_of(request(f"{GROUP}:{'aZ0._-' * 10}abcd", groups)) == "c1"


@pytest.mark.parametrize(
    "other",
    [
        request(name=GROUP),
        request(name=f"{GROUP}:"),
        request(name=f"{GROUP}:a:b"),
        request(name=f"{GROUP}:x,*"),
        request(name=f'{GROUP}:x\n* namespaces="git" ssh-ed25519 AAAA'),
        request(name=f"{GROUP}:x\n"),
        request(name=f"{GROUP}:x y"),
        request(name=f"{GROUP}:\u0441"),
        request(name=f"{GROUP}:{'a' * 65}"),
        request(name=f"{GROUP}2:a"),
        request(name="system:node:c1:a"),
        request(name=""),
        request(groups=()),
        request(groups=(EVERY,)),
        request(groups=(GROUP, "system:masters")),
        request(groups=(GROUP, f"{GROUP}2")),
        request(pem="CERTIFICATE"),
    ],
    ids=lambda other: f"{other['commonName']} {other['organizations']} {other['pemType']}",
)
def test_nobody_s_agent(other: Decoded) -> None:
    assert agent_of(other) == ""
