"""A compiled Rollout: its stages, gates and revision, and each cluster's entry.

Contract: muster decides which revision each cluster should have, and records it in the cluster's derived part, under
`status.muster.rollouts`. Something else brings it there: whoever reads the derived file, or a Projection. A cluster
*has* the revision, and has it in good health, when the gates say so: CEL over what its agents report. Without any gate
it is enough that the cluster is available.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from muster import cel
from muster.cel.types import STRING, TIMESTAMP, MapType, ObjectType, required
from muster.data.codes import Code
from muster.data.decision import Because, Input
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import FLEET, MANAGED_CLUSTER, MANIFEST_WORK, PLACEMENT, ROLLOUT
from muster.data.times import format_time, try_time
from muster.data.tree import At, Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.policies.environments import UNBOUNDED, Bounds, policy_environment
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.selectors import LabelSelector, selector_mistakes
from muster.rules.policies.types import object_type, spec_type
from muster.rules.progress.strategy import (
    BODIES,
    RolloutLimits,
    Strategy,
    StrategyError,
    read_limits,
    read_strategy,
)

if TYPE_CHECKING:
    from muster.rules.progress.step import ClusterStatus

PAUSE, ROLLBACK = "Pause", "Rollback"
#: More than any cluster has, for cost estimates.
_MOST_WORKS = 256


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition for success. `fails`: a cluster that does not pass has failed, and is not waited for."""

    name: str
    when: cel.Program
    at: At
    fails: bool
    because: Because


@dataclass(frozen=True, slots=True)
class RolloutStage:
    """A stage. `groups` empty: any decision group; `windows`: names of Calendars."""

    name: str
    selector: LabelSelector = field(default_factory=LabelSelector)
    groups: frozenset[str] = frozenset()
    sort_by: str = ""
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    gates: tuple[Gate, ...] = ()
    approval: bool = False
    windows: tuple[str, ...] = ()

    def selects(self, labels: Mapping[str, str], group: str) -> bool:
        """Does it select a cluster with these labels, in this decision group?"""
        return self.selector.matches(labels) and (not self.groups or group in self.groups)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A Rollout. `computed` gives the revision if it is not `revision`; with a `strategy` there is one stage, and the
    strategy decides the order."""

    id: ObjectId
    source: Object
    placement: ObjectId
    revision: str
    computed: cel.Program | None
    strategy: Strategy | None
    stages: tuple[RolloutStage, ...]
    on_failure: str
    paused: bool

    @property
    def key(self) -> str:
        """The Rollout's name in the entries of clusters: NAMESPACE/NAME."""
        return f"{self.id.namespace}/{self.id.name}"

    def stage(self, name: str) -> RolloutStage:
        """The stage of this name; for an unknown one, the first."""
        return next((stage for stage in self.stages if stage.name == name), self.stages[0])

    @property
    def because(self) -> Because:
        """Why its clusters have what they have, if no single gate decides."""
        return Because(str(self.id), (Input(("spec",), self.id),))


@dataclass(frozen=True, slots=True)
class ClusterRollout:
    """A cluster's entry: the revision that it should have, and how it is doing with it since when.

    `gate`: the gate that it does not pass; empty if there is none. `silent_after`: the last sign of life of a silent
    cluster.
    """

    revision: str
    stage: str
    state: str
    since: datetime
    gate: str = ""
    silent_after: datetime | None = None

    @classmethod
    def read(cls, entry: Tree) -> "ClusterRollout | None":
        """Parse an entry; None for what is none."""
        since = try_time(dig(entry, "since"))
        if since is None:
            return None
        texts = {name: str(entry.get(name, "")) for name in ("revision", "stage", "state", "gate")}
        silent_after = try_time(dig(entry, "silentAfter"))
        return cls(since=since, silent_after=silent_after, **texts)

    def entry(self) -> Tree:
        """The form stored in the cluster's derived part."""
        gate = {"gate": self.gate} if self.gate else {}
        silent = {"silentAfter": format_time(self.silent_after)} if self.silent_after is not None else {}
        return {
            "revision": self.revision,
            "stage": self.stage,
            "state": self.state,
            "since": format_time(self.since),
            **gate,
            **silent,
        }

    def status(self, cluster: str) -> "ClusterStatus":
        """How the cluster is doing, for the next step."""
        from muster.rules.progress.step import ClusterStatus  # the hook takes no step

        return ClusterStatus(cluster, self.state, self.since, silent_after=self.silent_after)


#: The variables of gates, besides those of policies.
GATE_VARIABLES: Final = {
    "rollout": ObjectType(
        "rollout", required(name=STRING, namespace=STRING, revision=STRING, stage=STRING, since=TIMESTAMP)
    ),
    "works": MapType(STRING, object_type(MANIFEST_WORK), _MOST_WORKS),
}


def compile_rollout(obj: Object, bounds: Bounds = UNBOUNDED) -> tuple[Rollout | None, list[Finding]]:
    """Compile one Rollout; None if it has an error: its clusters then keep what they have."""
    compiler = Compiler(obj, policy_environment((MANAGED_CLUSTER,), {}, GATE_VARIABLES, bounds, params={}))
    common = tuple(_gates(obj, compiler, ("spec",)))
    windows = tuple(obj.spec.get("windows") or ())
    strategy = None
    try:
        if "stages" not in obj.spec:
            strategy = read_strategy(obj.spec.get("strategy"))
    except StrategyError as error:
        at: At = ("spec", "strategy", *error.path)
        compiler.refuse(at, Code.MALFORMED_VALUE, f"{obj.id} cannot be followed: {error.message}", _KEPT)
    if strategy is not None:
        body = BODIES[strategy.type]
        limits = mapping_at(obj.spec, "strategy", body)
        compiler.findings.extend(_concurrency(obj, limits, ("spec", "strategy", body)))
        stages: tuple[RolloutStage, ...] = (
            RolloutStage(strategy.type, limits=strategy.limits, gates=common, windows=windows),
        )
    else:
        stages = tuple(_stages(obj, compiler, common, windows))
    revision = obj.spec["revision"]
    computed = _computed(obj, compiler) if isinstance(revision, dict) else None
    rollout = Rollout(
        obj.id,
        obj,
        PLACEMENT.id(obj.spec["placementRef"]["name"], obj.id.namespace),
        revision if isinstance(revision, str) else "",
        computed,
        strategy,
        stages,
        obj.spec.get("onFailure", PAUSE),
        obj.spec.get("paused") is True,
    )
    return (None if compiler.failed else rollout), compiler.findings


_KEPT: Final = "until this is fixed its clusters keep what they have"


def _computed(obj: Object, compiler: Compiler) -> cel.Program:
    variables = {"self": object_type(ROLLOUT), "fleet": spec_type(FLEET)}
    of_revision = Compiler(obj, cel.Env(variables=variables, max_cost=compiler.environment.max_cost), compiler.findings)
    return of_revision.string(("spec", "revision", "from"))


def _stages(
    obj: Object, compiler: Compiler, common: tuple[Gate, ...], windows: tuple[str, ...]
) -> Iterator[RolloutStage]:
    names = set[str]()
    for index, stage in enumerate(mappings_at(obj.spec, "stages")):
        at: At = ("spec", "stages", index)
        name = stage["name"]
        if name in names:
            hint = "give every stage a name of its own"
            compiler.refuse((*at, "name"), Code.MALFORMED_VALUE, f"two stages are called {name!r}", hint)
        names.add(name)
        compiler.findings.extend(_concurrency(obj, stage, at))
        for below, mistake in selector_mistakes(stage.get("selector")):
            compiler.refuse((*at, "selector", *below), Code.INVALID_SELECTOR, mistake, _KEPT)
        limits = RolloutLimits()
        try:
            limits = read_limits(stage)
        except StrategyError as error:
            compiler.refuse(
                (*at, *error.path), Code.MALFORMED_VALUE, f"stage {name!r} cannot be followed: {error.message}", _KEPT
            )
        yield RolloutStage(
            name,
            LabelSelector.parse(stage.get("selector")),
            frozenset(stage.get("decisionGroups") or ()),
            stage.get("sortBy", ""),
            limits,
            (*common, *_gates(obj, compiler, at)),
            stage.get("approval") is True,
            (*windows, *(stage.get("windows") or ())),
        )


def _concurrency(obj: Object, limits: Mapping[str, Tree], at: At) -> Iterator[Finding]:
    """A warning about a limit of zero, which is none."""
    if (size := limits.get("maxConcurrency")) in (0, "0%"):
        message = f"maxConcurrency: {size} means all clusters at once"
        hint = "remove it if that is meant; paused: true stops a Rollout"
        yield finding_at(obj, (*at, "maxConcurrency"), Code.CONCURRENCY_ZERO, message, hint)


def _gates(obj: Object, compiler: Compiler, at: At) -> Iterator[Gate]:
    holder: Tree = obj.spec if len(at) == 1 else mappings_at(obj.spec, "stages")[at[2]]  # type: ignore[index]
    for index, gate in enumerate(mappings_at(holder, "gate")):
        expression_path: At = (*at, "gate", index, "expression")
        because = Because(f"{obj.id}#{gate['name']}", (Input(expression_path, obj.id),))
        yield Gate(
            gate["name"], compiler.condition(expression_path), expression_path, gate.get("onFalse") == "Fail", because
        )


def gate_scope(rollout: Rollout, entry: ClusterRollout, works: Mapping[str, Tree]) -> Mapping[str, object]:
    """The values of a gate's own variables."""
    return {
        "rollout": {
            "name": rollout.id.name,
            "namespace": rollout.id.namespace,
            "revision": entry.revision,
            "stage": entry.stage,
            "since": entry.since,
        },
        "works": works,
    }
