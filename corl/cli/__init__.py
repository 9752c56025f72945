"""The command line: one file per sub-command, each with `arguments(parser)` and `execute(args) -> exit code`."""
