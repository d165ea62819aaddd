"""Trees: their arrays, how they are grown, how they predict."""
