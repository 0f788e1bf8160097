"""The two outages that docs/karmada.md tells, played: the text that muster gives at each point, by its name."""

import muster
from muster.run.transitions.transitions import commit_message, transitions_of
from tests.support.outages import Fleet

DERIVED = "derived/fleets/fleet.yaml"


def story() -> dict[str, str]:
    """Return every quoted text of the page."""
    told: dict[str, str] = {}
    fleet = Fleet(12, regional=True)
    fleet.evaluate()
    fleet.dark("eu-1", "eu-2", "eu-3", "eu-4")
    told["a region goes dark"] = _message(fleet.evaluate())
    fleet.heard("eu-1", "eu-2", "eu-3", "eu-4")
    told["the region is back"] = _message(fleet.evaluate(minutes=20))

    fleet.dark(*(f"{region}-{number}" for region in ("eu", "us", "ap") for number in (1, 2, 3)))
    told["nine of twelve"] = _message(fleet.evaluate(minutes=20))
    told["the Fleet"] = fleet.derived[DERIVED].split("\n", 1)[1]
    told["a cluster"] = fleet.derived["derived/managedclusters/us-1.yaml"].partition("  muster:\n")[2]
    fleet.heard("us-1", "us-2", "us-3", "ap-1", "ap-2", "ap-3")
    told["six are heard of"] = _message(fleet.evaluate(minutes=5))
    told["the cooldown has passed"] = _message(fleet.evaluate(minutes=10))
    return told


def _message(run: muster.Run) -> str:
    """The commit message without its trailers."""
    return commit_message(run, transitions_of(run.fleet)).partition("\n\nMuster-Now")[0] + "\n"
