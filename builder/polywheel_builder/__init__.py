"""matrix.yaml to plan, plan to compile graph, compile graph to wheels."""
