"""Downstairs: how a primitive is evaluated, chosen by the type of its payloads. No gradients here. Internal."""
