"""matrix.yaml to plan, plan to compile graph, compile graph to wheels.

The data's way: `matrix_file` -> `matrix.Matrix` -> `planner` -> `plan.Plan`, which is cells and actions ->
`ninja_graph` -> `store.Store` -> wheels. `build.Builder` walks it.
"""
