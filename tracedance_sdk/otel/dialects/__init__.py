"""How other systems write the facts of a run into spans: one module for each, one table of all."""
