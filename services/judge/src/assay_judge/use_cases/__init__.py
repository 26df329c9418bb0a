"""The judge's three jobs. What a model says is believed only after code has checked it."""
