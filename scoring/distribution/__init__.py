"""The wheel: the client and the offline half under names of their own, from the files that the site runs."""
