from citeboard.core.words import format_as_sentence


class ActionRefused(Exception):
    status = 409

    def answer(self) -> dict[str, object]:
        return {"detail": format_as_sentence(self)}
