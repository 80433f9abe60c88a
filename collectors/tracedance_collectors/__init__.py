"""Sources of recorded traces, one module for each: fetch, detect, hand over to a codec."""
