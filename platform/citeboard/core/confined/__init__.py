"""Programs in processes of their own that may use little, see one folder and reach nothing. Plain Python."""

#: What a program calls the file that somebody sent, in its folder.
UPLOAD = "upload"
