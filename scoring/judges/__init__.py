"""Declare the judges that an operator offers (local models and chat endpoints), and put
questions to them.
"""
