"""What an adapter concludes from its task, a Kubernetes Job.

Source: seed 004, "K8s jobs" and "Simplifications for the MVP". The Job retries until it succeeds and is never deleted,
so a completed Job is reused, and a running one gives no final status.
"""

from typing import Final, Literal

from muster.data.tree import Tree, dig, mappings_at
from muster.dataclass import dataclass

#: The annotation of a Job that names the generation of the object that it works on.
GENERATION: Final = "hyperfleet.io/generation"

Action = Literal["create", "reuse", "none"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the adapter does about the Job, and the resulting `Available`: Unknown while the Job runs."""

    action: Action
    available: Literal["True", "False", "Unknown"]


def assess(job: Tree, generation: int) -> Assessment:
    """Assess a Job for a generation of an object; `job` is None if there is none.

    A Job of another generation does not count; one that names no generation belongs to the given one. A Job that failed
    permanently cannot be replaced without a life cycle for it, so it stays False.
    """
    if not job or generation_of(job) not in (None, generation):
        return Assessment("create", "Unknown")
    conditions = {c.get("type"): c.get("status") for c in mappings_at(job, "status", "conditions")}
    if conditions.get("Complete") == "True":
        return Assessment("reuse", "True")
    if conditions.get("Failed") == "True":
        return Assessment("none", "False")
    return Assessment("none", "Unknown")


_MOST_DIGITS = 18


def generation_of(job: Tree) -> int | None:
    """Return the generation that a Job works on; None if it names none. ValueError if the annotation is malformed."""
    value = dig(job, "metadata", "annotations", GENERATION)
    if value is None:
        return None
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and text[0] != "0"):
        raise ValueError(f"the Job's annotation {GENERATION} is not a generation: {text!r}")
    return int(text)


def only_job(document: Tree) -> Tree:
    """Return the Job that `kubectl get -o yaml` printed: the document itself, or the only element of its list.

    ValueError for anything else.
    """
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
        items = mappings_at(document, "items")
        if len(items) != 1:
            raise ValueError(f"it holds {len(items)} Jobs, not one")
        document = items[0]
    if not isinstance(document, dict) or not document:
        raise ValueError("it does not hold a Job")
    if (kind := document.get("kind", "Job")) != "Job":
        raise ValueError(f"it holds a {kind}, not a Job")
    return document
