"""Pulses: asking adapters to look at an object again.

stage   which pulses are due at this instant, and when the next ones will be
pace    how soon after its last pulse an object may have another
event   the CloudEvent of a pulse
"""
