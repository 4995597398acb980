"""The only room that puts the stages in order: runner, remedies, budget, resume, places."""
