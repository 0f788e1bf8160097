"""Questions asked of the same evaluator: evaluate, plan, explain, forecast, history, replay."""
