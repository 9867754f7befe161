"""One module a command, imported only when it runs.

Each has `HELP`, `add_arguments(parser)` and `run(arguments) -> exit code`. Standard output holds the
answer only; progress and logs go to standard error.
"""
