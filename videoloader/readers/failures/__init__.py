"""What happens to samples that fail, and what is known of them."""
