"""Merge two INI configuration files."""

import configparser
import sys

def (first, second:
    parser = configparser.ConfigParser()
