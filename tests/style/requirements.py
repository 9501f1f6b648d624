"""Rows of tests/coverage beside the requirements that they are about: a row keeps the requirement's words, or says that it
does not."""
import re

def words_of(text):
    return " ".join(re.findall(r"[\w$+<=/.*^-]*\w", text.lower().replace("`", "").replace('"', "")))


def read(text):
    """Number to words, of a file of requirements."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {number: words for number, _, words in (line.partition(" ") for line in lines)}


def reworded(row, requirements):
    """What of a row's words is not the requirement's, or None. Phrases may be left out, and stand in another order."""
    requirement = requirements.get(re.match(r"[^.]*", row["id"])[0])
    if requirement is None or "reworded" in row:
        return None
    known = f" {words_of(requirement)} "
    for phrase in re.split(r"[;:,()]", row["promise"]):
        words = words_of(phrase)
        if words and f" {words} " not in known:
            return phrase.strip()
    return None
