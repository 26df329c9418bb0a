"""The sandbox port, bubblewrap, Daytona, a fake, and the conformance kit for a new provider."""
