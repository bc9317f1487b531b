"""A double of LeRobot, as far as the `lerobot` loader meets it: the same names, queues and processors around
networks of one matrix. What the genuine package showed it wrong was corrected here (tests/test_real_lerobot.py)."""
