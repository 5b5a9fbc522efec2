"""Programs in processes of their own that may use little, see one folder and reach nothing. Plain Python."""

#: Name of the uploaded file in the folder of the program that reads it.
UPLOAD = "upload"
