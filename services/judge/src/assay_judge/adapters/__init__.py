"""Where the judge meets the bus's object store and the agent library."""
