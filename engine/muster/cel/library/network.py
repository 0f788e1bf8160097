"""IP addresses and CIDR ranges, by the rules of Kubernetes and of the language definition's network extension.

Zones, leading zeros, and an IPv4 address inside an IPv6 one (`::ffff:192.168.0.1`) are not allowed. An IPv4-mapped
address in hexadecimal digits (`::ffff:c0a8:1`) becomes the IPv4 address that it maps.
"""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address
from typing import Any, ClassVar, TypeAlias

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library
from muster.cel.runtime.describe import no_overload, shown
from muster.dataclass import dataclass

LIBRARY = Library("IP addresses")

Address: TypeAlias = IPv4Address | IPv6Address

_LONGEST = 64
"""The most characters of an address: 45 are enough for any address, and some more for a zone."""
_PARSING = 60
"""Units of parsing an address."""
_MAPPED_BITS = 96
"""The length of the prefix of all IPv4-mapped addresses."""
_MULTICAST = IPv4Network("224.0.0.0/24")
_BROADCAST = IPv4Address("255.255.255.255")


@dataclass(frozen=True, slots=True)
class IP:
    """CEL's `net.IP`."""

    address: Address
    cel_type: ClassVar[str] = "net.IP"

    def __repr__(self) -> str:
        """Return the expression that gives it."""
        return f"ip('{self.address}')"

    def cel_string(self) -> str:
        """Return the canonical text."""
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CIDR:
    """CEL's `net.CIDR`: an address, not necessarily the first of its range, and a prefix length."""

    address: Address
    prefix: int
    cel_type: ClassVar[str] = "net.CIDR"

    def __repr__(self) -> str:
        """Return the expression that gives it."""
        return f"cidr('{self.cel_string()}')"

    def cel_string(self) -> str:
        """Return the canonical text, with the address as it was given."""
        return f"{self.address}/{self.prefix}"

    def contains(self, other: Address) -> bool:
        """Return whether an address is in the range."""
        below = self.address.max_prefixlen - self.prefix
        same = self.address.version == other.version
        return same and int(self.address) >> below == int(other) >> below

    def masked(self) -> "CIDR":
        """Return the range with its first address."""
        below = self.address.max_prefixlen - self.prefix
        return CIDR(type(self.address)(int(self.address) >> below << below), self.prefix)


def _address(text: str) -> Address:
    """Return the address of a text; an IPv4-mapped one stays IPv6. Raises EvaluationError."""
    if len(text) > _LONGEST:
        raise EvaluationError(f"{shown(text)} is not an IP address")
    try:
        address = ip_address(text)
    except ValueError:
        raise EvaluationError(f"{shown(text)} is not an IP address") from None
    if "%" in text:
        raise EvaluationError(f"{shown(text)}: an IP address with a zone is not allowed")
    if "." in text and _mapped(address) is not None:
        raise EvaluationError(
            f"{shown(text)}: an IPv4 address inside an IPv6 address is not allowed; write {_mapped(address)}"
        )
    return address


def _mapped(address: Address) -> IPv4Address | None:
    return address.ipv4_mapped if isinstance(address, IPv6Address) else None


def _unmapped(address: Address) -> Address:
    return _mapped(address) or address


@LIBRARY.plain("string_to_ip  ip  (string) -> net.IP", weight=_PARSING)
def ip(value: Any) -> IP:
    """`ip(text)`: parses a text such as `10.0.0.1` or `::1`."""
    if value.__class__ is str:
        return IP(_unmapped(_address(value)))
    raise no_overload("ip", value)


@LIBRARY.plain("cidr_ip  ip  net.CIDR.() -> net.IP", weight=4)
def ip_of(value: Any) -> IP:
    """`cidr.ip()`: the address, not necessarily the first of the range."""
    return IP(_cidr("ip", value).address)


@LIBRARY.plain("string_to_cidr  cidr  (string) -> net.CIDR", weight=_PARSING + 20)
def cidr(value: Any) -> CIDR:
    """`cidr(text)`: parses a text such as `10.0.0.0/8`."""
    if value.__class__ is not str:
        raise no_overload("cidr", value)
    head, slash, length = value.partition("/")
    address = _address(head)
    if len(length) > 3:
        raise EvaluationError(f"{shown(value)} is not a CIDR range such as 10.0.0.0/8")
    canonical = length.isdecimal() and length.isascii() and str(int(length[:4])) == length
    if not slash or not canonical or int(length) > address.max_prefixlen:
        raise EvaluationError(f"{shown(value)} is not a CIDR range such as 10.0.0.0/8")
    prefix, mapped = int(length), _mapped(address)
    if mapped is None:
        return CIDR(address, prefix)
    if prefix < _MAPPED_BITS:
        raise EvaluationError(f"{shown(value)} has addresses beyond those that map IPv4 addresses")
    return CIDR(mapped, prefix - _MAPPED_BITS)


def _is(line: str, doc: str, parse: Callable[[Any], object]) -> None:
    def test(text: Any) -> bool:
        if text.__class__ is not str:
            raise no_overload(parse.__name__, text)
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    LIBRARY.plain(line, weight=_PARSING + 20, doc=doc)(test)


_is("is_ip    isIP    (string) -> bool", "`isIP(text)`: whether the text is an IP address.", ip)
_is("is_cidr  isCIDR  (string) -> bool", "`isCIDR(text)`: whether the text is a CIDR range.", cidr)


@LIBRARY.plain("ip_is_canonical  ip.isCanonical  (string) -> bool", weight=2 * _PARSING)
def is_canonical(text: Any) -> bool:
    """`ip.isCanonical(text)`: whether the address is written in its canonical form."""
    if text.__class__ is not str:
        raise no_overload("ip.isCanonical", text)
    return str(_unmapped(_address(text))) == text


def _ip(function: str, value: Any) -> Address:
    if isinstance(value, IP):
        return value.address
    raise no_overload(function, value)


def _cidr(function: str, value: Any, *others: Any) -> CIDR:
    if isinstance(value, CIDR):
        return value
    raise no_overload(function, value, *others)


def _property(line: str, doc: str, test: Callable[[Address], Any]) -> None:
    name = line.split()[1]
    LIBRARY.plain(line, weight=60, doc=f"`ip.{name}()`: {doc}")(lambda value: test(_ip(name, value)))


def _link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in _MULTICAST
    return address.is_multicast and address.packed[1] & 0x0F == 2


def _global_unicast(address: Address) -> bool:
    return not (
        address == _BROADCAST
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


_property("ip_family  family  net.IP.() -> int", "4 or 6.", lambda address: address.version)
_property(
    "ip_is_unspecified  isUnspecified  net.IP.() -> bool",
    "whether it is `0.0.0.0` or `::`.",
    lambda address: address.is_unspecified,
)
_property(
    "ip_is_loopback  isLoopback  net.IP.() -> bool",
    "whether it is a loopback address.",
    lambda address: address.is_loopback,
)
_property(
    "ip_is_link_local_multicast  isLinkLocalMulticast  net.IP.() -> bool",
    "whether it is in `224.0.0.0/24` or `ff02::/16`.",
    _link_local_multicast,
)
_property(
    "ip_is_link_local_unicast  isLinkLocalUnicast  net.IP.() -> bool",
    "whether it is in `169.254.0.0/16` or `fe80::/10`.",
    lambda address: address.is_link_local,
)
_property(
    "ip_is_global_unicast  isGlobalUnicast  net.IP.() -> bool",
    "whether it is none of these, not another multicast address and not `255.255.255.255`.",
    _global_unicast,
)


@LIBRARY.plain(
    "cidr_contains_ip         containsIP  net.CIDR.(net.IP) -> bool",
    "cidr_contains_ip_string  containsIP  net.CIDR.(string) -> bool",
    weight=_PARSING + 20,
)
def contains_ip(value: Any, other: Any) -> bool:
    """`cidr.containsIP(ip)`: whether it contains the address, which may be a text."""
    within = _cidr("containsIP", value, other)
    return within.contains(_unmapped(_address(other)) if other.__class__ is str else _ip("containsIP", other))


@LIBRARY.plain(
    "cidr_contains_cidr         containsCIDR  net.CIDR.(net.CIDR) -> bool",
    "cidr_contains_cidr_string  containsCIDR  net.CIDR.(string) -> bool",
    weight=_PARSING + 40,
)
def contains_cidr(value: Any, other: Any) -> bool:
    """`cidr.containsCIDR(cidr)`: whether it contains the whole range, which may be a text."""
    outer = _cidr("containsCIDR", value, other)
    inner = cidr(other) if other.__class__ is str else _cidr("containsCIDR", other)
    return outer.prefix <= inner.prefix and outer.contains(inner.address)


@LIBRARY.plain("cidr_masked  masked  net.CIDR.() -> net.CIDR", weight=30)
def masked(value: Any) -> CIDR:
    """`cidr.masked()`: the range with its first address."""
    return _cidr("masked", value).masked()


@LIBRARY.plain("cidr_prefix_length  prefixLength  net.CIDR.() -> int", weight=4)
def prefix_length(value: Any) -> int:
    """`cidr.prefixLength()`: the number of bits that all of its addresses share."""
    return _cidr("prefixLength", value).prefix
