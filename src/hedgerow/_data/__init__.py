"""From any table to a matrix of bins."""
