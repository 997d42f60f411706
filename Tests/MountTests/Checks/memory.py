"""memory.py PID PATTERN...: how often each pattern (hex) is in the memory of a process, as far as it can be read."""
import sys


def regions(process):
    with open(f"/proc/{process}/maps") as maps:
        for line in maps:
            bounds, rights = line.split()[:2]
            if rights.startswith("r") and "[vvar" not in line and "[vsyscall" not in line:
                start, end = (int(text, 16) for text in bounds.split("-"))
                yield start, end, line.rstrip()


def count(process, patterns):
    found = {pattern: 0 for pattern in patterns}
    longest = max(len(pattern) for pattern in patterns)
    total = 0
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for start, end, line in regions(process):
            tail = b""
            place = start
            while place < end:
                memory.seek(place)
                try:
                    piece = memory.read(min(1 << 20, end - place))
                except OSError:
                    # Memory that even the kernel does not hand out, memfd_secret(2).
                    break
                if not piece:
                    break
                total += len(piece)
                text = tail + piece
                for pattern in patterns:
                    number = text.count(pattern)
                    found[pattern] += number
                    if number:
                        print(f"{pattern[:24]!r}: {number} in {line}", file=sys.stderr)
                tail = text[len(text) - longest + 1:]
                place += len(piece)
    return found, total


found, total = count(sys.argv[1], [bytes.fromhex(word) for word in sys.argv[2:]])
print(total, *found.values())
