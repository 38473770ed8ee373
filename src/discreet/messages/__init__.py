"""Messages: what crosses the wall between a device and a collector is written and read here, once."""
