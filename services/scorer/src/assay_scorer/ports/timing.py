from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
Wake = Callable[[], None]
"""Have something done soon that is done by the clock otherwise; returns at once."""
