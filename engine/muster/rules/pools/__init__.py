"""Hive pools: standby clusters, resume before assignment, timeouts, replacement of the broken.

muster decides; a provisioner acts on the ClusterDeployments that muster derives and commits what it observes. The
seed's rules are the default, upstream Hive's are a setting (`rules`). One evaluation is one pass; while a pass changes
anything, the run's horizon is its own instant, and reconcile makes the next.
"""
