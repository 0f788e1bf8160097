"""One transition, as commit messages and plans show it."""

from dataclasses import dataclass

from muster.data.ids import ObjectId
from muster.run.facts import Fact

#: What subject lines call objects of a kind.
NOUNS = {
    "ManagedCluster": "cluster",
    "Cluster": "cluster",
    "NodePool": "node pool",
    "Placement": "placement",
    "AdapterReport": "report",
    "ClusterDeployment": "pool cluster",
    "ClusterClaim": "claim",
    "Rollout": "rollout",
}


#: How subject lines count objects that get this, and objects that lose it, if nothing more important happened to them.
_QUIET = {
    "taint": ("tainted", "untainted"),
    "held": ("held back", "no longer held back"),
    "agent ref": ("heard through a branch", "no longer heard through a branch"),
    "report": ("reported", "no longer reported"),
    "clusters": ("with other clusters", "with other clusters"),
    "remedy": ("with another cause", "with another cause"),
    "file": ("with other files", "without files"),
    "label": ("relabelled", "relabelled"),
    "annotation": ("annotated", "annotated"),
    "cluster": ("with other clusters", "with other clusters"),
}
#: What subject lines call objects to which nothing more important happened.
_QUIET_NOUNS = {
    "ManagedClusterSet": "cluster set",
    "ManagedClusterSetBinding": "set binding",
    "ManagedClusterAddOn": "add-on",
    "MultiClusterIngress": "ingress",
    "ClusterPool": "pool",
    "ClusterProfile": "cluster profile",
    "Lease": "lease",
    "Projection": "projection",
    "Fleet": "fleet",
    "CertificateSigningRequest": "certificate request",
}


def _short(type_: str) -> str:
    """Return the short name of a condition's type."""
    return type_.removeprefix("ManagedClusterCondition").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Change:
    """One transition of an object, from the fact `was` to the fact `now`. One of them may be None. `source` is the rule
    that decided."""

    object: ObjectId
    was: Fact | None
    now: Fact | None
    source: str = ""

    @property
    def fact(self) -> Fact:
        """The fact as it is now, or else as it was."""
        found = self.now or self.was
        assert found is not None
        return found

    @property
    def field(self) -> str:
        """What changed: `condition Ready`, `taint unreachable:NoSelect`."""
        return self.fact.label

    @property
    def before(self) -> str:
        """The old value in short; empty for none."""
        return self._text(self.was)

    @property
    def after(self) -> str:
        """The new value in short; empty for none."""
        return self._text(self.now)

    @property
    def note(self) -> str:
        """The new fact's note: why, by whom or since when."""
        return self.now.note if self.now else ""

    @property
    def word(self) -> str:
        """How a subject line counts it (`3 clusters Unknown`); empty if it is no news."""
        if self._reason_only:
            return ""
        if self.now is None:
            return self.fact.gone
        return self.now.word if self.now.anew or self.was else ""

    @property
    def quiet_word(self) -> str:
        """How a subject line counts an object without more important changes; empty for bookkeeping."""
        fact, gone = self.fact, self.now is None
        match fact.sort:
            case "note":
                return ""
            case "condition" if self._reason_only:
                return f"{_short(fact.name)} because of {fact.note}"
            case "condition" | "pending":
                pending = "pending " if fact.sort == "pending" else ""
                return f"{'no longer ' if gone else ''}{pending}{_short(fact.name)} {fact.text}"
            case "edited":
                return "edited"
            case "field":
                what = "with another" if self.was and self.now else "without" if gone else "with"
                return f"{what} {fact.name.rpartition('.')[2]}"
            case "":
                return "gone" if gone else "new"
            case "generation":
                return "with a new spec"
            case "set":
                return f"in set {fact.text}" if not gone else "in no set"
            case "bucket" | "power state" if not gone:
                return fact.text
            case "claim":
                return "ended"
            case sort if sort in _QUIET:
                comes, goes = _QUIET[sort]
                return goes if gone else comes
            case _:
                return f"{'without' if gone else 'with'} {fact.label} {'' if gone else fact.text}".strip()

    @property
    def noun(self) -> str:
        """What a subject line counts."""
        return self.fact.counted or NOUNS.get(self.object.kind) or _QUIET_NOUNS.get(self.object.kind, self.object.kind)

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
        subject = f"{self.object}: {self.field}".rstrip()  # the fact that anything is derived has no field
        if not before:
            return f"{subject} {after}".rstrip() + note
        return f"{subject} {before} -> {after or 'gone'}{note}"
