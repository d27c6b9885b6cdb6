"""Runs a command on a pseudo terminal, as a user would.

Argument: JSON {"argv": [...], "steps": [{"wait": text, "send": text, "size": [rows, columns]}, ...], "timeout": seconds,
"hangup": bool, "signal": number, "size": [rows, columns], "raw": bool}.
Each step waits until its text was printed since the last step (unless raw, leaving out what moves the cursor, and status
lines), gives the window another size where it has one, then types; after the last one, `hangup` closes the
terminal, or `signal` is sent. Prints JSON {"output", "text", "code", "missed", "cooked"}; "text" is
what steps look at; "cooked" tells whether the terminal
was left as one that edits lines and echoes; the code of a process that a signal ended is minus its number.
"""
import fcntl, json, os, pty, re, select, struct, sys, termios, time

job = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execv(job["argv"][0], job["argv"])


def resize(size):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


resize(job.get("size", [24, 80]))


def plain():
    """What was printed as text: no status lines (between save and restore cursor), no control sequences."""
    if job.get("raw"):
        return output
    whole = re.sub(rb"(\x1bD\x1b\[A)?\x1b7(?:(?!\x1b8).)*(\x1b8|$)", b"", output, flags=re.S)
    return re.sub(rb"\x1b(\[[\d;?]*([A-Za-z]|$)|[78D]|$)", b"", whole)


output, seen, steps, code = b"", 0, job["steps"], None
end = time.time() + job["timeout"]
while time.time() < end:
    while steps and steps[0]["wait"].encode() in plain()[seen:]:
        seen = plain().index(steps[0]["wait"].encode(), seen) + len(steps[0]["wait"].encode())
        time.sleep(0.05)
        step = steps.pop(0)
        if step.get("size"):
            resize(step["size"])
        os.write(terminal, step["send"].encode())
    if job.get("hangup") and not steps:
        os.close(terminal)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        break
    if job.get("signal") and not steps:
        os.kill(pid, job.pop("signal"))
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            chunk = b""
        if not chunk:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            break
        output += chunk
if code is None:
    os.kill(pid, 9)
flags = 0 if job.get("hangup") else termios.tcgetattr(terminal)[3]
cooked = flags & (termios.ICANON | termios.ECHO) == termios.ICANON | termios.ECHO
missed = [step["wait"] for step in steps]
print(json.dumps({"output": output.decode(errors="replace"), "text": plain().decode(errors="replace"), "code": code, "missed": missed, "cooked": cooked}))
