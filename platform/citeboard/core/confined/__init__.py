"""Run programs in sandboxed processes with limited resources, one readable folder and
no network. This package does not import Django.
"""

#: Name of the uploaded file in the working folder of the program that reads the file.
UPLOAD = "upload"
