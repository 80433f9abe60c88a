"""Hooks into agent frameworks and model clients, one module for each."""
