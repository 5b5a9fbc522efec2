"""Provide the judges that an operator declares (local models and chat endpoints), and
put questions to these judges.
"""
