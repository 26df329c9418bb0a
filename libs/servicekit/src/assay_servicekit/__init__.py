"""The plumbing every service needs, once. No domain lives here."""
