"""Looking inside: `pb.show` draws, `pb.memory` counts what is kept for backward, `pb.profile` says what takes time."""

from pullback.pictures.door import show
from pullback.pictures.memory import memory
from pullback.pictures.picture import Picture
from pullback.pictures.profile import profile

__all__ = ["Picture", "memory", "profile", "show"]
