"""A fleet in memory that people edit between runs, a minute apart."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from muster.data.decision import Published, Pulse, PulseKey
from muster.data.tree import Tree, dig
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import first_body
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Repository:
    """The files of people and muster."""

    def __init__(self) -> None:
        self.now = START
        self.texts: dict[str, str] = {}
        self.derived: dict[str, str] = {}
        self.published: dict[PulseKey, Published] = {}
        self.pulses: Sequence[Pulse] = ()
        self.bodies: dict[tuple[str, str], Tree] = {}

    def write(self, texts: Mapping[str, str]) -> None:
        """Replace what people wrote."""
        self.texts = dict(texts)

    def run(self, now: datetime | None = None) -> dict[str, Tree]:
        """Run muster, a minute after the last run unless it is said when, commit what it writes, publish its pulses,
        and return the clusters by name."""
        self.now = now or self.now + timedelta(minutes=1)
        run = evaluate_snapshot(MemorySnapshot({**self.texts, **self.derived}), self.now, self.published)
        for path, text in run.files.items():
            if text is None:
                del self.derived[path]
            else:
                self.derived[path] = text
        self.pulses = run.fleet.pulses
        self.published |= {PulseKey(pulse.object, pulse.policy): pulse.sent for pulse in self.pulses if pulse.sent}
        self.bodies = {(body["kind"], body["metadata"]["name"]): body for body in run.objects}
        return {str(dig(body, "metadata", "name")): body for body in run.objects if "Cluster" in str(body["kind"])}

    def edit_derived(self, name: str, edit: Callable[[Tree], object]) -> None:
        """Edit the derived files of the objects of a name."""
        for path, text in self.derived.items():
            body = first_body(text.encode(), path)
            if dig(body, "metadata", "name") == name:
                edit(body)
                self.derived[path] = emit(body)
