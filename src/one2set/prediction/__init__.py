"""Prediction: a torch network reads documents; every slot it writes comes out, raw."""
