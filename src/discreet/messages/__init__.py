"""Messages: what crosses the wall between a device and a collector is written and read here, once.

`rounds` describes what is asked, `uploads` carries the reports, `ids` says who may send one.
"""
