"""What runs in the runner, outside of every sandbox."""
