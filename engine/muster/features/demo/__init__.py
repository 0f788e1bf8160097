"""`muster demo`: the main job on the example fleet."""
