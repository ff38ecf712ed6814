"""From predictions to scores, exactly as the field computes them."""
