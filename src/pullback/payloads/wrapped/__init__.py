"""Payloads that users define, made of parts.

| module  | what                                                                             |
|---------|----------------------------------------------------------------------------------|
| payload | `Payload`, the class to derive from                                              |
| rules   | which rule evaluates an operator: by its name, by its groups, or the default     |
| taking  | gradients that are converted, where the pass is differentiated                   |
| members | what upstairs expects of every payload, also of classes that are not derived     |
"""

from __future__ import annotations

from pullback.payloads.batched.indexing import read, store
from pullback.payloads.operators import bind_operators
from pullback.payloads.wrapped import taking  # noqa: F401  (declares its operators)
from pullback.payloads.wrapped.payload import Payload

__all__ = ["Payload"]

bind_operators(Payload, read, store)
