"""Who asks to be let in: clusters that no person has decided on, and certificate requests without an answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, CSR, MANAGED_CLUSTER
from muster.data.times import age, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.acceptance import has_human_answer
from muster.fleet.agent_refs import AGENT_REF
from muster.fleet.approvals import CERTIFICATE, is_approved, is_denied
from muster.fleet.leases import CLUSTER_NAME
from muster.fleet.objects import Object, by_type
from muster.rules.policies.csr import key_fingerprint

COLUMNS: Final = ("CLUSTER", "WAITS FOR", "SINCE", "KEY", "RUN")


def waiting(bodies: Iterable[Tree], objects: Mapping[ObjectId, Object]) -> list[Tree]:
    """Return those of the bodies that wait for a person or a signer. `objects`: the fleet's, with people's answers."""

    def waits(body: Tree) -> bool:
        if body["kind"] == CSR.name:
            return _request_waits(body)
        obj = objects.get(MANAGED_CLUSTER.id(str(dig(body, "metadata", "name"))))
        return _cluster_waits(body) and (obj is None or not has_human_answer(obj))

    return [body for body in bodies if waits(body)]


def waiting_rows(bodies: Sequence[Tree], now: datetime) -> Iterator[list[str]]:
    """Yield a row for each waiting cluster, with the key of its agent's request, and for each other request."""
    requests = [body for body in bodies if body["kind"] == CSR.name]
    asking = {str(dig(body, "metadata", "name")): body for body in bodies if body["kind"] == MANAGED_CLUSTER.name}
    for name, body in asking.items():
        keys = [_key(request) for request in requests if cluster_of(request) == name]
        yield [name, "acceptance", _known_since(body, now), " ".join(keys) or "-", f"muster accept {name}"]
    for body in requests:
        if (cluster := cluster_of(body)) not in asking:
            approved, name = is_approved(_conditions(body)), body["metadata"]["name"]
            run = "muster sign" if approved else f"muster accept {cluster}" if cluster else "-"
            yield [
                cluster or "-",
                f"{'a signature' if approved else 'approval'} of {name}",
                _known_since(body, now),
                _key(body),
                run,
            ]


def _cluster_waits(body: Tree) -> bool:
    """An agent asks for it, and it was neither accepted nor denied."""
    return (
        dig(body, *AGENT_REF) is not None
        and dig(body, "spec", "hubAcceptsClient") is not True
        and ACCEPTED not in _conditions(body)
        and dig(body, "metadata", "deletionTimestamp") is None
    )


def _request_waits(body: Tree) -> bool:
    return not is_denied(_conditions(body)) and dig(body, *CERTIFICATE) is None


def _conditions(body: Tree) -> dict[str, Tree]:
    return by_type(mappings_at(body, "status", "conditions"))


def cluster_of(body: Tree) -> str:
    """Return the cluster that a request is about, empty for none."""
    return str(mapping_at(body, "metadata", "labels").get(CLUSTER_NAME, ""))


def _key(body: Tree) -> str:
    return key_fingerprint(str(dig(body, "spec", "request") or "")) or "-"


def _known_since(body: Tree, now: datetime) -> str:
    """Since when the fleet knows it: a cluster has its first taint from then on."""
    times = [dig(body, "metadata", "creationTimestamp")]
    times += [taint.get("timeAdded") for taint in mappings_at(body, "spec", "taints")]
    times += [entry.get("lastTransitionTime") for entry in mappings_at(body, "status", "conditions")]
    instants = [moment for time in times if (moment := try_time(time)) is not None]
    return age(min(instants), now) if instants else "-"
