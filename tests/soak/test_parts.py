"""Fleets that live for long: asked of some objects, of a work tree, of an index or a branch, what is kept says what
nothing does."""

from pathlib import Path

import pytest

from tests.features.plan import test_branch
from tests.run import test_uncommitted, test_wanted
from tests.support.admission_happenings import EditingReads

seeds = pytest.mark.parametrize("seed", range(8))


@seeds
def test_some_objects(tmp_path: Path, seed: int) -> None:
    test_wanted.test_of_some_objects(tmp_path, seed)


@seeds
def test_work_trees(tmp_path: Path, seed: int) -> None:
    test_wanted.test_of_work_trees(tmp_path, seed)


@seeds
def test_findings_of_the_index(tmp_path: Path, seed: int) -> None:
    test_uncommitted.test_of_the_index_the_same_is_said(tmp_path, seed)


@seeds
def test_findings_of_the_work_tree(tmp_path: Path, seed: int) -> None:
    test_uncommitted.test_of_the_work_tree_the_same_is_said(tmp_path, seed)


@seeds
def test_findings_of_policies_that_read_other_objects(tmp_path: Path, seed: int) -> None:
    test_uncommitted.test_of_the_index_the_same_is_said(tmp_path / "index", seed, EditingReads)
    test_uncommitted.test_of_the_work_tree_the_same_is_said(tmp_path / "tree", seed, EditingReads)


@seeds
def test_branches(tmp_path: Path, seed: int) -> None:
    test_branch.test_the_same_from_what_is_kept_as_from_nothing(tmp_path, seed)
