"""Any registered Gymnasium environment, one world or many."""
