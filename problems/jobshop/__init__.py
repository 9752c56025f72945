"""The job shop: classic, with release and due dates, with flexible machines."""
