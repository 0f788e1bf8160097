"""A part of a fleet, decided by itself: what changed and what is due, beside what stands of all else."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from enum import Enum
from functools import cached_property

from muster.check.validate import validate
from muster.engine.answer import Answer, facts_of, require_record
from muster.engine.homes import CONTEXT, Kept, Summary, keep, kind_name, read_summary
from muster.engine.overlay import Overlay
from muster.engine.question import Question, Touched, WholeNeeded, default_home
from muster.engine.records import get_findings
from muster.engine.rest import rest_wakes
from muster.engine.run import Run
from muster.engine.settled import Files
from muster.engine.state import File, Known, State
from muster.fleet.assemble import assemble
from muster.fleet.beyond import Beyond
from muster.fleet.fleet import Fleet
from muster.fleet.hearing import hear
from muster.fleet.neighbourhoods import homes
from muster.fleet.settings import Settings
from muster.gitio.agents import AgentRef
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import ALL, CLUSTERS, FLEET, Kind, is_cluster, kind_of
from muster.model.locations import FOLDER
from muster.model.snapshot import agents_of
from muster.model.tree import Tree
from muster.policy.compiling import compile_remedies
from muster.policy.lazy import cost_share
from muster.policy.ruled import Ruled


class Reach(Enum):
    """How far a run looks beyond what was touched."""

    NEAR = "near"
    WIDE = "wide"


@dataclass(frozen=True, slots=True)
class Checked:
    """A part of a fleet with what is wrong in it, and what is to be kept of that: see `Answer`."""

    fleet: Ruled
    kept: Kept
    totals: Counter[str]
    loose: tuple[Finding, ...]
    gone: frozenset[int]


@dataclass
class Part:
    """A part of a fleet, decided: the `chosen` neighbourhoods, which grow until they hold all that lies in one file or
    goes by one name with any of them. One that only checks `decides` nothing."""

    question: Question
    state: State
    facts: Mapping[str, Tree]
    touched: Touched
    chosen: frozenset[int]
    reach: Reach
    decides: bool = True
    known: Mapping[str, Known] = field(default_factory=dict)
    paths: frozenset[str] = frozenset()
    refs: tuple[AgentRef, ...] = ()
    mine: frozenset[str] = frozenset()

    def answer(self) -> Answer | None:
        """Decide; None where it turns out that more has to be looked at (`chosen`, then)."""
        from muster.engine.settle import settle_by

        question, state = self.question, self.state
        self._close()
        with question.snapshot(self.paths, self.refs) as snapshot:
            self._snapshot, self._read = snapshot, assemble(snapshot)
            if not self._gather(self._read):
                return None
            settled = settle_by(self._evaluate)
        run = settled.last
        if not settled.rested or run.context is None:
            raise WholeNeeded("not all came to rest")
        own = self._own_findings(settled.findings)
        require_record(run.fleet, own)
        if self.reach is Reach.WIDE and not self._stood(run):
            return None
        kept = keep(
            run.fleet, run.context, run.now, own, written=settled.files.keys(), there=settled.first.fleet.parts
        )  # fmt: skip
        totals = self._totals_of_others() + kept.totals
        self._require_same_prices(run.fleet.settings, totals)
        if self.reach is Reach.NEAR and not self._cut_off(kept):
            return None
        if set(state.of_names(name for home in kept.homes for name in home.names)) - self.chosen:
            raise WholeNeeded("a neighbourhood has a name of another")
        facts = facts_of(question, run, totals, (*kept.loose, *self._loose))
        if self.reach is Reach.NEAR:
            facts |= {name: self.facts[name] for name in ("lease floor", "holds")}
        looked_at = f"{len(kept.homes)} neighbourhoods, {self.reach.value}"
        return Answer(settled, facts, kept, self.chosen, looked_at)

    def check(self, base: "Callable[[Collection[str]], Fleet | None]") -> Checked:
        """Check, and decide nothing; `base` gives the same files as they were, for rules that speak of changes."""
        question, state = self.question, self.state
        while True:
            self._close()
            with question.snapshot(self.paths, self.refs) as snapshot:
                self._snapshot, self._read = snapshot, assemble(snapshot)
                if self._gather(self._read):
                    break
        beyond = replace(self._beyond(self._read), standing=self._standing)
        require_record(self._read, ())
        before = base(self.paths)
        ruled = validate(replace(self._read, beyond=beyond), before, compile_remedies)
        if ruled.settings.obeyed and any(FLEET.has(id_) for id_ in ruled.broken):
            raise WholeNeeded("the Fleet is broken")
        require_record(ruled, ruled.findings)
        there = before.parts if before is not None else ()
        own = self._with_the_others(ruled).findings
        kept = keep(ruled, None, question.now, self._own_findings(own), written=self.touched.labels, there=there)
        totals = self._totals_of_others() + kept.totals
        if set(state.of_names(name for home in kept.homes for name in home.names)) - self.chosen:
            raise WholeNeeded("a neighbourhood has a name of another")
        return Checked(ruled, kept, totals, (*kept.loose, *self._loose), self.chosen)

    # -- what to look at

    def _close(self) -> None:
        """Choose also what lies in one file with anything that is chosen."""
        state = self.state
        while True:
            more = state.sharing(self.chosen)
            if self.reach is Reach.NEAR:
                there, _ = state.of_files(file.path for file in state.context() if not file.ref)
                more |= {home.id for home in state.kept(there).values() if not home.shared}
            if more <= self.chosen:
                break
            self.chosen |= more
        self.known = state.kept(self.chosen)
        if len(self.known) > self.question.most * state.count():
            raise WholeNeeded("most of it changed")
        if self.reach is Reach.NEAR and any(home.shared for home in self.known.values()):
            self.reach = Reach.WIDE
            self.chosen |= state.whole()
            self._close()
            return
        files = state.files(self.chosen) | (state.context() if self.reach is Reach.NEAR else set[File]())
        self.paths = frozenset(file.path for file in files if not file.ref) | self.touched.unknown
        shorts = {file.ref for file in files if file.ref}
        names = state.names(self.chosen) | self.touched.names
        self.refs = tuple(
            ref for ref in self.question.heard.refs if ref.short in shorts or ref.cluster in names
        )  # fmt: skip
        if any(ref.refused for ref in self.refs):
            raise WholeNeeded("a ref that does not count is among them")

    def _gather(self, fleet: Fleet) -> bool:
        """Find out what is looked at of what was read; False where it turns out to be a part of what was not."""
        state = self.state
        if any(
            kind_of(part.id) in CONTEXT and part.source.path in self.touched.labels
            and not part.source.path.startswith(FOLDER)
            for part in fleet.parts
        ) or self._context_gone():  # fmt: skip
            raise WholeNeeded("a policy or a setting changed")
        where = homes(fleet)
        ids = {*where.of, *(part.id for part in fleet.parts)}
        home_of = {id_: where.of.get(id_) or where.names.get(default_home(id_), default_home(id_)) for id_ in ids}
        if self.reach is Reach.NEAR:
            context_files = {file.path for file in state.context()}
            shared_names = state.names_of_shared()
            self.mine = frozenset(home for home in home_of.values() if home not in shared_names)
            groups = self._groups(where.names)
            if any(groups.get(home, {home}) & shared_names for home in self.mine):
                self.mine = frozenset(h for h in self.mine if not groups.get(h, {h}) & shared_names)
            strangers = {
                part.source.path for part in fleet.parts
                if home_of[part.id] not in self.mine and part.source.path not in context_files
            }  # fmt: skip
            if strangers & self.touched.labels:
                self.reach = Reach.WIDE
                return self._again(state.whole())
        else:
            self.mine = frozenset(home_of.values())
            groups = self._groups(where.names)
        names = {name for home in self.mine for name in groups.get(home, {home})}
        keys = {str(id_) for id_, home in home_of.items() if home in self.mine}
        more = state.of_names(names | keys) - self.chosen
        if more:
            return self._again(more)
        self._standing = frozenset(id_ for id_, home in home_of.items() if home not in self.mine)
        return True

    def _groups(self, names: Mapping[str, str]) -> dict[str, set[str]]:
        groups: dict[str, set[str]] = {}
        for name, home in names.items():
            groups.setdefault(home, {home}).add(name)
        return groups

    def _again(self, more: Collection[int]) -> bool:
        self.chosen |= frozenset(more)
        return False

    def _context_gone(self) -> bool:
        """Whether a file of policies or settings changed that people write."""
        context = {file.path for file in self.state.context() if not file.path.startswith(FOLDER)}
        return bool(context & self.touched.labels)

    # -- deciding

    @cached_property
    def _summaries(self) -> Mapping[str, Summary]:
        """What stands, by neighbourhood."""
        if self.reach is Reach.NEAR or not self.decides:
            return {}
        return {name: read_summary(text) for name, text in self.state.summaries(self.chosen)}

    @cached_property
    def _loose(self) -> tuple[Finding, ...]:
        """What was found of no neighbourhood at the last run, in files that are not looked at."""
        found = get_findings(self.facts["loose"])
        read = {f"{ref.short}:" for ref in self.refs}
        return tuple(
            one for one in found
            if (one.file or self.reach is Reach.NEAR)
            and one.file not in self.touched.labels
            and one.file not in self.paths
            and not any(one.file.startswith(label) for label in read)
        )  # fmt: skip

    @cached_property
    def _others(self) -> tuple[Finding, ...]:
        """What is wrong with all that is not looked at."""
        kept = (one for tree in self.state.findings(self.chosen) for one in get_findings(tree))
        return (*kept, *self._loose)

    def _own_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        others = set(self._others)
        return [one for one in findings if one not in others]

    def _evaluate(self, files: Files, restless: Mapping[ObjectId, Finding]) -> Run:
        question, state = self.question, self.state
        if restless:
            raise WholeNeeded("not all come to rest")
        below = self._snapshot
        part = assemble(Overlay(below, files)) if files else self._read
        beyond = self._beyond(part)
        ruled = validate(replace(part, beyond=beyond))
        if ruled.settings.obeyed and any(FLEET.has(id_) for id_ in ruled.broken):
            raise WholeNeeded("the Fleet is broken")
        ruled = hear(ruled, agents_of(below))
        require_record(ruled, ())
        known = list(self._summaries.values())
        standing = {id_: obj for summary in known for id_, obj in summary.objects.items()}
        beyond = replace(beyond, standing=self._standing | standing.keys())
        fleet = replace(
            ruled,
            objects={**standing, **ruled.objects},
            previous={**{id_: {} for id_ in standing if is_cluster(id_)}, **ruled.previous},
            decided={id_: decisions for summary in known for id_, decisions in summary.decided.items()},
            held=tuple(held for summary in known for held in summary.held),
            wakes=rest_wakes(state, self.chosen),
            published=question.remembered.memory,
            beyond=beyond,
        )
        from muster.engine.evaluate import decide

        run = decide(fleet, question.now.astimezone(UTC).replace(microsecond=0), restless, question.commit)
        return replace(run, fleet=self._with_the_others(run.fleet))

    def _with_the_others(self, fleet: Ruled) -> Ruled:
        """The fleet with what is wrong elsewhere; what it says of what is there to be read only, is not its to say."""
        own: Iterable[Finding] = fleet.findings
        if self.reach is Reach.NEAR:
            standing, read = fleet.beyond.standing, {part.source.label for part in fleet.parts}
            files = {part.source.label for part in fleet.parts if part.id not in standing} | self.touched.labels
            own = [
                one for one in fleet.findings
                if one.file in files
                or (not one.file and one.object is not None and one.object not in standing)
                or (":" in one.file and one.file not in read)
            ]  # fmt: skip
        return replace(fleet, findings=(*own, *self._others))

    def _totals_of_others(self) -> Counter[str]:
        """What the fleet is as a whole, without what is looked at."""
        totals: Counter[str] = Counter(self.facts["totals"])
        for home in self.known.values():
            totals.subtract(home.totals)
        return totals

    def _beyond(self, part: Fleet) -> Beyond:
        totals = self._totals_of_others()
        present: Counter[str] = Counter()
        for id_, obj in part.objects.items():
            if id_ in self._standing and id_ not in part.broken:
                present[kind_name(obj.kind)] += 1
        for summary in self._summaries.values():
            present.update(kind_name(obj.kind) for obj in summary.objects.values())
        near = self.reach is Reach.NEAR
        return Beyond(
            counts={kind: n for kind in ALL if (n := totals[f"kind {kind_name(kind)}"] - present[kind_name(kind)]) > 0},
            clusters=frozenset(
                id_.name for summary in self._summaries.values() for id_ in summary.objects if is_cluster(id_)
            ),
            conditions=frozenset(
                name.removeprefix("type ") for name, count in totals.items() if count > 0 and name.startswith("type ")
            ),
            adapters=totals["adapters"] > 0,
            derived=totals["derived"] > 0,
            asked=not near,
            lease_floor=self.facts["lease floor"] if near else 0,
            disrupted=frozenset(id_ for summary in self._summaries.values() for id_ in summary.disrupted),
        )

    # -- whether it does

    def _stood(self, run: Run) -> bool:
        """Whether what stands was right to stand. Else what has to be looked at too is chosen."""
        assert run.context is not None
        if run.context.lease_floor != self.facts["lease floor"]:
            raise WholeNeeded("leases last longer or shorter than before")
        summaries = self._summaries
        for summary in summaries.values():
            if any(run.fleet.decided.get(id_) is not decided for id_, decided in summary.decided.items() if decided):
                raise WholeNeeded("a wide stage decides of a cluster")
        if self.facts["holds"] or run.context.allowance.holding:
            pressed = {name for name, summary in summaries.items() if summary.pressed}
            if pressed:
                return self._again(self.state.of_names(pressed))
        return True

    def _cut_off(self, kept: Kept) -> bool:
        """Whether the rest of the fleet sees nothing new of what was looked at."""
        then = {name: home.digest for name, home in self.known.items()}
        return {home.name: home.digest for home in kept.homes} == then and not any(
            home.shared or home.troubled for home in kept.homes
        )

    def _require_same_prices(self, settings: Settings, totals: Counter[str]) -> None:
        """What a policy may cost for one object depends on how many there are, in powers of two."""

        def prices(counts: Mapping[str, int]) -> list[int]:
            groups: list[tuple[Kind, ...]] = [CLUSTERS, *((kind,) for kind in ALL)]
            numbers = (sum(counts.get(f"kind {kind_name(kind)}", 0) for kind in kinds) for kinds in groups)
            return [cost_share(settings.policy_cost, settings.expression_cost, number) for number in numbers]

        if prices(totals) != prices(self.facts["totals"]):
            raise WholeNeeded("policies cost more or less than before")
        for name in ("adapters", "derived"):
            if bool(totals[name]) != bool(self.facts["totals"].get(name)):
                raise WholeNeeded("the first or the last of its kind")
