"""A UCI engine that does one thing wrong, chosen by its first argument."""

import os
import signal
import subprocess
import sys
import time


def say(line: str) -> None:
    print(line, flush=True)


def answer_go(mode: str) -> None:
    if mode == "crash_at_move":
        os._exit(3)
    elif mode == "crash_once":
        # The file remembers that it has crashed before.
        if not os.path.exists(sys.argv[2]):
            open(sys.argv[2], "w").close()
            os._exit(3)
        say("bestmove e2e4")
    elif mode == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if len(sys.argv) > 2:
            open(sys.argv[2], "w").close()
        time.sleep(600)
    elif mode == "hang_with_a_child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(sys.argv[2], "w") as file:
            file.write(str(child.pid))
        time.sleep(600)
    elif mode == "garbage":
        sys.stdout.buffer.write(b"\xff\xfe\x00 nonsense \x80\n" * 100)
        say("bestmove ziggy")
    elif mode == "garbage_then_move":
        sys.stdout.buffer.write(b"\xff\xfe\x00 nonsense \x80\n" * 100)
        say("info depth x score cp nonsense pv e2e5 e9e9")
        say("bestmove e2e4")
    elif mode == "illegal":
        say("bestmove e2e5")
    elif mode == "null_move":
        say("bestmove 0000")
    elif mode == "no_move":
        say("bestmove (none)")
    elif mode == "empty_move":
        say("bestmove")
    elif mode == "slow":
        time.sleep(0.4)
        say("info depth 3 score mate 2 nodes 77 wdl 900 80 20 pv e2e4 e7e5")
        say("bestmove e2e4 ponder e7e5")


def main() -> None:
    mode = sys.argv[1]
    if mode == "crash_at_start":
        sys.exit(1)
    if mode == "silent":
        time.sleep(600)
    for line in sys.stdin:
        word = line.split()[0] if line.split() else ""
        if word == "uci":
            if mode == "wrong_protocol":
                say("Error (unknown command): uci")
                continue
            say(f"id name {mode}")
            say("option name Patience type spin default 5 min 1 max 10")
            say("uciok")
        elif word == "isready":
            say("readyok")
        elif word == "go":
            answer_go(mode)
        elif word == "quit":
            return


if __name__ == "__main__":
    main()
