"""Variables that are computed when first asked for."""

from collections.abc import Mapping

from muster import cel


class LazyVariables(dict[str, object]):
    """A policy's `variables`: each is evaluated when an expression first asks for it."""

    def __init__(self, programs: Mapping[str, cel.Program], scope: Mapping[str, object]) -> None:
        super().__init__()
        self._programs = programs
        self._scope = scope

    def __missing__(self, name: str) -> object:
        """Evaluate the variable. KeyError for a name that the policy has not; EvaluationError where it fails."""
        value = self._programs[name].evaluate(self._scope)
        self[name] = value
        return value
