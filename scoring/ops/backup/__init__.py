"""A copy of a whole site in a folder: database, files and secret key, with the digest of everything."""
