"""What only comes from several branches together: each alone, pairs, and three at a time.

Branches are merged as git does, in a scratch repository, and each merge is evaluated like any branch. An object that is
decided differently because of several branches is looked at by the incremental run of each of them. So sets whose runs
look at no common object, and that change no common file, are not tried.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import combinations
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.printable import counted, printable
from muster.data.source import Place
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.plan.plan import branch
from muster.features.whatif.rehearsal import Rehearsal
from muster.git.changes import changed_paths
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.net.deadline import Deadline
from muster.run.progress import RunStep, doing
from muster.run.transitions.compare_revisions import Comparison
from muster.run.transitions.placement_moves import derivation_of
from muster.run.transitions.subjects import subject_line

#: How many branches are tried together at most.
MOST_TOGETHER: Final = 3
_CLEAN, _CONFLICT = 0, 1
_NO_BASE: Final = 1


@dataclass(frozen=True, slots=True)
class BranchEffects:
    """What branches change together: `values` by what it is (`Placement/shop/web: condition PlacementSatisfied`), with
    what it becomes; `looked_at`: what their run decided; `paths`: the files that they change; `found`: new findings."""

    subject: str
    values: Mapping[str, str]
    before: Mapping[str, str]
    looked_at: frozenset[ObjectId]
    paths: frozenset[str]
    found: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class TogetherOnly:
    """A value that none of some branches brings about without the others, and what it is before. `alone`: the branches
    that change it to something else, or change it at all if they undo it together."""

    branches: tuple[str, ...]
    what: str
    before: str
    after: str
    alone: tuple[tuple[str, str], ...]


@dataclass
class BranchesTogether:
    """The effects of each set of branches that was tried; `found`: conflicts, and what is wrong with a set and none
    within it; `skipped`: how many sets share nothing; `untried`: for how many there was no time."""

    now: datetime
    effects: dict[tuple[str, ...], BranchEffects] = field(default_factory=dict)
    only: list[TogetherOnly] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    skipped: int = 0
    untried: int = 0


def plan_together(
    trial: Rehearsal, branches: Mapping[str, str], now: datetime, deadline: Deadline | None = None
) -> BranchesTogether:
    """Try branches, by name, with their commits, on top of a rehearsal's commit: alone, in pairs, and three at a time;
    after the deadline no further sets.

    A branch that does not merge is a finding, and so are branches that do not merge with each other.
    """
    for _ in range(2):  # what is due without any branch is not their doing; nor are pulses, which count as sent then
        trial.step(now)
    together, commits = BranchesTogether(now), dict[tuple[str, ...], str]()
    for size in range(1, min(MOST_TOGETHER, len(branches)) + 1):
        sets = list(combinations(sorted(branches), size))
        for number, names in enumerate(sets):
            doing(RunStep.REHEARSING, number, len(sets))
            if size > 1 and not _share(together, names):
                together.skipped += all((name,) in together.effects for name in names)
                continue
            if size > 1 and deadline is not None and deadline.expired:
                together.untried += 1
                continue
            onto = commits[names[:-1]] if size > 1 else trial.commit
            merged = _merged(trial.repository, onto, branches[names[-1]])
            if isinstance(merged, str):
                commits[names] = merged
                together.effects[names] = effects = _effects(trial, merged, now)
                together.found.extend(_new_findings(together, names, effects))
                if size > 1:
                    together.only.extend(_only_together(together, names, effects))
            else:
                together.found.append(_conflict(names, merged))
    return together


def _smaller_sets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [subset for size in range(1, len(names)) for subset in combinations(names, size)]


def _share(together: BranchesTogether, names: tuple[str, ...]) -> bool:
    """Were all smaller sets tried, and do these branches have a changed file in common, or an object that their runs
    look at?"""
    smaller = _smaller_sets(names)
    if any((name,) not in together.effects for name in names):
        return False
    alone = [together.effects[name,] for name in names]
    objects = frozenset.intersection(*(effects.looked_at for effects in alone))
    paths = frozenset.intersection(*(effects.paths for effects in alone))
    return bool(objects or paths) and all(subset in together.effects for subset in smaller)


def _merged(repository: Repository, onto: str, commit: str) -> str | list[str]:
    """The commit of a merge; or the paths that conflict, none if no commit is in both histories. RepositoryError if git
    is older than 2.38."""
    done = repository.git.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", onto, commit)
    if done.status not in (_CLEAN, _CONFLICT):
        if repository.git.run("merge-base", onto, commit).status == _NO_BASE:
            return []
        why = done.stderr.strip().splitlines()[:1]
        raise RepositoryError(f"git cannot merge {commit[:12]}: {''.join(why)}", "--with needs git 2.38")
    tree, *paths = done.stdout.decode(errors="replace").rstrip("\0").split("\0")
    if done.status == _CONFLICT:
        return sorted(path for path in paths if path)
    arguments = ("commit-tree", "-m", "Merged", "-p", onto, "-p", commit, tree)
    return repository.git.output(*arguments).decode().strip()


def _effects(trial: Rehearsal, merged: str, now: datetime) -> BranchEffects:
    compared = branch(trial.repository, trial.commit, merged, trial.heard, now, trial.state, trial.remembered)
    values, before = {}, {}
    for what, was, becomes in _values(compared.comparison):
        values[what], before[what] = becomes, was
    looked_at = derivation_of(compared.head).looked_at
    paths = frozenset(change.path for change in changed_paths(trial.repository, trial.commit, merged))
    findings = compared.comparison.found
    return BranchEffects(subject_line(compared.comparison.changes), values, before, looked_at, paths, findings)


def _values(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """What differs, what it was and what it becomes. People's own edits are no effects."""
    for change in comparison.changes:
        if change.fact.sort not in ("set", "label", "annotation", "edited", "held"):
            yield f"{change.object}: {change.field}", change.before or "-", change.after or "gone"
    yield from ((f"{item.object}: {item.effect}", "-", f"held: {item.reason}") for item in comparison.held)
    yield from ((f"{item.object}: {item.effect} held", "held", "no longer") for item in comparison.released)
    yield from ((_what(item), "-", "a finding") for item in comparison.found)


def _what(item: Finding) -> str:
    return f"{item.code}: {item.message}"


def _new_findings(together: BranchesTogether, names: tuple[str, ...], effects: BranchEffects) -> Iterator[Finding]:
    """The findings of a set that no smaller one has, with the names of its branches."""
    before = {what for subset in _smaller_sets(names) for what in together.effects[subset].values}
    for item in effects.found:
        if _what(item) not in before:
            yield replace(item, message=f"{' and '.join(names)}: {item.message}")


def _only_together(
    together: BranchesTogether, names: tuple[str, ...], effects: BranchEffects
) -> Iterator[TogetherOnly]:
    smaller = _smaller_sets(names)
    values_of = {subset: together.effects[subset].values for subset in smaller}
    for what, becomes in sorted(effects.values.items()):
        if all(values.get(what) != becomes for values in values_of.values()):
            alone = tuple((name, values_of[name,][what]) for name in names if what in values_of[name,])
            yield TogetherOnly(names, what, effects.before[what], becomes, alone)
    for what in sorted({what for name in names for what in values_of[name,]} - effects.values.keys()):
        # Undone; but not if a smaller set undoes it already.
        changed = [name for name in names if what in values_of[name,]]
        if all(what in values for subset, values in values_of.items() if set(changed) & set(subset)):
            before = together.effects[changed[0],].before[what]
            yield TogetherOnly(names, what, before, before, tuple((name, values_of[name,][what]) for name in changed))


def _conflict(names: tuple[str, ...], paths: Sequence[str]) -> Finding:
    who = " and ".join(names)
    if not paths:
        message = f"{who} cannot be merged: no commit is in both histories"
        return finding(Code.BRANCHES_CONFLICT, message, Place(""), hint="in a shallow clone, fetch more of them")
    path = paths[0]
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    message = f"{who} {'do' if len(names) > 1 else 'does'} not merge: {path}{more}"
    hint = "rebase one of them onto the other" if len(names) > 1 else "rebase it onto the branch that it goes to"
    return finding(Code.BRANCHES_CONFLICT, message, Place(path, 1, 1), hint=hint)


def together_text(together: BranchesTogether) -> str:
    """Return what each branch changes, and what only comes from several."""
    lines = [
        f"{name}: {effects.subject or 'changes nothing'}"
        for (name, *more), effects in sorted(together.effects.items())
        if not more
    ]
    lines += [_only_line(entry) for entry in together.only]
    sets = len(together.effects) - sum(len(names) == 1 for names in together.effects)
    skipped = f"; {together.skipped} share nothing" if together.skipped else ""
    untried = f"; for {together.untried} more there was no time: --within" if together.untried else ""
    tried = f"{counted(sets, 'set')} of branches tried together{skipped}{untried}"
    if not together.only:
        lines.append(f"Nothing comes from several together: {tried}, as of {format_time(together.now)}.")
    else:
        lines.append(f"{tried}, as of {format_time(together.now)}.")
    return "".join(f"{printable(line)}\n" for line in lines)


def _only_line(entry: TogetherOnly) -> str:
    who = f"{', '.join(entry.branches[:-1])} and {entry.branches[-1]}"
    if entry.before == entry.after:
        undone = "; ".join(f"{name} alone: {value}" for name, value in entry.alone)
        return f"{who}: {entry.what} stays {entry.after}; {undone}"
    others = "; ".join(f"{name} alone: {value}" for name, value in entry.alone)
    nobody = "neither alone" if len(entry.branches) == 2 else "no two of them"
    return f"{who}: {entry.what} {entry.before} -> {entry.after}; {others or nobody}"


def together_document(together: BranchesTogether) -> Tree:
    """Return the same as JSON data."""
    return {
        "now": format_time(together.now),
        "skipped": together.skipped,
        "untried": together.untried,
        "sets": [
            {"branches": list(names), "summary": entry.subject, "values": dict(entry.values)}
            for names, entry in together.effects.items()
        ],
        "together": [
            {
                "branches": list(entry.branches),
                "what": entry.what,
                "before": entry.before,
                "after": entry.after,
                "alone": dict(entry.alone),
            }
            for entry in together.only
        ],
    }
