"""One transition, as commit messages and plans tell it."""

from dataclasses import dataclass

from muster.engine.facts import Fact
from muster.model.ids import ObjectId
from muster.model.kinds import kind_of

#: What subject lines call objects of a kind.
NOUNS = {
    "ManagedCluster": "cluster",
    "Cluster": "cluster",
    "NodePool": "node pool",
    "Placement": "placement",
    "AdapterReport": "report",
    "ClusterDeployment": "pool cluster",
    "ClusterClaim": "claim",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One transition: a fact that `was` so of an object and one that `now` is, either None for nothing; at least one is
    there. `source` is the rule that decided."""

    object: ObjectId
    was: Fact | None
    now: Fact | None
    source: str = ""

    @property
    def fact(self) -> Fact:
        """The fact that changed, as it is now or else as it was."""
        found = self.now or self.was
        assert found is not None
        return found

    @property
    def field(self) -> str:
        """What changed: `condition Ready`, `taint unreachable:NoSelect`."""
        return self.fact.label

    @property
    def before(self) -> str:
        """How it was, in short; empty for not at all."""
        return self._text(self.was)

    @property
    def after(self) -> str:
        """How it is now, in short; empty for not at all."""
        return self._text(self.now)

    @property
    def note(self) -> str:
        """Why, by whom or since when it is so."""
        return self.now.note if self.now else ""

    @property
    def word(self) -> str:
        """How a subject line counts it (`3 clusters Unknown`); empty for what is no news."""
        if self._reason_only:
            return ""
        if self.now is None:
            return self.fact.gone
        return self.now.word if self.now.anew or self.was else ""

    @property
    def noun(self) -> str:
        """What a subject line counts."""
        return self.fact.counted or NOUNS.get(self.object.kind, kind_of(self.object).name)

    @property
    def _reason_only(self) -> bool:
        return self.was is not None and self.now is not None and self.was.text == self.now.text

    def _text(self, fact: Fact | None) -> str:
        if fact is None:
            return ""
        return f"{fact.text} {fact.note}".strip() if self._reason_only else fact.text

    def __str__(self) -> str:
        """`ManagedCluster/a: condition Ready True -> Unknown (LeaseStopped)`."""
        if self.fact.sentence:
            return self.fact.sentence
        before, after = self.before, self.after
        note = f" ({self.note})" if self.note and not self._reason_only else ""
        said = f"{self.object}: {self.field}".rstrip()  # that anything is derived at all has no field
        if not before:
            return f"{said} {after}".rstrip() + note
        return f"{said} {before} -> {after or 'gone'}{note}"
