"""What an adapter does about its task, and what it says of it: the decision at the heart of an adapter.

Source: seed 004, "K8s jobs" and "Simplifications for the MVP". The task is a Kubernetes Job that retries until it
succeeds and is never deleted, so a completed one is used again, and one that is still at it says nothing final.
"""

from dataclasses import dataclass
from typing import Literal

from muster.model.tree import Tree, dig, mappings_at

#: The annotation of a task that says which generation of the object it works on.
GENERATION = "hyperfleet.io/generation"

Action = Literal["create", "reuse", "none"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is to be done about the task, and the `Available` that follows from it: Unknown while it works."""

    action: Action
    available: Literal["True", "False", "Unknown"]


def assess(job: Tree, generation: int) -> Assessment:
    """Return what an adapter does about its Job for a generation of an object; `job` is None where there is none.

    A Job of another generation is none for this one. A Job that failed for good cannot be made anew without a life
    cycle for it, so it goes on saying False.
    """
    if job is None or str(dig(job, "metadata", "annotations", GENERATION)) != str(generation):
        return Assessment("create", "Unknown")
    conditions = {c.get("type"): c.get("status") for c in mappings_at(job, "status", "conditions")}
    if conditions.get("Complete") == "True":
        return Assessment("reuse", "True")
    if conditions.get("Failed") == "True":
        return Assessment("none", "False")
    return Assessment("none", "Unknown")
