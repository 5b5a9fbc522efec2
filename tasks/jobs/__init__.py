"""Jobs: who works on them, what wakes them, and what becomes of them."""
