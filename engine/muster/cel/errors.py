"""What can be wrong with an expression: issues when it is compiled, errors when it is evaluated."""

from collections.abc import Callable

from muster.dataclass import dataclass


class CelError(Exception):
    """Base class of all errors that this package raises."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem of an expression, at its place in the text.

    `offset` counts characters from 0; `line` and `column` count from 1. `hint` says what to do, if that is known. A
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
    """The expression is not valid CEL, or not valid in its environment. `issues` has everything that was found."""

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        """Keep the issues; the text of the exception shows each on its own line."""
        super().__init__("\n".join(map(str, issues)))
        self.issues = issues


class SyntaxIssue(CompileError):  # noqa: N818 - it is raised with the issues of one text
    """The expression cannot be parsed."""


class CostIssue(CompileError):  # noqa: N818 - beside SyntaxIssue
    """The expression may cost more than its environment allows."""


class EvaluationError(CelError):
    """The expression has no value for the given variables.

    `offset` is the place in the expression's text, or None if no single place is at fault.
    """

    def __init__(self, message: str | Callable[[], str], offset: int | None = None) -> None:
        """Keep the message. It names the value and the place, and never shows all variables.

        Pass a function to build the message only when it is read: a loop may absorb a million errors unread.
        """
        self._message = message
        self.offset = offset

    @property
    def message(self) -> str:
        """What is wrong, as text."""
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
        """Pickle the error with its message as text."""
        return type(self), (self.message, self.offset)


class BudgetExceeded(EvaluationError):  # noqa: N818 - the name says what happened
    """The evaluation was stopped because it would cost too much. `&&`, `||` and macros never absorb this error."""


class ValueTooLargeError(EvaluationError):
    """The expression has a value, and it would be too large when it is written out."""


def issue_at(text: str, offset: int, message: str, hint: str = "", *, is_warning: bool = False) -> Issue:
    """Return the issue at a character offset of `text`, with its line and column."""
    offset = min(max(offset, 0), len(text))
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return Issue(message, offset, line, column, hint, is_warning)
