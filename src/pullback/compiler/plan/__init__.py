"""From loop nests to a plan: what is launched, where it writes, how it is split."""
