"""Calendars: when work is welcome. Windows of the week, holidays, and freezes."""
