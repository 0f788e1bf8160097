"""From decisions to derived files: what a commit would write and remove."""

from dataclasses import field

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.locations import derived_path, is_projected
from muster.data.yaml.emitter import UnwritableError
from muster.dataclass import dataclass
from muster.fleet import faults
from muster.fleet.derived import content_id, derived_body, derived_text
from muster.fleet.fleet import Fleet
from muster.fleet.projected import PROJECTIONS, entries_of, recorded_files, records

_YAML = (".yaml", ".yml", ".json")


@dataclass
class Rendered:
    """Derived files by path, and their texts by object.

    `kept`: files that stay as they are, of objects on which muster failed (in `findings`) or whose derived part could
    not be read again (in `unwritable`, with the reason).
    """

    files: dict[str, str] = field(default_factory=dict)
    texts: dict[ObjectId, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    unwritable: dict[ObjectId, str] = field(default_factory=dict)


def render(fleet: Fleet) -> Rendered:
    """Return every derived file of the fleet as decided."""
    rendered, shards = Rendered(), fleet.settings.shards
    for id_ in sorted(fleet.decided.keys() - fleet.beyond.standing):
        try:
            _render(fleet, id_, shards, rendered)
            _project(fleet, id_, rendered)
        except UnwritableError as error:
            rendered.unwritable[id_] = str(error)
            _keep(fleet, id_, rendered)
        except Exception as error:  # noqa: BLE001 - the boundary for files, as `each` is for decisions
            rendered.findings.append(faults.object_fault(fleet.objects.get(id_) or _Named(id_), error))
            _keep(fleet, id_, rendered)
    for id_ in fleet.beyond.standing:
        rendered.kept.update(recorded_files(fleet.decisions(id_)))
        rendered.kept.update(str(record["file"]) for record in entries_of(fleet.previous.get(id_)).values())
    return rendered


def _keep(fleet: Fleet, id_: ObjectId, rendered: Rendered) -> None:
    """Leave the files of an object as they are."""
    rendered.kept.update(path for path in (fleet.derived_paths.get(id_),) if path)
    rendered.kept.update(recorded_files(fleet.decided[id_]))


def _project(fleet: Fleet, id_: ObjectId, rendered: Rendered) -> None:
    """Render the files of Projections that the object records."""
    for entry, record in records(fleet.decided[id_]).items():
        text, path = fleet.projected.get((id_, entry)), record["file"]
        stands = fleet.beyond.files_unseen and fleet.before(id_, *PROJECTIONS, entry) == record
        if text is None or stands:
            rendered.kept.add(path)
        else:
            rendered.files[path] = text


@dataclass(frozen=True, slots=True)
class _Named:
    id: ObjectId


def _render(fleet: Fleet, id_: ObjectId, shards: int, rendered: Rendered) -> None:
    path = derived_path(id_, shards)
    if id_ in fleet.texts:
        text = fleet.texts[id_]
    else:
        body = derived_body(id_, fleet.decided[id_])
        if body is None:
            return
        text = derived_text(body)
    rendered.texts[id_] = text
    rendered.files[path] = text


def changed_files(fleet: Fleet, rendered: Rendered) -> dict[str, str | None]:
    """Return the derived files that differ from the snapshot's; None: to be removed.

    Only YAML and JSON files are removed, and all in the folders of Projections: a person's note under `derived/` stays.
    """
    changed: dict[str, str | None] = {
        path: text for path, text in rendered.files.items() if fleet.read.derived.get(path) != content_id(text.encode())
    }
    stay = rendered.files.keys() | rendered.kept | {fleet.derived_paths.get(id_) for id_ in fleet.beyond.standing}
    gone = (path for path in fleet.read.derived if path not in stay)
    changed.update({path: None for path in gone if path.endswith(_YAML) or is_projected(path)})
    return dict(sorted(changed.items()))
