"""Trees: their structure and the growers that make them."""
