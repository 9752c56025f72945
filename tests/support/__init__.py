"""What tests of several folders share: tests/conftest.py makes it importable as `support`."""
