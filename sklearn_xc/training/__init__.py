"""What the passes of a fit share: order, rates, weights, rows of streams, when to stop."""
