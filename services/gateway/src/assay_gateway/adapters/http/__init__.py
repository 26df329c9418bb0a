"""The gateway's side that speaks HTTP: `routes`, and what holds for every one of them."""
