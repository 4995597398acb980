"""The load generator: schedules (pure), prompts, the asyncio generator, stop conditions."""
