"""What makes the guarantee: exact arithmetic, the certificate, and the only source of randomness."""
