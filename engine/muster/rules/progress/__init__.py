"""How clusters get something step by step, and how they are doing with it: what Rollouts and sets of works share."""
