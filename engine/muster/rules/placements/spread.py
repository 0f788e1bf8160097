"""Chooses clusters by rank while constraints keep the topologies even.

Upstream has only the API. The rule here: next is the best-ranked cluster whose topology would then have at most
`maxSkew` more chosen clusters than the one with fewest. If there is none, a DoNotSchedule constraint ends the choice;
ScheduleAnyway constraints are violated as little as possible, the least important first. The topologies are those of
the clusters to choose from. A cluster without the label or claim is excluded by DoNotSchedule and comes last with
ScheduleAnyway.

Clusters with equal topologies form a cell. A heap has the cells that may be taken from, by the rank of their best
cluster; a cell with a full topology waits with it until the fewest have caught up.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from heapq import heappop, heappush

from muster.dataclass import dataclass
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.spec import Spread

#: The topologies of one cell, one per constraint; None without the label or claim.
Cell = tuple[str | None, ...]


def spread_out(candidates: Candidates, ranked: Sequence[str], limit: int, constraints: Sequence[Spread]) -> list[str]:
    """Return at most `limit` of the ranked clusters, in the order in which they are taken."""
    topologies = [(candidates.claims if c.claim else candidates.labels).values(c.key) for c in constraints]
    cells: dict[Cell, list[tuple[int, str]]] = defaultdict(list)
    for rank, name in enumerate(ranked):
        cells[tuple([topology.get(name) for topology in topologies])].append((rank, name))
    return _Choice(constraints, cells).take(limit)


@dataclass
class _Level:
    """One constraint's topologies: how many clusters of each are chosen, and how many topologies have each number."""

    constraint: Spread
    chosen: dict[str, int]
    tally: Counter[int]
    least: int = 0
    waiting: dict[str, list[Cell]] = field(default_factory=lambda: defaultdict(list))

    def excess(self, topology: str | None) -> int:
        """By how much one more cluster of this topology would exceed the skew; 0 if it may be taken."""
        if topology is None:
            return 1
        return max(0, self.chosen[topology] + 1 - self.least - self.constraint.max_skew)

    def add(self, topology: str | None) -> Iterator[Cell]:
        """Count one more; yield the cells that need no longer wait."""
        if topology is None:
            return
        number = self.chosen[topology]
        self.chosen[topology] += 1
        self.tally[number] -= 1
        self.tally[number + 1] += 1
        if number == self.least and not self.tally[number]:
            self.least += 1
            for free in [name for name in self.waiting if not self.excess(name)]:
                yield from self.waiting.pop(free)


class _Choice:
    """The state of one choice. `cells` have their clusters by rank."""

    def __init__(self, constraints: Sequence[Spread], cells: dict[Cell, list[tuple[int, str]]]) -> None:
        self.left = {cell: list(reversed(members)) for cell, members in cells.items()}
        self.levels = [self._level(constraint, at) for at, constraint in enumerate(constraints)]
        self.heap: list[tuple[int, Cell]] = []
        self.homeless: list[Cell] = []
        for cell in self.left:
            self._open(cell)

    def _level(self, constraint: Spread, at: int) -> _Level:
        topologies = {topology for cell in self.left if (topology := cell[at]) is not None}
        return _Level(constraint, dict.fromkeys(topologies, 0), Counter({0: len(topologies)}))

    def _open(self, cell: Cell) -> None:
        """Put a cell into the heap, or let it wait for its first full topology."""
        if not self.left[cell]:
            return
        for level, topology in zip(self.levels, cell, strict=True):
            if level.excess(topology):
                (self.homeless if topology is None else level.waiting[topology]).append(cell)
                return
        heappush(self.heap, (self.left[cell][-1][0], cell))

    def take(self, limit: int) -> list[str]:
        """Choose until the limit, the clusters or the constraints end it."""
        taken: list[str] = []
        while len(taken) < limit:
            cell = self._next() or self._least_bad()
            if cell is None:
                break
            taken.append(self.left[cell].pop()[1])
            freed = [c for level, topology in zip(self.levels, cell, strict=True) for c in level.add(topology)]
            for open_again in (cell, *freed):
                self._open(open_again)
        return taken

    def _next(self) -> Cell | None:
        """The best cell that no constraint forbids."""
        while self.heap:
            _, cell = heappop(self.heap)
            if not any(self._excesses(cell)):
                return cell
            self._open(cell)
        return None

    def _least_bad(self) -> Cell | None:
        """The cell with the least excess, the first constraint counting most; None if hard constraints forbid all."""
        best: tuple[tuple[tuple[int, ...], int], Cell] | None = None
        for cell in [c for level in self.levels for cells in level.waiting.values() for c in cells] + self.homeless:
            excesses = self._excesses(cell)
            if any(excess and level.constraint.hard for excess, level in zip(excesses, self.levels, strict=True)):
                continue
            key = (excesses, self.left[cell][-1][0])
            if best is None or key < best[0]:
                best = (key, cell)
        if best is not None:
            self._forget(best[1])
        return None if best is None else best[1]

    def _excesses(self, cell: Cell) -> tuple[int, ...]:
        return tuple(level.excess(topology) for level, topology in zip(self.levels, cell, strict=True))

    def _forget(self, cell: Cell) -> None:
        for cells in (*(cells for level in self.levels for cells in level.waiting.values()), self.homeless):
            if cell in cells:
                cells.remove(cell)
