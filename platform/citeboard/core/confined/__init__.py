"""Run programs in sandboxed processes with limited resources, one readable folder and
no network. This package does not import Django.
"""

#: The uploaded file has the name UPLOAD_FILE_NAME in the working folder of its reader.
UPLOAD_FILE_NAME = "upload"
