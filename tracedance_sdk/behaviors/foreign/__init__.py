"""Anchors that did not come with the package: checked, and run in a process that can be killed."""
