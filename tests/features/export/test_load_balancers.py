"""Load balancers by name."""

import pytest

from muster.features.export.load_balancers import load_balancer, load_balancers
from muster.features.export.nginx import render


def test_the_register() -> None:
    assert "nginx" in load_balancers()
    assert load_balancer("nginx") is render
    with pytest.raises(KeyError):
        load_balancer("abacus")
