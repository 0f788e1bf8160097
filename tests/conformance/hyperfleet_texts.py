"""What HyperFleet says in its own words, and what muster says in the same situation."""

import re
from collections.abc import Iterator

from tests.conformance.reading import Doubt

#: Upstream's texts, or the part of one that a case gives: the reason of our condition or the code of our finding, and
#: what that finding says.
TEXTS: tuple[tuple[str, str, str], ...] = (
    (r"missing mandatory condition(s|[ :].*)?", "MissingCondition", ""),
    (r"observed_time must not be more than( .*)?", "ObservedTime(Ahead|TooOld)", ""),
    (r".*\bduplicate\b.*", "DuplicateCondition", ""),
    (r".*\b[Nn]ot found\b.*", "ResourceNotFound", ""),
    (r"(.* )?invalid status( value)?(:? .*)?", "MUS203", r"status"),
    (r"(.*\W)?observed_generation( .*)?", "MUS20[2-6]", r"observed_generation"),
    (r"(.*\W)?adapter( .*)?", "MUS20[2-6]", r"adapter"),
    (r"(.* )?condition type( .*)?", "MUS20[2-6]", r"type"),
)
#: What upstream says where an extra condition fails.
MAPPING_ERROR = (
    r"(.*condition mapping failed.*|.*invalid status value.*|.*expression evaluation failed.*"
    r"|.*expression did not return boolean.*)"
)
#: What upstream's Sentinel says of a decision, and whether a pulse is due then.
PULSE_TEXTS: tuple[tuple[str, bool], ...] = (
    (r"message decision matched|generation changed.*|max age exceeded.*", True),
    (r"message decision result is false|(param .* )?evaluation failed.*|max age not exceeded.*", False),
)
#: Upstream's texts of conditions, and how ours begin; both name the same adapters or children, sorted.
_MESSAGES: tuple[tuple[str, str], ...] = (
    (
        r"Required adapters not reporting (\w+)=True: \[(.*?)\]\. Currently reporting: \[.*\]\.?",
        "Not {0} at generation",
    ),
    (r"All required adapters reported Available=True or Finalized=True at the current generation", "All adapters are "),
    (r"All required adapters report Available=True for the tracked generation", "All adapters are available at "),
    (r"All required adapters (?:are|report|reported) (\w+)(?:=True)?\b.*", "All adapters are {0}"),
    (r"Deletion in progress\. All required adapters reported Finalized=True but .*", "Waiting for "),
    (r"Required adapters have not yet reported status", "No report yet from "),
    (r"One or more required adapters report Available=False", "Not available: "),
    (r"Required adapters do not report a consistent Available state", "The adapters are available, but at different "),
)


def message_mismatch(expected: str | None, have: str) -> Iterator[tuple[str, str]]:
    """Messages have words of their own here: the same is said of the same adapters."""
    if expected is None:
        return
    for pattern, ours in _MESSAGES:
        if (found := re.fullmatch(pattern, expected)) is not None:
            names = re.findall(r"[\w-]+", found[2]) if len(found.groups()) > 1 else []
            said = re.findall(r"[\w-]+", have.partition(": ")[2]) if names else []
            if not have.startswith(ours.format(*found.groups())) or sorted(names) != sorted(said):
                yield expected, have
            return
    if expected != have:
        yield expected, Doubt(f"no message of a condition is known to say {expected!r}")
