"""The lab: an emulated machine on which anyone tries, tests and measures SHIMOS.

Everything here runs inside the tool root that ``lab/enter`` makes.
"""
