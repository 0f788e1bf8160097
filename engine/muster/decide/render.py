"""From decisions to derived files: what a commit would write and remove."""

from collections.abc import Mapping

from muster.fleet.derived import blob_id, derived_body, derived_path, derived_text
from muster.fleet.fleet import Fleet

_YAML = (".yaml", ".yml", ".json")


def derived_files(fleet: Fleet) -> Mapping[str, str]:
    """Return every derived file of the fleet as decided, by path."""
    files: dict[str, str] = {}
    for id_ in sorted(fleet.decided):
        body = derived_body(id_, fleet.decided[id_])
        if body is not None:
            files[derived_path(id_, fleet.settings.shards)] = derived_text(body)
    return files


def changed_files(fleet: Fleet) -> dict[str, str | None]:
    """Return the derived files that differ from the snapshot's; None means: to be removed.

    Only YAML and JSON files are muster's to remove: a person's note under `derived/` stays.
    """
    wanted = derived_files(fleet)
    changed: dict[str, str | None] = {
        path: text for path, text in wanted.items() if fleet.derived_files.get(path) != blob_id(text)
    }
    changed.update({path: None for path in fleet.derived_files if path not in wanted and path.endswith(_YAML)})
    return dict(sorted(changed.items()))
