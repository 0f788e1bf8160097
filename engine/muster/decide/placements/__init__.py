"""Placements: which clusters each one chooses, why, and until when.

`stage` decides; `why` tells of one Placement what became of every cluster. The way of a choice is the order of the
modules: `candidates` (who may be chosen at all), `filters` (sets, predicates, taints), `prioritizers` (scores),
`spread`, `choice` (one Placement at one instant), `contests` (all of them until rest), `groups` (PlacementDecisions),
`conditions`.
"""
