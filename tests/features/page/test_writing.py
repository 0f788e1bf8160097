"""The folder of a page: written as a whole, and never over something else."""

from pathlib import Path

from muster.features.page.pages import ASSETS
from muster.features.page.writing import MARKER
from tests.features.page.test_cli import CLUSTER, NOW
from tests.support.commandline import Run
from tests.support.git import new_repository


def test_it_writes_a_folder_of_its_own_anew_and_no_other(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"a.yaml": CLUSTER, "wrong.yaml": CLUSTER.replace("name: a", "name: b").replace("true", "7")})
    folder = tmp_path / "public" / "fleet"
    code, out, err = muster("site", folder, "--repo", repo.path, "--now", NOW)
    assert (code, (folder / MARKER).is_file()) == (0, True), err
    assert out == f"{len(ASSETS) + 5} files in {folder}: open {folder / 'index.html'}\n"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    (folder / "data/old.js").touch()
    assert muster("site", folder, "--repo", repo.path, "--now", NOW)[0] == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["fleet"]

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    (tmp_path / "link").symlink_to(folder)
    for other in ("mine", "link"):
        code, _, err = muster("site", tmp_path / other, "--repo", repo.path, "--now", NOW)
        assert (code, "holds something else" in err) == (2, True)
    assert (tmp_path / "mine/thesis.txt").read_text() == "years of work"
