# ruff: noqa: E501 - one expression per line
"""IP addresses and CIDR ranges: Kubernetes' rules, and those of IPv4 inside IPv6."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && isIP('::') && !isIP('1.2.3') && !ip.isCanonical('2001:DB8::1')
cidr('10.0.0.7/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16') && isCIDR('::/0')
ip('::ffff:c0a8:1') == ip('192.168.0.1') && ip('::ffff:c0a8:1') != ip('192.168.10.1') && ip('::ffff:c0a8:1').family() == 4
string(ip('::FFFF:c0a8:1')) == '192.168.0.1' && isIP('::ffff:c0a8:1') && !isIP('::ffff:192.168.0.1') && !ip.isCanonical('::ffff:c0a8:1')
cidr('192.168.0.0/24').containsIP('::ffff:c0a8:1') && cidr('::ffff:c0a8:0/120') == cidr('192.168.0.0/24') && !isCIDR('::ffff:c0a8:0/64')
ip('::1:c0a8:1') != ip('192.168.0.1') && ip('::') != ip('::ffff') && !cidr('::/0').containsIP('::ffff:c0a8:1')
cidr('10.0.0.7/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.7/8').ip() == ip('10.0.0.7')
string(cidr('10.0.0.7/8')) == '10.0.0.7/8' && cidr('10.0.0.0/8').prefixLength() == 8 && !isCIDR('10.0.0.0/33')
ip('224.0.0.5').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast()
""".strip().splitlines()

FAILS = """
ip('1.2.3.4.5')
ip('fe80::1%eth0')
ip('::ffff:1.2.3.4')
cidr('::ffff:1.2.3.4/120')
cidr('::ffff:c0a8:0/95')
cidr('10.0.0.0')
cidr('10.0.0.0/08')
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
