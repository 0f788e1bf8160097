"""The memory of pulses: one root commit in a ref of its own, which survives clones, races and damage."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from muster.data.decision import Published, PulseKey
from muster.data.kinds import MANAGED_CLUSTER, NODE_POOL
from muster.git.agents.refs import PULSES
from muster.git.memory.pulses import Arrived, PulseMemory, Remembered, decoded, encoded, read_memory, remember
from muster.git.repository import Repository, open_repository
from tests.support.git import Repo, new_repository

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEYS = [PulseKey(id_, "p") for id_ in (MANAGED_CLUSTER.id("a"), MANAGED_CLUSTER.id("b"), NODE_POOL.id("pool", "a"))]

keys = st.sampled_from(KEYS)
instants = st.integers(0, 100).map(lambda seconds: NOON + timedelta(seconds=seconds))
published = st.dictionaries(keys, st.builds(Published, st.integers(1, 9), instants, st.integers(1, 9)))
sinks = st.frozensets(st.sampled_from("mno"), min_size=1)
arrived = st.dictionaries(keys, st.builds(Arrived, st.sampled_from("xyz"), sinks))
memories = st.builds(PulseMemory, published, arrived)


@given(memories)
def test_what_is_written_is_read(memory: PulseMemory) -> None:
    assert decoded(encoded(memory)) == memory


@given(memories, memories)
def test_the_later_pulse_is_remembered_whoever_comes_first(one: PulseMemory, other: PulseMemory) -> None:
    together, turned = decoded(encoded(one)), decoded(encoded(other))
    together.add(other)
    turned.add(one)
    times = {key: last.time for key, last in together.published.items()}
    assert times == {key: last.time for key, last in turned.published.items()}
    assert all(times[key] >= last.time for known in (one, other) for key, last in known.published.items())


def test_damage_is_forgotten() -> None:
    files = {"a.json": b"{", "b.json": b"[1]", "c.json": b'{"x": 1, "a/b/c/d": {"p": 7}, "e/f/g/h": []}'}
    assert decoded(files) == PulseMemory()


def repository(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def known(generation: int, seconds: int = 0) -> Published:
    return Published(generation, NOON + timedelta(seconds=seconds))


def test_the_ref_holds_one_root_commit(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "fleet")
    head = repo.commit({"a.yaml": "x: 1\n"})
    for generation in (1, 2, 3):
        memory = PulseMemory({KEYS[0]: known(generation, generation)})
        assert remember(repository(repo), memory) == ""
    assert repo.git("rev-list", "--count", PULSES) == "1"
    assert read_memory(repository(repo)).published == {KEYS[0]: known(3, 3)}
    assert repo.tip() == head
    assert repo.git("status", "--porcelain") == ""


def test_a_fresh_clone_has_the_memory_of_its_remote(tmp_path: Path) -> None:
    hub = new_repository(tmp_path / "hub", bare=True)
    first = new_repository(tmp_path / "first")
    first.commit({"a.yaml": "x: 1\n"})
    first.git("push", "--quiet", str(hub.path), "HEAD:refs/heads/main")
    memory = PulseMemory({KEYS[0]: known(1)}, {KEYS[1]: Arrived("x", frozenset("m"))})
    assert remember(repository(first), memory, str(hub.path)) == ""
    first.git("clone", "--quiet", str(hub.path), str(tmp_path / "second"))
    second = open_repository(tmp_path / "second", first.environ)
    assert read_memory(second) == PulseMemory()
    assert read_memory(second, "origin") == memory


def test_what_others_remember_is_kept(tmp_path: Path) -> None:
    hub = new_repository(tmp_path / "hub", bare=True)
    one, other = new_repository(tmp_path / "one"), new_repository(tmp_path / "other")
    assert remember(repository(one), PulseMemory({KEYS[0]: known(1)}), str(hub.path)) == ""
    assert remember(repository(other), PulseMemory({KEYS[1]: known(2)}), str(hub.path)) == ""
    assert read_memory(repository(one), str(hub.path)).published == {KEYS[0]: known(1), KEYS[1]: known(2)}


def test_what_is_remembered_and_as_of_when_are_of_one_look(tmp_path: Path) -> None:
    """Else a run would keep the older memory under the name of the newer, and never look again."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": "x: 1\n"})
    remember(repository(repo), PulseMemory({KEYS[0]: known(1)}))
    first, then = repo.tip(PULSES), Remembered(repository(repo))
    assert then.memory == {KEYS[0]: known(1)}
    remember(repository(repo), PulseMemory({KEYS[0]: known(2, 1)}))
    now = Remembered(repository(repo))
    assert (then.at, now.at) == (first, repo.tip(PULSES))
    assert now.memory == {KEYS[0]: known(2, 1)}
