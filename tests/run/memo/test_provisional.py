"""Texts on disk: what was put there, and what is removed."""

from muster.run.memo.provisional import StoredFiles, Texts


def test_files_are_read_as_they_were_put() -> None:
    files = {"derived/a.yaml": "a: ü\n", "derived/b.yaml": None, "derived/c.yaml": "", "derived/d.yaml": "d\n" * 9999}
    texts = Texts()
    put = [*texts.put(dict([*files.items()][2:])), *texts.put(dict([*files.items()][:2]))]
    found = StoredFiles(texts, {one.path: one for one in put})
    assert found == files
    assert len(found) == len(files)
    assert {path: text for path, text in found.items() if text is None} == {"derived/b.yaml": None}
