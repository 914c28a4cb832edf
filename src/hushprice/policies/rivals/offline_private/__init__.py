"""Inspired by Lei, Miao and Momot on private personalized prices from a log, which then stay."""
