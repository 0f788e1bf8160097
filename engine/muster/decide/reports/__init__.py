"""Reports: what adapters say of clusters and node pools, and which of it counts.

acceptance   the rules by which one report is accepted or not, in their order
accepted     what was accepted last, as the derived part of AdapterReports remembers it
stage        the stage: every report of the fleet, judged
"""
