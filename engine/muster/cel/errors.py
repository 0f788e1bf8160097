"""What can be wrong with an expression: found when it is compiled (issues), or when it is evaluated (errors)."""

from collections.abc import Callable
from dataclasses import dataclass


class CelError(Exception):
    """Base of everything that this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing wrong with an expression, at its place in the text.

    `offset` counts characters from 0; `line` and `column` count from 1. `hint` says what to do, where that is known. A
    warning does not keep the expression from running.
    """

    message: str
    offset: int = 0
    line: int = 1
    column: int = 1
    hint: str = ""
    is_warning: bool = False

    def __str__(self) -> str:
        """Return `line:column: message`, and the hint behind it."""
        return f"{self.line}:{self.column}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class CompileError(CelError):
    """An expression that is not valid CEL, or not valid in its environment. `issues` has all that was found."""

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        """Keep the issues; the text of the exception shows each on its own line."""
        super().__init__("\n".join(map(str, issues)))
        self.issues = issues


class SyntaxIssue(CompileError):  # noqa: N818 - it is raised with the issues of one text
    """An expression that cannot be parsed."""


class CostIssue(CompileError):  # noqa: N818 - beside SyntaxIssue
    """An expression that may cost more than its environment allows."""


class EvaluationError(CelError):
    """An expression that has no value for the given variables.

    `offset` is the place in the expression's text, or None where no single place is at fault.
    """

    def __init__(self, message: str | Callable[[], str], offset: int | None = None) -> None:
        """Keep the message, which says the value and the place, and never shows all variables.

        A function that gives it is called when somebody reads it: of a million failures that a loop absorbs, nobody
        reads one.
        """
        self._message = message
        self.offset = offset

    @property
    def message(self) -> str:
        """What is wrong."""
        if not isinstance(self._message, str):
            self._message = self._message()
        return self._message

    def __str__(self) -> str:
        """Return the message."""
        return self.message

    def __repr__(self) -> str:
        """Return class and message."""
        return f"{type(self).__name__}({self.message!r})"

    def __reduce__(self) -> tuple[type["EvaluationError"], tuple[str, int | None]]:
        """Travel between processes with the message written out."""
        return type(self), (self.message, self.offset)


class BudgetExceeded(EvaluationError):  # noqa: N818 - the name says what happened
    """An evaluation that was cut off because it would cost too much. `&&`, `||` and macros never absorb it."""


def issue_at(text: str, offset: int, message: str, hint: str = "", *, is_warning: bool = False) -> Issue:
    """Return the issue at a character offset of `text`, with line and column worked out."""
    offset = min(max(offset, 0), len(text))
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return Issue(message, offset, line, column, hint, is_warning)
