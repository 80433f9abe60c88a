"""One static page for any result set or scan: no server, no script, nothing from outside."""
