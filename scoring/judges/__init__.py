"""Judges that an operator declares (local models and chat endpoints), and the questions
that the site asks them.
"""
