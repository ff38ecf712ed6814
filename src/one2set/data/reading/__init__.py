"""From files of any format to documents."""
