"""What makes an upload good: pure rules over bytes, with no service around them."""
