"""A gateway to test: served, asked without a port, or played; and what it asks and is shown."""
