"""`muster relay`: the reports of many agents become one commit."""
