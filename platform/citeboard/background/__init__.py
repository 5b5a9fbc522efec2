"""What a worker does besides scoring, as background jobs: sheets, imports, archives."""
