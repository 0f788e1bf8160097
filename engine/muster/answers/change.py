"""One transition, as commit messages and plans tell it."""

from dataclasses import dataclass

from muster.model.ids import ObjectId


@dataclass(frozen=True, slots=True)
class Change:
    """One transition. `field` says what (`condition Ready`, `taint unreachable:NoSelect`), `before` and `after`
    are short texts, empty for absent; `note` is a reason or message; `source` the rule that decided. `sentence` is how
    commit messages say it, where the others would be clumsy."""

    object: ObjectId
    field: str
    before: str
    after: str
    note: str = ""
    source: str = ""
    sentence: str = ""

    def __str__(self) -> str:
        """`ManagedCluster/a: condition Ready True -> Unknown (LeaseStopped)`."""
        if self.sentence:
            return self.sentence
        note = f" ({self.note})" if self.note else ""
        if not self.before:
            return f"{self.object}: {self.field} {self.after}".rstrip() + note
        if self.note and self.after.endswith(f" {self.note}"):
            note = ""
        return f"{self.object}: {self.field} {self.before} -> {self.after or 'gone'}{note}"
