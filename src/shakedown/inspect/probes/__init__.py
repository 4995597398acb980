"""Scripts that run in an engine's own interpreter and import nothing of Shakedown.

``python SCRIPT QUESTION.json ANSWER.json``: the question lists candidates' arguments, the answer holds the flags of the
engine's own parser and what its own argument object made of each candidate. Answers go to a file because engines print
to both standard streams while they are imported.
"""
