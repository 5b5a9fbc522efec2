"""The wheel: the offline half and the client under one import name, from the files that the site runs."""
