"""What several anchors ask of a run: what was seen before, asked, allowed, named as a remedy."""
