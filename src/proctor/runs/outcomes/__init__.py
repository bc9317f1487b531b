"""Outcomes that were counted elsewhere: a reader for each kind of file, and the rows that all of them become.

A reader gives `Raw` rows, cells by the names of the columns of a CSV file; `rows` checks them. What a file does not say
is left out, and a note says so; nothing is made up for it.
"""
