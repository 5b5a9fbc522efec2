from citeboard.core.words import sentence


class Refused(Exception):
    status = 409

    def answer(self) -> dict[str, object]:
        return {"detail": sentence(self)}
