"""By which settings a run goes: those of a sound Fleet, else those that the last run remembered."""

import yaml

from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.run.run import Settled
from muster.run.settle import settle
from tests.support.example import NOON


def fleet(spec: str, name: str = "f") -> str:
    return f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def run(files: dict[str, str]) -> Settled:
    """Come to rest, and lay what is derived over the files."""
    settled = settle(MemorySnapshot(dict(files)), NOON)
    for path, text in settled.files.items():
        if text is None:
            del files[path]
        else:
            files[path] = text
    return settled


def remembered(files: dict[str, str]) -> Tree:
    found = [text for path, text in files.items() if path.startswith("derived/fleets/")]
    return dig(yaml.safe_load(found[0]), "status", "muster", "settings") if found else None


def test_settings_are_remembered_but_for_the_receivers_of_pulses() -> None:
    files = {"fleet.yaml": fleet("{derived: {shards: 256}, pulses: {sinks: [{name: a, url: 'http://x'}]}}")}
    run(files)
    assert remembered(files) == {"derived": {"shards": 256}}


def test_a_fleet_that_sets_nothing_has_nothing_to_remember() -> None:
    files = {"fleet.yaml": fleet("{}")}
    run(files)
    assert remembered(files) is None


def test_a_fleet_with_an_error_in_it_changes_nothing() -> None:
    files = {"fleet.yaml": fleet("{derived: {shards: 256}}")}
    run(files)
    files["fleet.yaml"] = fleet("{derived: {shards: 16, sharts: 1}}")
    settled = run(files)
    assert "MUS201" in {found.code for found in settled.findings}
    assert settled.last.fleet.settings.shards == 256
    assert remembered(files) == {"derived": {"shards": 256}}, "and is remembered for as long as that takes"


def test_of_two_fleets_none_is_obeyed() -> None:
    files = {"fleet.yaml": fleet("{derived: {shards: 256}}")}
    run(files)
    files["more.yaml"] = fleet("{derived: {shards: 16}}", "g")
    for _ in range(3):  # for as long as it takes
        settled = run(files)
        assert "MUS108" in {found.code for found in settled.findings}
        assert settled.last.fleet.settings.shards == 256
    del files["more.yaml"]
    assert run(files).last.fleet.settings.shards == 256
    assert [path for path in files if path.startswith("derived/fleets/")] == ["derived/fleets/25/f.yaml"]
