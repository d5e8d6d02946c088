"""From listings and orders of videos to the clips that are wanted of them."""
