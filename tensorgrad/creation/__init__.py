"""Making tensors: from numbers and by rule (`filled`), at random (`sampling`), by torch's old names (`typed`)."""
