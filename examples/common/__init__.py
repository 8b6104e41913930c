"""What the scripts of these examples share: how their options are read, how they end, what they say of bad input."""
