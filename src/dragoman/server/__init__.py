"""HTTP API and page: `dragoman serve`."""
