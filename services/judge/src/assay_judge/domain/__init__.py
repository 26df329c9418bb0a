"""The judge's rules. Pure: what a model says is checked here, by code, before anyone acts on it."""
