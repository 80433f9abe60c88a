"""Benchmarks of one behaviour: asked for, built of the traces of a store, run on a model."""
