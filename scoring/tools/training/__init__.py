"""Training the sentence tagger."""
