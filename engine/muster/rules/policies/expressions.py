"""The expressions of one object, compiled in one environment, with each problem at its place in the file."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cache

from muster import cel
from muster.cel import ast
from muster.cel.types import BOOL, INT, STRING, Type
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.kinds import kind_of
from muster.data.source import Place
from muster.data.tree import At, Tree
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import expression_place, plain_steps

#: The map of this run's conditions; reading it makes a policy depend on another.
_CONDITIONS = "conditions"


@dataclass(frozen=True, slots=True)
class TextExpression:
    """A literal or computed text: `reason` or `reasonExpression`."""

    literal: str = ""
    program: cel.Program | None = None


@dataclass
class Compiler:
    """Compiles an object's expressions; collects findings and the conditions that they read."""

    source: Object
    environment: cel.Env
    findings: list[Finding] = field(default_factory=list)
    _reads: set[str] = field(default_factory=set)
    _giving: dict[Type, cel.Env] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Does any expression have an error?"""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def reads(self) -> frozenset[str]:
        """The condition types that the expressions read from `conditions`."""
        return frozenset(self._reads)

    def with_variables(self, further: Mapping[str, cel.types.Type]) -> "Compiler":
        """Return a compiler with further variables and the same findings."""
        variables = {**self.environment.variables, **further}
        return Compiler(self.source, replace(self.environment, variables=variables), self.findings, self._reads)

    def condition(self, path: At) -> cel.Program:
        """Compile the expression at `path`, which must be a bool."""
        return self._compile(path, self._environment_for(BOOL))

    def number(self, path: At) -> cel.Program:
        """Compile the expression at `path`, which must be an int."""
        return self._compile(path, self._environment_for(INT))

    def string(self, path: At) -> cel.Program:
        """Compile the expression at `path`, which must be a string."""
        return self._compile(path, self._environment_for(STRING))

    def value(self, path: At) -> cel.Program:
        """Compile the expression at `path`, of any type."""
        return self._compile(path, self.environment)

    def text(self, at: At, name: str) -> TextExpression:
        """Return the text of field `name`, or compile its sibling `<name>Expression`."""
        rule = _value(self.source.body, at)
        if f"{name}Expression" in rule:
            program = self._compile((*at, f"{name}Expression"), self._environment_for(STRING))
            return TextExpression(str(rule.get(name, "")), program)
        return TextExpression(literal=str(rule.get(name, "")))

    def refuse(self, path: At, code: Code, message: str, hint: str) -> None:
        """Record an error at `path` that no schema finds."""
        place = field_place(self.source, path)
        self.findings.append(finding(code, message, place, hint=hint, object_=self.source.id))

    def _environment_for(self, type_: Type) -> cel.Env:
        """The environment of expressions of this type, shared by all of them: creating one takes longer than finding a
        program."""
        with_result = self._giving.get(type_)
        if with_result is None or with_result.variables is not self.environment.variables:
            with_result = self._giving[type_] = replace(self.environment, result=type_)
        return with_result

    def _compile(self, path: At, environment: cel.Env) -> cel.Program:
        text = _value(self.source.body, path)
        try:
            program = cel.compile(text, environment)
        except cel.CompileError as error:
            self.findings.extend(expression_findings(self.source, path, error))
            return _unsound()
        self._reads.update(conditions_read(program.node))
        self.findings.extend(issue_finding(self.source, path, issue, Code.CEL_SUSPICIOUS) for issue in program.warnings)
        return program


@cache
def _unsound() -> cel.Program:
    """Replaces an expression with an error; its policy is dropped, so this never runs."""
    return cel.compile("dyn(null)", cel.Env())


def _value(body: Tree, path: At) -> Tree:
    for step in path:
        body = body[step]
    return body


def expression_findings(obj: Object, path: At, error: cel.CompileError) -> Iterator[Finding]:
    """Yield one finding per issue of an expression that did not compile."""
    code = {cel.SyntaxIssue: Code.CEL_SYNTAX, cel.CostIssue: Code.CEL_TOO_COSTLY}.get(type(error), Code.CEL_TYPE)
    for issue in error.issues:
        yield issue_finding(obj, path, issue, Code.CEL_SUSPICIOUS if issue.is_warning else code)


def issue_finding(obj: Object, path: At, issue: cel.Issue, code: Code) -> Finding:
    """Return the finding of one issue, at its line and column in the YAML file, with a caret."""
    place, excerpt = expression_place(obj.parts, path, issue.offset)
    severity = Severity.WARNING if issue.is_warning else Severity.ERROR
    return finding(code, issue.message, place, hint=issue.hint, object_=obj.id, excerpt=excerpt, severity=severity)


def conditions_read(node: ast.Node, variable: str = _CONDITIONS) -> Iterator[str]:
    """Yield the condition types that an expression reads from a variable.

    As in `conditions['X']`, `'X' in conditions`, `status(conditions, 'X')`.
    """
    for inner in ast.walk(node):
        if isinstance(inner, ast.IndexNode) and _is_variable(inner.operand, variable):
            yield from _literal(inner.index)
        elif isinstance(inner, ast.Select | ast.Has) and _is_variable(inner.operand, variable):
            yield inner.field
        elif isinstance(inner, ast.Call):
            arguments = inner.args if inner.target is None else (inner.target, *inner.args)
            if any(_is_variable(argument, variable) for argument in arguments):
                for argument in arguments:
                    yield from _literal(argument)


def handles_silence_itself(node: ast.Node) -> bool:
    """Does the expression handle silence itself: does it contain the status Unknown, or read `stale`?"""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Literal) and inner.value == "Unknown":
            return True
        if isinstance(inner, ast.Select | ast.Has) and inner.field == "stale":
            return True
        if isinstance(inner, ast.IndexNode) and "stale" in _literal(inner.index):
            return True
    return False


#: Variables and the field that depend on the time since a cluster's last heartbeat.
_OF_LEASE = frozenset(("lease", "leaseDurationSeconds", "silent"))
_STALE = "stale"


def reads_lease(program: cel.Program, variables: Mapping[str, cel.Program]) -> bool:
    """Does the expression depend on the last heartbeat, directly or through a policy's variables?"""
    # Each variable once: chains of variables would otherwise double the work at each step.
    waiting, visited = [program], set[str]()
    while waiting:
        program = waiting.pop()
        if _OF_LEASE & program.reads:
            return True
        for inner in ast.walk(program.node):
            if not isinstance(inner, ast.Select | ast.Has):
                continue
            if inner.field == _STALE:
                return True
            if inner.field in variables and inner.field not in visited and _is_variable(inner.operand, "variables"):
                visited.add(inner.field)
                waiting.append(variables[inner.field])
    return False


def _is_variable(node: ast.Node, name: str) -> bool:
    return isinstance(node, ast.Ident) and node.name == name


def _literal(node: ast.Node) -> Iterator[str]:
    if isinstance(node, ast.Literal) and isinstance(node.value, str):
        yield node.value


def field_place(obj: Object, path: At) -> Place:
    """The place of an object's field."""
    place, _ = expression_place(obj.parts, plain_steps(obj.body, path, kind_of(obj.id).list_keys), 0)
    return place
