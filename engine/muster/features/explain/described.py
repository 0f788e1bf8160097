"""`describe`: an object as YAML, with a word of why beside each field that muster decided."""

from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.data.times import format_time
from muster.data.yaml.emitter import emit
from muster.data.yaml.positions import locate
from muster.fleet.places import plain_steps
from muster.run.run import Run


def described(run: Run, id_: ObjectId) -> str:
    """Return the object as assembled, each decided field with its rule and until when it holds, as a comment."""
    body = run.fleet.whole(id_)
    text = emit(body)
    lines, data = text.splitlines(), text.encode()
    notes: dict[int, str] = {}
    for path, decision in sorted(run.fleet.decisions(id_).items(), key=lambda item: len(item[0])):
        if decision.value is not None and (line := _line(data, body, path, id_)) is not None:
            notes[line] = _note(decision)
    for line, note in notes.items():
        lines[line - 1] += f"  # {note}"
    return "\n".join(lines) + "\n"


def _line(data: bytes, body: object, path: Path, id_: ObjectId) -> int | None:
    steps = plain_steps(body, path, kind_of(id_).list_keys)
    return locate(data, 0, steps).line if len(steps) == len(path) else None


def _note(decision: Decision) -> str:
    until = f", until {format_time(decision.horizon)}" if decision.horizon is not None else ""
    return f"{decision.because.rule}{until}".replace("\n", " ")
