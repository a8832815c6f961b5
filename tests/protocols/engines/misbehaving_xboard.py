"""An xboard engine that does one thing, mostly wrong, chosen by its first argument."""

import os
import sys
import time


def say(line: str) -> None:
    print(line, flush=True)


def answer_go(mode: str) -> None:
    if mode == "resign":
        say("resign")
    elif mode == "offer_draw":
        say("offer draw")
        say("move e2e4")
    elif mode == "illegal":
        say("move e2e5")
    elif mode == "garbage":
        say("move ziggy")
    elif mode == "error":
        say("Error (too lazy): go")
    elif mode == "crash_at_move":
        os._exit(3)
    elif mode == "hang":
        time.sleep(600)
    elif mode == "fine":
        say("4 35 10 1234 e2e4 e7e5")
        say("move e2e4")


def main() -> None:
    mode = sys.argv[1]
    for line in sys.stdin:
        word = line.split()[0] if line.split() else ""
        if word == "protover":
            setboard = int(mode != "no_setboard")
            say(f'feature ping=1 setboard={setboard} usermove=1 myname="odd" sigint=0 colors=0 done=1')
        elif word == "ping":
            say("pong " + line.split()[1])
        elif word == "go":
            answer_go(mode)
        elif word == "quit":
            return


if __name__ == "__main__":
    main()
