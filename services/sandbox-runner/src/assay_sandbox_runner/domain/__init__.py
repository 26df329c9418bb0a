"""What a run means, without a sandbox or an agent in sight. Pure."""
