"""A run of the past as a question: the commit that it decided, with what it heard and remembered, at its instant."""

from muster.git.derivedbranch import join_commits
from muster.git.enginecommits import EngineCommit
from muster.git.record.reading import Heard
from muster.git.repository import Repository
from muster.run.question import Question


def decided_commit(repository: Repository, run: EngineCommit) -> str:
    """Return the commit that a run decided: its source, joined with the derived files if these are on a branch of their
    own. RepositoryError if one of them is not in this clone."""
    return run.source if run.source == run.parent else join_commits(repository, run.source, run.parent)


def question_of(repository: Repository, heard: Heard) -> Question:
    """Return what a recorded run was asked. Its answer is what the run decided, byte for byte, if the same version
    answers."""
    commit = decided_commit(repository, heard.run)
    return Question(repository, commit, heard.refs, heard.run.now, heard.remembered)
