"""Programs that the machine's own Python runs inside a sandbox: standard library only."""
