"""A terminal that a program writes to: a pseudo terminal and the screen that one would see.

Standard library only.  The screen knows what the program may use, and fails on anything else.
"""

import fcntl
import os
import pty
import re
import select
import struct
import termios

ESCAPE = re.compile(r"\x1b\[(\d*)([AJKm])")


class Screen:
    """Lines of text with a cursor, which wrap and scroll as those of a terminal do."""

    def __init__(self, columns: int, lines: int) -> None:
        """An empty one."""
        self.columns, self.lines = columns, lines
        self.scrolled: list[str] = []  # out of the top
        self.rows = [""] * lines
        self.x = self.y = 0

    @property
    def text(self) -> str:
        """What is seen, without the empty lines below."""
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n")

    @property
    def all(self) -> str:
        """The same, with what was scrolled out before."""
        return "\n".join([row.rstrip() for row in self.scrolled] + [self.text])

    def resize(self, columns: int, lines: int) -> None:
        """Other sizes: lines are cut, and leave at the top, as in xterm."""
        while len(self.rows) > max(lines, self.y + 1):
            self.rows.pop()
        while len(self.rows) > lines:
            self.scrolled.append(self.rows.pop(0))
            self.y -= 1
        self.rows = [row[:columns] for row in self.rows] + [""] * (lines - len(self.rows))
        self.columns, self.lines, self.x = columns, lines, min(self.x, columns - 1)

    def feed(self, text: str) -> None:
        """Shows what a program has written."""
        while text:
            escape = ESCAPE.match(text)
            if escape:
                self._obey(escape[2], int(escape[1] or 0))
                text = text[escape.end() :]
            else:
                self._put(text[0])
                text = text[1:]

    def _obey(self, what: str, number: int) -> None:
        if what == "A":
            self.y = max(self.y - max(number, 1), 0)
        elif what in "JK":
            assert number == 0, number
            self.rows[self.y] = self.rows[self.y][: self.x]
            if what == "J":
                self.rows[self.y + 1 :] = [""] * (self.lines - self.y - 1)

    def _put(self, character: str) -> None:
        if character == "\r":
            self.x = 0
            return
        if character == "\n" or self.x == self.columns:
            self.x = 0 if character != "\n" else self.x
            self.y += 1
            if self.y == self.lines:
                self.scrolled.append(self.rows.pop(0))
                self.rows.append("")
                self.y -= 1
        if character != "\n":
            assert character.isprintable(), repr(character)
            row = self.rows[self.y].ljust(self.x)
            self.rows[self.y] = row[: self.x] + character + row[self.x + 1 :]
            self.x += 1


class Terminal:
    """A pseudo terminal with its screen; `end` is what a program gets as its streams."""

    def __init__(self, columns: int, lines: int) -> None:
        """Opens one of that size."""
        self.controller, self.end = pty.openpty()
        self.screen = Screen(columns, lines)
        self.raw = ""  # all that was written
        self._unfinished = ""  # the beginning of an escape
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        """Gives the terminal another size."""
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(columns, lines)

    def read(self, seconds: float = 0.01) -> bool:
        """Shows what is there or comes within that time; whether there was anything."""
        ready = select.select([self.controller], [], [], seconds)[0]
        try:
            part = os.read(self.controller, 65536).decode() if ready else ""
        except OSError:  # all programs have ended
            part = ""
        self.raw += part
        text = self._unfinished + part
        whole = re.sub(r"\x1b(\[\d*)?$", "", text)
        self.screen.feed(whole)
        self._unfinished = text[len(whole) :]
        return bool(part)

    def close(self) -> None:
        """Gives the descriptors back."""
        os.close(self.controller)
        os.close(self.end)
