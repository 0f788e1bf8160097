"""The condition `AgentIdentityVerified`, if agents must sign (`Fleet.spec.agents.signing`).

Signers are verified where refs are read (`muster.git.identities`), and reports without a verified signer are not
received, so the lease will expire. The condition is decided for every accepted cluster with a ref.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS, MANAGED_CLUSTER
from muster.data.snapshot import SignerIdentity
from muster.fleet.acceptance import is_accepted
from muster.fleet.agent_refs import VERIFIED
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.heartbeats.silence import kept_clusters
from muster.rules.stages import CONDITIONS, Local
from muster.rules.transitions import condition_decision

_BECAUSE = Because("identity", OF_ITSELF, "the signature of the newest commit on its agent's ref")


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide the condition `AgentIdentityVerified`."""
    identities = context.identities
    if identities is None:
        return

    def judged(obj: Object) -> Iterator[Decision]:
        known = identities.get(obj.id.name)
        if known is None and obj.id in context.lost:
            known = SignerIdentity("", "RefGone", f"agents/{obj.id.name} is gone")
        if known is None or (obj.kind is MANAGED_CLUSTER and obj.id not in context.lost and not is_accepted(obj)):
            return
        said = ("True", "SignatureVerified", f"What its agent says is signed by {known.user}.")
        if known.reason:
            said = ("False", known.reason, f"Not received: {known.doubt}.")
        yield condition_decision(view, obj.id, VERIFIED, said, _BECAUSE, now)

    yield from each(view.of(*CLUSTERS), judged)
    yield from each((obj for obj in kept_clusters(view, context) if obj.id in context.lost), judged)


STAGE = Local("identity", stage, derives=((CLUSTERS, (CONDITIONS,)),))
