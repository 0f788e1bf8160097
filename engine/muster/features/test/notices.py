"""What a step of a PolicyTest tells people: notification policies over what it changes of the derived files.

As in a repository: what a step derives is committed, and then told. What waits, for its window or for quiet hours to
end, is told at a later step. Nothing is sent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.data.kinds import NOTIFICATION_POLICY
from muster.data.notices import Message
from muster.data.tree import Tree, mappings_at
from muster.data.yaml.loader import first_body
from muster.rules.notifications.transitions import change_tree, messages
from muster.run.noticed import notices_of
from muster.run.run import Run


@dataclass
class Telling:
    """What waits to be told in a case; `policies` have had something to tell by now (`Kind/name`)."""

    waiting: tuple[Message, ...] = ()
    policies: set[str] = field(default_factory=set)

    def tell(self, run: Run, derived: Mapping[str, str]) -> list[Tree]:
        """Return the messages that are due once a run over these derived files is committed, by policy and group:
        whom they go to, and the transitions in them."""
        found = [
            notice for path, text in sorted(run.files.items())
            for notice in notices_of(path, _body(path, derived.get(path)), _body(path, text), str(run.now), run.now)
        ]  # fmt: skip
        told = messages(run.fleet, found, self.waiting, run.now)
        self.policies.update(f"{NOTIFICATION_POLICY.name}/{message.policy}" for message in told)
        self.waiting = tuple(message for message in told if message.due > run.now)
        all_ = [str(sink.get("name")) for sink in mappings_at(run.fleet.settings.spec, "notifications", "sinks")]
        due = sorted((one for one in told if one.due <= run.now), key=lambda one: (one.policy, one.key, one.due))
        return [_tree(message, all_) for message in due]


def _body(path: str, text: str | None) -> Tree:
    return None if text is None else first_body(text.encode(), path)


def _tree(message: Message, sinks: list[str]) -> Tree:
    return {
        "policy": message.policy, "severity": message.severity, "group": message.key,
        "sinks": sorted(message.sinks or sinks),
        "transitions": [
            {**change_tree(notice), "object": "/".join(filter(None, (notice.object.kind, notice.object.namespace,
                                                                    notice.object.name)))}
            for notice in message.notices
        ],
    }  # fmt: skip


def told_otherwise(told: list[Tree], step: Tree) -> Iterator[str]:
    """What a step tells other than it expects; only the fields that are written are compared."""
    if "notifications" not in step:
        return
    wanted = mappings_at(step, "notifications")
    if len(told) != len(wanted) or not all(map(_is_as, told, wanted)):
        yield f"notifications are {told}, expected {wanted}"


def _is_as(have: Tree, wanted: Tree) -> bool:
    for name, value in wanted.items():
        if name == "transitions":
            if len(have[name]) != len(value) or any(
                one | want != one for one, want in zip(have[name], value, strict=True)
            ):
                return False
        elif (sorted(value) if name == "sinks" else value) != have[name]:
            return False
    return True
