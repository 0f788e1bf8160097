"""Levels over time, told by history, held against a plain count of every ten minutes."""

import random
from datetime import timedelta

from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.history.history import Begins, CommittedTransition, FleetHistory, StatusChange, StatusStep
from muster.features.page.availability import WINDOWS, Member, availability
from tests.support.example import NOON

STATUSES = ("True", "Unknown", "False", "")


def step(minutes: int, *changes: tuple[str, str, str], commit: str = "") -> StatusStep:
    """A commit so many minutes before noon."""
    told = CommittedTransition(commit or f"c{minutes}", NOON - timedelta(minutes=minutes), f"told at {minutes}")
    return StatusStep(told, tuple(StatusChange(*change) for change in changes))


def member(region: str, status: str = "True", committed: str | None = None) -> Member:
    return Member((("region", region),), status, status if committed is None else committed)


def shown(members: dict[str, Member], history: FleetHistory) -> Tree:
    return availability("head", NOON, members, history)


def group(found: Tree, name: str) -> Tree:
    return next(one for one in found["groups"] if one["name"] == name)


def test_a_dip_is_told_with_its_time_how_long_it_was_and_the_commit() -> None:
    members = {"a": member("eu"), "b": member("eu"), "c": member("us")}
    steps = (
        step(60 * 24 * 3, ("c", "True", "Unknown")),
        step(60 * 24 * 3 - 30, ("c", "Unknown", "True")),
        step(180, ("a", "True", "Unknown")),
        step(150, ("b", "True", "False")),
        step(120, ("a", "Unknown", "True")),
        step(60, ("b", "False", "True")),
    )
    found = shown(members, FleetHistory(steps))
    day, _, month, *_ = group(found, "eu")["windows"]
    *level, since, until, commit = day["worst"]
    assert (level, since, until - since) == ([0, 1, 1], 86400 - 150 * 60, 30 * 60)
    assert found["commits"][commit] == ["c150", "told at 150"]
    assert (day["start"], group(found, "eu")["now"]) == ([2, 0, 0], [2, 0, 0])
    assert day["mean"] == round(1 - 150 / (2 * 24 * 60), 6)
    assert [one[:7] for one in day["steps"]] == [
        [126, 1, 1, 0, 1, 1, 0],
        [129, 0, 1, 1, 0, 1, 1],
        [132, 1, 0, 1, 1, 0, 1],
        [138, 2, 0, 0, 2, 0, 0],
    ]
    assert [one[:7] for one in month["steps"]] == [[179, 0, 1, 1, 2, 0, 0]], "in one column, and not lost in it"
    quiet = group(found, "us")["windows"]
    assert (quiet[0]["worst"], quiet[0]["mean"], quiet[0]["steps"]) == (None, 1, [])
    assert quiet[2]["worst"][:3] == [0, 1, 0]
    assert found["commits"][found["changes"][0][1]][0] == "c60", "the newest first"
    names = [one["name"] for one in found["groups"]]
    assert [(names[number], *rest) for number, *rest in found["changes"][0][2]] == [
        ("", 2, 0, 1, 3, 0, 0),
        ("eu", 1, 0, 1, 2, 0, 0),
    ]


def test_what_is_not_committed_yet_is_of_now() -> None:
    found = shown({"a": member("eu", "Unknown", "True"), "b": member("eu")}, FleetHistory())
    assert found["changes"] == [[format_time(NOON), -1, [[0, 2, 0, 0, 1, 1, 0], [1, 2, 0, 0, 1, 1, 0]]]]
    assert group(found, "eu")["windows"][0]["worst"] == [1, 1, 0, 86400, 86400, -1]
    assert (group(found, "eu")["windows"][0]["mean"], found["commits"]) == (1, [])


def test_who_is_gone_was_of_the_fleet() -> None:
    found = shown({"a": member("eu")}, FleetHistory((step(60, ("b", "True", "")),)))
    assert group(found, "")["windows"][0]["start"] == [2, 0, 0]
    assert group(found, "eu")["windows"][0]["start"] == [1, 0, 0]


def test_nothing_is_told_of_what_nobody_knows() -> None:
    begins = NOON - timedelta(hours=6)
    found = shown({"a": member("eu"), "b": member("eu", "")}, FleetHistory((), begins, Begins.CLONE))
    assert [(one["key"], one["seconds"], one["known"]) for one in found["windows"]] == [("all", 6 * 3600, 0)]
    assert (found["begins"], found["reason"]) == (format_time(begins), "clone")
    assert group(found, "eu")["windows"][0] == {"start": [1, 0, 0], "steps": [], "mean": 1, "worst": None}
    young = FleetHistory((), NOON - timedelta(minutes=3), Begins.FIRST)
    assert shown({"a": member("eu")}, young)["windows"] == []
    older = FleetHistory((), NOON - timedelta(days=12), Begins.FIRST)
    assert [one["key"] for one in shown({"a": member("eu")}, older)["windows"]] == ["24h", "7d", "all"]
    before = shown({"a": member("eu", "")}, FleetHistory())
    assert group(before, "eu")["windows"][0]["mean"] is None


def test_however_it_went_the_drawing_has_the_lowest_level_and_the_mean() -> None:
    for seed in range(8):
        chance = random.Random(seed)
        names = [f"c{number}" for number in range(chance.randint(1, 5))]
        status = {name: chance.choice(STATUSES) for name in names}
        steps, minutes = [], {60 * 24 * 31: dict(status)}
        for at in sorted(chance.sample(range(0, 60 * 24 * 2, 10), 60), reverse=True):
            name = chance.choice(names)
            after = chance.choice([one for one in STATUSES if one != status[name]])
            steps.append(step(at, (name, status[name], after)))
            status[name] = after
            minutes[at] = dict(status)
        found = shown({name: member("eu", status[name]) for name in names}, FleetHistory(tuple(steps)))
        for (_, span, columns), drawn in list(zip(WINDOWS, group(found, "eu")["windows"], strict=True))[:3]:
            lowest, available, judged, now = 2.0, 0, 0, minutes[max(minutes)]
            for minute in range(60 * 24 * 30, 0, -10):
                now = minutes.get(minute, now)
                if minute <= span.total_seconds() / 60:
                    true, of = (sum(one in said for one in now.values()) for said in (("True",), STATUSES[:3]))
                    lowest = min(lowest, true / of) if of else lowest
                    available, judged = available + true, judged + of
            now = minutes.get(0, now)
            last = [list(now.values()).count(one) for one in STATUSES[:3]]
            levels = [drawn["start"], *(one[1:4] for one in drawn["steps"]), *(one[4:7] for one in drawn["steps"])]
            shares = [level[0] / sum(level) for level in levels if sum(level)]
            if 0 not in minutes:
                assert min(shares, default=2.0) == lowest, (seed, columns)
            assert drawn["mean"] == (round(available / judged, 6) if judged else None), (seed, columns)
            assert levels[-1] == last == group(found, "eu")["now"], (seed, columns)
