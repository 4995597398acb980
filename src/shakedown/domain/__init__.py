"""The words of Shakedown as types; imports nothing above itself and does no IO."""
