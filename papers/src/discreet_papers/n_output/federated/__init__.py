"""Figure 5 of the N-output paper: federated learning, with a simulator that runs all clients in one process."""
