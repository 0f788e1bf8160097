"""Runs the tables of this folder. See README.md for their form."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import muster
from muster.data.times import format_time, parse_time
from muster.data.tree import Tree, dig, mappings_at
from tests.support.truth import require_truth

HERE = Path(__file__).parent


def _cases() -> list[Any]:
    cases = []
    for path in sorted(HERE.glob("*.yaml")):
        for case in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CBaseLoader):
            cases.append(pytest.param(path, case["name"], id=f"{path.stem}: {case['name']}"))
    return cases


def _load(path: Path, name: str) -> Tree:
    cases = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return next(case for case in cases if case["name"] == name)


class _Loader(yaml.CSafeLoader):
    """Anchors and merge keys make tables short; times stay texts, as in muster."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the base class has it so
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


@pytest.mark.parametrize(("path", "name"), _cases())
def test_scenario(path: Path, name: str, tmp_path: Path) -> None:
    case = _load(path, name)
    for step in (case, *case.get("then", ())):
        _write(tmp_path, step.get("files", {}))
        run = muster.evaluate(tmp_path, parse_time(step["now"]))
        _check(step["expect"], run)
        require_truth(run)
        _write(tmp_path, run.files)
        again = muster.evaluate(tmp_path, parse_time(step["now"]))
        assert again.files == {} or run.horizon == run.now, "a second evaluation must change nothing"


def _write(root: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        path = root / name
        if content is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            path.write_text(yaml.safe_dump_all(content, sort_keys=False), encoding="utf-8")
        else:
            text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
            path.write_text(text, encoding="utf-8")


def _check(expect: Tree, run: muster.Run) -> None:
    objects = {_label(body): body for body in run.objects}
    for label, wanted in expect.get("conditions", {}).items():
        have = {c["type"]: c for c in mappings_at(objects.get(label), "status", "conditions")}
        for type_, fields in wanted.items():
            if fields is None:
                assert type_ not in have, f"{label} must have no condition {type_}, has {have[type_]}"
                continue
            assert type_ in have, f"{label} has no condition {type_}, only {sorted(have)}"
            fields = {"status": fields} if isinstance(fields, str) else fields
            assert {key: have[type_].get(key) for key in fields} == fields, label
    for label, wanted in expect.get("taints", {}).items():
        _check_taints(label, wanted, mappings_at(objects.get(label), "spec", "taints"))
    for label, generation in expect.get("generation", {}).items():
        assert dig(objects[label], "metadata", "generation") == generation, label
    for label, fields in expect.get("fields", {}).items():
        for dotted, value in fields.items():
            assert dig(objects.get(label), *dotted.split(".")) == value, f"{label} {dotted}"
    if "held" in expect:
        assert [f"{held['kind']}/{held['name']}: {held['effect']}" for held in run.held] == expect["held"]
    if "files" in expect:
        assert sorted(run.files) == sorted(expect["files"])
    if "horizon" in expect:
        assert _time(run.horizon) == expect["horizon"]
    _check_findings(expect.get("findings", []), run)


def _check_taints(label: str, wanted: list[Any], have: list[Tree]) -> None:
    for taint, fields in zip(have, wanted, strict=False):
        if isinstance(fields, str):
            assert f"{taint['key']}:{taint['effect']}" == fields, label
        else:
            assert {key: taint.get(key) for key in fields} == fields, label
    assert len(have) == len(wanted), f"{label} has taints {have}"


def _check_findings(wanted: list[Any], run: muster.Run) -> None:
    have = [f"{found.code} {found.place}" for found in run.findings]
    assert have == [w if isinstance(w, str) else f"{w['code']} {w['at']}" for w in wanted], run.findings
    for finding, want in zip(run.findings, wanted, strict=True):
        if not isinstance(want, str):
            assert want.get("message", "") in finding.message
            assert want.get("hint", "") in finding.hint


def _label(body: Tree) -> str:
    metadata = body["metadata"]
    return "/".join(part for part in (body["kind"], metadata.get("namespace"), metadata["name"]) if part)


def _time(instant: datetime | None) -> str | None:
    return None if instant is None else format_time(instant)
