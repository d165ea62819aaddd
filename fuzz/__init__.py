"""Fuzz targets of everything that reads untrusted bytes: `python -m fuzz`, by `make fuzz`."""
