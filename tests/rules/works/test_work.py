"""What an agent reports of a work, as a state of a rollout."""

from datetime import timedelta
from typing import Any

import pytest

from muster.data.kinds import MANIFEST_WORK_REPLICA_SET
from muster.data.tree import Tree
from muster.rules.works.work import is_valid_owner, owner_label, owner_of, state_of, work_name
from tests.rules.works.repository import RULES, START, condition

RULED: Tree = {"manifestConfigs": RULES}


def say(applied: str = "", available: str = "", progressing: str = "", degraded: str = "", old: str = "") -> Tree:
    """A status; each condition changed some seconds after the start: 1, 2, 3 and 4. `old` are of generation 1."""
    given = {"Applied": applied, "Available": available, "Progressing": progressing, "Degraded": degraded}
    return {
        "conditions": [
            condition(type_, status, number, observedGeneration=1 if type_ in old else 2)
            for number, (type_, status) in enumerate(given.items(), 1)
            if status
        ]
    }


@pytest.mark.parametrize(
    ("status", "spec", "state", "since"),
    [
        (say(), {}, "ToApply", None),
        (say("True"), {}, "ToApply", None),
        (say("True", "True"), {}, "Succeeded", 2),
        (say("True", "True", "False", "False"), {}, "Succeeded", 4),
        (say("True", "True"), RULED, "ToApply", None),
        (say("True", "False"), {}, "ToApply", None),
        (say("True", "True", "False"), {}, "Succeeded", 3),
        (say("True", "True", "True"), {}, "Progressing", 3),
        (say("True", "True", "Unknown"), {}, "Progressing", 3),
        (say("True", "True", "False", "True"), {}, "Failed", 4),
        (say("True", "True", "True", "True"), {}, "Failed", 4),
        (say("True", "", "True", "Unknown"), {}, "Progressing", 3),
        (say("False", "True", "False"), {}, "Failed", 1),
        (say("True", "True", "False", old="Applied"), {}, "ToApply", None),
        (say("True", "True", "False", old="Progressing"), {}, "ToApply", None),
        (say("True", "True", "False", "False", old="Degraded"), {}, "ToApply", None),
        (say("True", "True", "", "", old="Available"), {}, "ToApply", None),
        (
            {
                **say("True", "True", "False"),
                "resourceStatus": {
                    "manifests": [
                        {"conditions": [condition("Degraded", "False", 6)]},
                        {"conditions": [condition("Degraded", "True", 7)]},
                    ]
                },
            },
            {},
            "Failed",
            7,
        ),
    ],
)
def test_the_state_of_a_work_in_its_second_generation(status: Any, spec: Any, state: str, since: int | None) -> None:
    found = state_of(2, spec, status)
    instant = None if since is None else START + timedelta(seconds=since)
    assert (found.state, found.since) == (state, instant)


def test_names_and_labels() -> None:
    one, other = MANIFEST_WORK_REPLICA_SET.id("web", "shop"), MANIFEST_WORK_REPLICA_SET.id("web", "bank")
    assert work_name(one) != work_name(other)
    assert work_name(one).startswith("web-")
    assert owner_of(owner_label(one)) == one
    long = MANIFEST_WORK_REPLICA_SET.id("w" * 60, "shop")
    assert len(work_name(long)) == 63
    assert not is_valid_owner(owner_label(long))
