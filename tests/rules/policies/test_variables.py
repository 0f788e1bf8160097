"""What expressions see: the value of every variable is of the type that the checker was told."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from muster.cel.types import BOOL, DYN, INT, TIMESTAMP, ListType, Type
from muster.data.kinds import CSR, KARMADA_CLUSTER, MANAGED_CLUSTER, NODE_POOL, Kind
from muster.rules.policies.environments import policy_environment
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.variables import PULSE_VARIABLES, VARIABLES, pulsed
from muster.run.evaluate import evaluate
from tests.support.example import EXAMPLE, NOON

SCHEMAS = Path(__file__).parents[3] / "schemas"
KINDS = [(MANAGED_CLUSTER,), (KARMADA_CLUSTER,), (NODE_POOL,), (CSR,), (MANAGED_CLUSTER, KARMADA_CLUSTER)]
#: What the policy says itself.
OWN = {"params", "variables"}


def python_type(type_: Type) -> type:
    if isinstance(type_, ListType):
        return list
    scalars: dict[Type, type] = {BOOL: bool, INT: int, TIMESTAMP: datetime, DYN: object}
    return scalars.get(type_, Mapping)


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "+".join(kind.name for kind in kinds))
def test_values_are_of_their_types(kinds: tuple[Kind, ...]) -> None:
    run = evaluate(EXAMPLE, NOON)
    environment, scopes = policy_environment(kinds, {}), Scopes.of(run.fleet, run.fleet.rules, run.now)
    assert run.fleet.of(*kinds)
    for obj in run.fleet.of(*kinds):
        base = scopes.base(obj)
        for name in environment.variables.keys() - OWN:
            assert isinstance(base[name], python_type(environment.variables[name])), (obj.id, name)
        for name in VARIABLES.keys() - environment.variables.keys() if len(kinds) == 1 else ():
            with pytest.raises(KeyError):
                base[name]


def test_only_policies_over_requests_see_the_request() -> None:
    only = {name for name, variable in VARIABLES.items() if variable.only is CSR}
    assert only == {"csr", "cluster"}
    assert only <= policy_environment((CSR,), {}).variables.keys()
    assert not only & policy_environment((CSR, MANAGED_CLUSTER), {}).variables.keys()


def test_the_first_pulse_of_a_generation_that_an_adapter_knows_went_out_before() -> None:
    assert PULSE_VARIABLES.keys() == {"pulsed"}
    assert pulsed(None, {"reports": []}) == {"generation": 0, "count": 0}
    assert pulsed(None, {"reports": [{"observed_generation": 3}]})["generation"] == 3


def test_the_table_for_people_names_what_every_policy_sees() -> None:
    (row,) = re.findall(r"^\| `condition` \|.*$", (SCHEMAS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    seen = {name for name, variable in VARIABLES.items() if variable.only is None}
    assert set(re.findall(r"`(\w+)`", row)) - {"condition"} == seen | OWN
