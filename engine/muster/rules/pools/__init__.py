"""Hive pools: standby clusters, resume before assignment, timeouts, replacement of broken clusters.

muster decides; a provisioner acts on the derived ClusterDeployments and commits what it observes. The seed's rules are
the default, upstream Hive's are a setting (`rules`). One evaluation is one pass; while a pass changes anything, the
run's horizon is its own instant, and reconcile runs the next pass.
"""
