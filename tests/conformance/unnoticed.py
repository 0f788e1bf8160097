"""Leaves of expectations that may be altered without an adapter noticing, each with the reason.

A line is a pattern of `case: path`. What stands here says nothing of muster that could be compared; what is merely
not compared yet does not belong here.
"""

from collections.abc import Mapping

UNNOTICED: Mapping[str, Mapping[str, str]] = {
    "ocm": {
        "gc-*: deletes.*": "works are objects of a live hub, not of a fleet repository",
        "gc-*: requeue_after_seconds": "upstream polls until the works are gone; nothing is polled in git",
        "accept-*: changed": "roles, bindings and finalizers count as written, and are not in a fleet repository",
        "agent-*: continue_reconcile": "upstream's agent runs a chain of passes; muster's does all in one",
    },
    "karmada": {
        "detector-aggregate-*: detector.alarm": "beside a skip nothing is written, whatever the code returns besides",
    },
}
