"""The two rulebooks: the seed's, which is the default, and upstream Hive's, exactly.

`Fleet.spec.pools.compatibility` chooses. Everything in which the two differ is named here and nowhere else.
"""

from datetime import timedelta

from muster.data.times import try_duration
from muster.dataclass import dataclass
from muster.fleet.settings import Settings

DEFAULT_BACKOFF = timedelta(minutes=5)
LONGEST_BACKOFF = timedelta(hours=4)


@dataclass(frozen=True, slots=True)
class Rules:
    """The differences between the rulebooks.

    `stamps_creation`: an object without a creationTimestamp counts as created when first seen; upstream sorts it before
    all others. `assigns_stale`: a claim may get a cluster of an older pool version. `links_leaving_clusters`: a claim
    without a cluster is linked to one that names it and is being removed. `resumes_what_can_serve`: for a waiting claim
    a cluster is resumed that it can get, not the oldest. `serves_deleting_claims`: a claim that is being deleted still
    gets a cluster. `starved_by_dependencies`: a creation that is not possible keeps broken clusters from being deleted.
    `checks_dependencies_always`: MissingDependencies is kept current between creations. `stop_timeout`:
    powerstateTransitionToHibernatingTimeout exists. `names_conflicts`: a claim's condition says that its cluster went
    to another. `asks_budgets`: a DisruptionBudget may hold a replacement. `keeps_failures`: a reported failure to stop
    stays (upstream tries again), as does any failure while the cluster is deleted because of it. `first_backoff` and
    `longest_backoff`: limits of the wait before a replacement is replaced again; None: no wait.
    """

    stamps_creation: bool
    assigns_stale: bool
    links_leaving_clusters: bool
    resumes_what_can_serve: bool
    serves_deleting_claims: bool
    starved_by_dependencies: bool
    checks_dependencies_always: bool
    stop_timeout: bool
    names_conflicts: bool
    asks_budgets: bool
    keeps_failures: bool
    first_backoff: timedelta | None
    longest_backoff: timedelta


UPSTREAM = Rules(
    stamps_creation=False,
    assigns_stale=True,
    links_leaving_clusters=True,
    resumes_what_can_serve=False,
    serves_deleting_claims=True,
    starved_by_dependencies=True,
    checks_dependencies_always=False,
    stop_timeout=False,
    names_conflicts=False,
    asks_budgets=False,
    keeps_failures=False,
    first_backoff=None,
    longest_backoff=LONGEST_BACKOFF,
)


def rules_of(settings: Settings) -> Rules:
    """Return a fleet's rulebook, with its own back-off if set."""
    if settings.get("pools", "compatibility") == "hive":
        return UPSTREAM
    return Rules(
        stamps_creation=True,
        assigns_stale=False,
        links_leaving_clusters=False,
        resumes_what_can_serve=True,
        serves_deleting_claims=False,
        starved_by_dependencies=False,
        checks_dependencies_always=True,
        stop_timeout=True,
        names_conflicts=True,
        asks_budgets=True,
        keeps_failures=True,
        first_backoff=_span(settings, "initial", DEFAULT_BACKOFF),
        longest_backoff=_span(settings, "maximum", LONGEST_BACKOFF),
    )


def _span(settings: Settings, name: str, default: timedelta) -> timedelta:
    """A duration of `pools.replacementBackoff`."""
    span = try_duration(settings.get("pools", "replacementBackoff", name))
    return default if span is None else span
