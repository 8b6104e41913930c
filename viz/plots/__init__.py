"""What the pictures that matplotlib draws share."""
