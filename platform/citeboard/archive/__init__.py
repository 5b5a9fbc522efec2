"""Write a season to a folder that people can read and verify without a server."""
