"""What function transforms need of the tape: bodies, fresh leaves, dependencies between levels."""
