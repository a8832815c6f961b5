"""The one exception that a user may see.

Whatever a person can get wrong (a file, a name, a setting) ends as a
`UserError` whose message is one clear sentence; the command line prints it and
exits with 2. Anything else that escapes is a bug and shows its traceback.
"""


class UserError(Exception):
    """Something the user can mend; the message is one sentence with the culprit in it."""
