"""A store is gone through for behaviours, a partition at a time."""
