"""Whose a file is: what is kept between runs is believed, so nobody else may have written it."""

import os
import stat


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else can write into it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
