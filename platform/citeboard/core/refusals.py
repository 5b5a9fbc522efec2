from citeboard.core.words import as_sentence


class Refused(Exception):
    status = 409

    def answer(self) -> dict[str, object]:
        return {"detail": as_sentence(self)}
