"""When requests are sent: pure, seeded functions that give absolute offsets."""
