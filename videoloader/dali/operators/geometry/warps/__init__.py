"""Pictures and volumes whose pixels come from other places: by matrices, by maps and by rules."""
