"""What the page's template shows, worked out: the template itself only places it."""
