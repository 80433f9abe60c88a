"""Runs are cut right before a decision: what is kept, what is withheld, what a cut must meet."""
