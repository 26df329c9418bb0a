"""What the scorer does. Each use case is a call, in one transaction, on the ports that it names."""
