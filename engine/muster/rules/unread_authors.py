"""The last decisions of a policy that cannot be read stay.

A stage that decides entries for policies, Rollouts or Projections names them as its *authors*. For a broken author it
has nothing to decide: without this module its entries would be dropped, as if a person had removed it. Stages whose
entries are more than paths (taints and actions, which budgets count; scores, which expire) ask `View.is_unread` for the
author themselves.
"""

from collections.abc import Collection, Iterable, Iterator

from muster.data.decision import OF_ITSELF, Because, Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import Kind, ListKeys, kind_of, of_kinds
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.fleet.merge import element_key
from muster.fleet.view import View


@dataclass(frozen=True, slots=True)
class EntryAuthor:
    """The kind of the objects for which a stage decides entries at `path` of objects of some `kinds`.

    An entry is `named` after its author (NAMESPACE/NAME for one in a namespace); otherwise any of the kind may be it.
    """

    kind: Kind
    kinds: tuple[Kind, ...]
    path: tuple[str, ...]
    named: bool = True

    def unread(self, governing: View, entry: str) -> str:
        """Return what may have decided an entry and cannot be read now; empty if it can."""
        if not self.named:
            return f"a {self.kind.name}" if governing.uncertain(self.kind) else ""
        namespace, _, name = entry.rpartition("/")
        id_ = self.kind.id(name, namespace)
        return str(id_) if governing.is_unread(id_) else ""


def of_unread_authors(
    view: View,
    ids: Collection[ObjectId],
    governing: View,
    authors: Iterable[EntryAuthor],
    outcomes: Iterable[object],
) -> Iterator[Decision]:
    """Decide again the last run's entries of some objects whose author cannot be read, unless this run decided them.

    An entry that this run would drop stays, too: a stage without the author does not know it.
    """
    uncertain = [author for author in authors if governing.uncertain(author.kind)]
    decided = {outcome[:2] for outcome in outcomes if isinstance(outcome, Decision) and outcome.value is not None}
    for author in uncertain:
        for id_ in sorted(of_kinds(view.previous.keys() & ids, *author.kinds)):
            before = {path for path, decision in view.decisions(id_).items() if decision.value is not None}
            for path, name, value in _entries(id_, author.path, dig(view.previous[id_], *author.path)):
                if (id_, path) not in decided and path not in before and (unread := author.unread(governing, name)):
                    because = Because("kept", OF_ITSELF, f"{unread} cannot be read, so what it may have decided stays")
                    yield Decision(id_, path, value, because)


def _entries(id_: ObjectId, path: Path, value: Tree) -> Iterator[tuple[Path, str, Tree]]:
    """The entries of a mapping, or of a keyed list, each with its name."""
    if isinstance(value, dict):
        yield from (((*path, name), name, entry) for name, entry in value.items())
    elif isinstance(value, list):
        yield from ((at, at[-1][0], entry) for at, entry in leaves(value, kind_of(id_).list_keys, path))


def leaves(tree: Tree, list_keys: ListKeys, path: Path) -> Iterator[tuple[Path, Tree]]:
    """The derived part split into the paths at which stages decide: fields of sections, elements of keyed lists."""
    fields = list_keys.get(".".join(step for step in path if isinstance(step, str)), ())
    if fields and isinstance(tree, list):
        for element in tree:
            if key := element_key(element, fields):
                yield (*path, key), {name: value for name, value in element.items() if name not in fields}
    elif isinstance(tree, dict) and len(path) < 2:
        for name, value in tree.items():
            yield from leaves(value, list_keys, (*path, name))
    else:
        yield path, tree
