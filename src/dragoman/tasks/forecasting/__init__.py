"""Forecasting: a series in, its next rows out."""
