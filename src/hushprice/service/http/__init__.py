"""The HTTP side: routes, messages on the wire, the page."""
