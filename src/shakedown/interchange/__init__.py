"""Results of campaigns and of load generators, Shakedown's own and others', as one kind of value."""
