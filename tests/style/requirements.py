"""Rows of docs/coverage.md beside the requirements that they are about: a row keeps the requirement's words, or says that it
does not."""
import re

# What may stand behind the requirement's words, in brackets.
NOTE = re.compile(r" \((?:partly|not done|by reading|reworded|also|measured)\b")


def words_of(text):
    return " ".join(re.findall(r"[\w$+<=/.*^-]*\w", text.lower().replace("`", "").replace('"', "")))


def read(text):
    """Number to words, of a file of requirements."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {number: words for number, _, words in (line.partition(" ") for line in lines)}


def reworded(row, promise, requirements):
    """What of a row's words is not the requirement's, or None. Phrases may be left out, and stand in another order."""
    requirement = requirements.get(re.match(r"[^.]*", row)[0])
    if requirement is None or "(reworded: " in promise:
        return None
    note = NOTE.search(promise)
    known = f" {words_of(requirement)} "
    for phrase in re.split(r"[;:,()]", promise[:note.start()] if note else promise):
        words = words_of(phrase)
        if words and f" {words} " not in known:
            return phrase.strip()
    return None
