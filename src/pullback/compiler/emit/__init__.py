"""LLVM IR for a plan."""
