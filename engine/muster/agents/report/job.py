"""What an adapter does about its task, and what it says of it: the decision at the heart of an adapter.

Source: seed 004, "K8s jobs" and "Simplifications for the MVP". The task is a Kubernetes Job that retries until it
succeeds and is never deleted, so a completed one is used again, and one that is still at it says nothing final.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from muster.data.tree import Tree, dig, mappings_at

#: The annotation of a task that says which generation of the object it works on.
GENERATION: Final = "hyperfleet.io/generation"

Action = Literal["create", "reuse", "none"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is to be done about the task, and the `Available` that follows from it: Unknown while it works."""

    action: Action
    available: Literal["True", "False", "Unknown"]


def assess(job: Tree, generation: int) -> Assessment:
    """Return what an adapter does about its Job for a generation of an object; `job` is None where there is none.

    A Job that says it is of another generation is none for this one; one that says nothing is of the generation that
    it is asked about. A Job that failed for good cannot be made anew without a life cycle for it, so it goes on saying
    False.
    """
    if not job or generation_of(job) not in (None, generation):
        return Assessment("create", "Unknown")
    conditions = {c.get("type"): c.get("status") for c in mappings_at(job, "status", "conditions")}
    if conditions.get("Complete") == "True":
        return Assessment("reuse", "True")
    if conditions.get("Failed") == "True":
        return Assessment("none", "False")
    return Assessment("none", "Unknown")


def generation_of(job: Tree) -> int | None:
    """The generation that a Job says it works on; None where it says nothing. ValueError where what it says is none."""
    said = dig(job, "metadata", "annotations", GENERATION)
    if said is None:
        return None
    if re.fullmatch(r"[1-9][0-9]{0,17}", str(said)) is None:
        raise ValueError(f"the Job's annotation {GENERATION} is no generation: {str(said)!r}")
    return int(str(said))


def only_job(document: Tree) -> Tree:
    """Return the Job that `kubectl get -o yaml` printed: the document itself, or the one element of its list.

    ValueError where it is something else, or none or several.
    """
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        items = mappings_at(document, "items")
        if len(items) != 1:
            raise ValueError(f"it holds {len(items)} Jobs, not one")
        document = items[0]
    if not isinstance(document, dict) or not document:
        raise ValueError("it holds no Job")
    if (kind := document.get("kind", "Job")) != "Job":
        raise ValueError(f"it holds a {kind}, not a Job")
    return document
