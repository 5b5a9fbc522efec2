"""What keeps a site up and says what is wrong with it."""
