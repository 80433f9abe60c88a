"""The pytest plugin of tracedance-sdk."""
