"""How a cluster is doing with what it was given, from run to run: one rule for the revisions of Rollouts and for works.

- A state counts from the run that first sees it. The times of an agent's conditions do not count: agents keep the time
  of a condition that has one value for two templates, reports may be late, and clocks may be wrong.
- A cluster in flight, reported or not, is in flight since it was given the revision or the work.
- A failed cluster stays Failed until it succeeds.
- A silent cluster keeps its state, with its last sign of life. A success that had not soaked by then is in flight since
  then (`judged`): silence neither soaks nor succeeds, and its deadline runs.
- A cluster that is heard again begins anew: its soak and its deadline count from then.

So `since` never goes back.
"""

from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.data.times import try_time
from muster.data.tree import dig
from muster.dataclass import dataclass
from muster.fleet.leases import silent_after
from muster.fleet.view import View
from muster.rules.progress.step import FAILED, PROGRESSING, TIME_OUT, TO_APPLY

_IN_FLIGHT = (TO_APPLY, PROGRESSING)


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a cluster, since when, and its last sign of life while it is silent."""

    state: str
    since: datetime
    silent_after: datetime | None = None


def heard(before: Progress, state: str, now: datetime) -> Progress:
    """The progress of a cluster that speaks. `before`: the last run's; `state`: what its reports say now."""
    earlier = _without_deadline(before.state)
    if earlier == FAILED and state in _IN_FLIGHT:
        return Progress(FAILED, before.since)
    same = state == earlier or (state in _IN_FLIGHT and earlier in _IN_FLIGHT)
    speaks_again = before.silent_after is not None and state != FAILED
    return Progress(state, before.since if same and not speaks_again else now)


def unheard(before: Progress, last_sign: datetime) -> Progress:
    """The progress of a silent cluster. `last_sign`: its last sign of life."""
    return Progress(_without_deadline(before.state), before.since, before.silent_after or last_sign)


def _without_deadline(state: str) -> str:
    """The state before its deadline ended. The deadline is judged again in each run, because people may change it."""
    return PROGRESSING if state == TIME_OUT else state


def is_silent(view: View, cluster: ObjectId) -> bool:
    """Is nothing heard of the cluster? What was never heard of is silent, too."""
    return _availability(view, cluster) not in ("True", "False")


def is_available(view: View, cluster: ObjectId) -> bool:
    """Is the cluster available?"""
    return _availability(view, cluster) == "True"


def last_sign_of(view: View, cluster: ObjectId, now: datetime) -> datetime:
    """The last sign of life of a silent cluster; without a record, when it became Unknown."""
    began = dig(view.now(cluster, "status", "conditions", (kind_of(cluster).headline,)), "lastTransitionTime")
    return min(try_time(silent_after(view, cluster)) or try_time(began) or now, now).replace(microsecond=0)


def _availability(view: View, cluster: ObjectId) -> object:
    return dig(view.now(cluster, "status", "conditions", (kind_of(cluster).headline,)), "status")
