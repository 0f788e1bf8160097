"""IP addresses and CIDR ranges, by the rules of Kubernetes: no zones, no IPv4 inside IPv6, no leading zeros."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, ClassVar, TypeAlias

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, plain
from muster.cel.runtime.describe import no_overload, shown

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class IP:
    """CEL's `net.IP`."""

    address: Address
    cel_type: ClassVar[str] = "net.IP"

    def cel_string(self) -> str:
        """Return the canonical text."""
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CIDR:
    """CEL's `net.CIDR`: an address, which need not be the first of its range, and a prefix length."""

    address: Address
    prefix: int
    cel_type: ClassVar[str] = "net.CIDR"

    def cel_string(self) -> str:
        """Return the text as it was written, in canonical form."""
        return f"{self.address}/{self.prefix}"

    @property
    def network(self) -> Network:
        """The range."""
        return ip_network((self.address, self.prefix), strict=False)


def _address(text: str) -> Address:
    try:
        address = ip_address(text)
    except ValueError:
        raise EvaluationError(f"{shown(text)} is not an IP address") from None
    if "%" in text:
        raise EvaluationError(f"{shown(text)}: an IP address with a zone is not allowed")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f"{shown(text)}: an IPv4 address inside an IPv6 address is not allowed")
    return address


def ip(value: Any) -> IP:
    """`ip(text)`, `cidr.ip()`"""
    if value.__class__ is str:
        return IP(_address(value))
    raise no_overload("ip", value)


def ip_of(value: Any) -> IP:
    """`cidr.ip()`"""
    return IP(_cidr("ip", value).address)


def cidr(value: Any) -> CIDR:
    """`cidr(text)`"""
    if value.__class__ is not str:
        raise no_overload("cidr", value)
    head, slash, length = value.partition("/")
    address = _address(head)
    canonical = length.isdecimal() and length.isascii() and str(int(length[:4])) == length
    if not slash or not canonical or int(length) > address.max_prefixlen:
        raise EvaluationError(f"{shown(value)} is not a CIDR range such as 10.0.0.0/8")
    return CIDR(address, int(length))


def _is(parse: Callable[[Any], object]) -> Function:
    def test(text: Any) -> bool:
        if text.__class__ is not str:
            raise no_overload(parse.__name__, text)
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return plain(test, 1)


def is_canonical(text: Any) -> bool:
    """`ip.isCanonical(text)`: whether the address is written in its canonical form."""
    if text.__class__ is not str:
        raise no_overload("ip.isCanonical", text)
    return str(_address(text)) == text


def _ip(function: str, value: Any) -> Address:
    if isinstance(value, IP):
        return value.address
    raise no_overload(function, value)


def _cidr(function: str, value: Any, *others: Any) -> CIDR:
    if isinstance(value, CIDR):
        return value
    raise no_overload(function, value, *others)


def _property(name: str, test: Callable[[Address], Any]) -> Function:
    return plain(lambda value: test(_ip(name, value)), 1)


def _link_local_multicast(address: Address) -> bool:
    low = IPv4Network("224.0.0.0/24") if isinstance(address, IPv4Address) else None
    if low is not None:
        return address in low
    return address.is_multicast and address.packed[1] & 0x0F == 2


def _global_unicast(address: Address) -> bool:
    return not (
        address == IPv4Address("255.255.255.255")
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def contains_ip(value: Any, other: Any) -> bool:
    """`cidr.containsIP(ip)`, also of a text."""
    within = _cidr("containsIP", value, other)
    address = _address(other) if other.__class__ is str else _ip("containsIP", other)
    return address.version == within.address.version and address in within.network


def contains_cidr(value: Any, other: Any) -> bool:
    """`cidr.containsCIDR(cidr)`, also of a text."""
    outer = _cidr("containsCIDR", value, other)
    inner = cidr(other) if other.__class__ is str else _cidr("containsCIDR", other)
    same = outer.address.version == inner.address.version
    return same and outer.prefix <= inner.prefix and inner.address in outer.network


def masked(value: Any) -> CIDR:
    """`cidr.masked()`: the range with its first address."""
    found = _cidr("masked", value)
    return CIDR(found.network.network_address, found.prefix)


def prefix_length(value: Any) -> int:
    """`cidr.prefixLength()`"""
    return _cidr("prefixLength", value).prefix


FUNCTIONS: Mapping[str, Function] = {
    "ip": plain(ip, 1),
    "isIP": _is(ip),
    "ip.isCanonical": plain(is_canonical, 1),
    "cidr": plain(cidr, 1),
    "isCIDR": _is(cidr),
}
METHODS: Mapping[str, Function] = {
    "family": _property("family", lambda address: address.version),
    "isUnspecified": _property("isUnspecified", lambda address: address.is_unspecified),
    "isLoopback": _property("isLoopback", lambda address: address.is_loopback),
    "isLinkLocalMulticast": _property("isLinkLocalMulticast", _link_local_multicast),
    "isLinkLocalUnicast": _property("isLinkLocalUnicast", lambda address: address.is_link_local),
    "isGlobalUnicast": _property("isGlobalUnicast", _global_unicast),
    "containsIP": plain(contains_ip, 2),
    "containsCIDR": plain(contains_cidr, 2),
    "ip": plain(ip_of, 1),
    "masked": plain(masked, 1),
    "prefixLength": plain(prefix_length, 1),
}
