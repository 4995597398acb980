"""Gates: smoke, accuracy, long context, tool calls."""
