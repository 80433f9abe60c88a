"""Spans from every encoding that people meet, in one shape; see `tracedance_sdk.otel.foreign`."""
