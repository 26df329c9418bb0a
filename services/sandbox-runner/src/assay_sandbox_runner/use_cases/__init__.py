"""What this service does, each by one frozen dataclass that is called."""
