# SPDX-License-Identifier: GPL-2.0
"""What vfabswitchd promises to its peers, as a peer sees it; switchd.sh says how to run this."""

import array
import ctypes
import json
import mmap
import os
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

TOOL = "vfabswitchd"
os.environ["PATH"] = os.path.abspath("build/tools") + ":" + os.environ["PATH"]
NOBODY = 65534
count = failed = 0
log = ""


def ok(name, good, detail=""):
    global count, failed
    count += 1
    if not good:
        failed += 1
        for line in (str(detail) + "\n" + log).strip().splitlines()[-20:]:
            print("#", line)
    print(("ok" if good else "not ok"), count, "-", name, flush=True)


def soon(what, seconds=20):
    """Does it become true?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.02)
    return False


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


class Daemon:
    def __init__(self, name, *options, before=None, wait=True, env=None):
        self.name = name
        self.dir = os.path.join(tmp, name)
        self.err = open(os.path.join(tmp, name + ".err"), "w+")
        self.proc = subprocess.Popen([TOOL, "--dir", tmp, "--size", "32M", *options, name],
                                     stdout=subprocess.DEVNULL, stderr=self.err, env=env,
                                     preexec_fn=lambda: (die_with_parent(), before and before()))
        if wait:
            soon(lambda: self.proc.poll() is not None or "serves" in self.said())

    def said(self):
        global log
        self.err.flush()
        with open(self.err.name) as f:
            log = f.read()
        return log

    def fds(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/fd"))

    def show(self):
        out = subprocess.run([TOOL, "show", "-j", "--dir", tmp, self.name], capture_output=True)
        return json.loads(out.stdout)[0] if out.returncode == 0 else None

    def nodes(self):
        return self.show()["node"]

    def states(self):
        return [n["state"] for n in self.nodes()]

    def end(self, sig=signal.SIGTERM):
        self.proc.send_signal(sig)
        return self.proc.wait(20)


class Peer:
    """A connection; reads what it is told up to its own eventfds, unless told not to."""

    def __init__(self, daemon, sock="join", vectors=4, setup=True):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.path.join(daemon.dir, sock))
        self.sock.settimeout(20)
        self.vectors, self.id, self.region = vectors, None, None
        self.bells, self.own, self.order = {}, [], []
        if setup:
            self.setup()

    def message(self):
        """value, fd or None; None at the end"""
        fds = array.array("i")
        data, control, _, _ = self.sock.recvmsg(8, socket.CMSG_SPACE(4))
        if len(data) != 8:
            return None
        for _, _, c in control:
            fds.frombytes(c[:4])
        return struct.unpack("<q", data)[0], fds[0] if fds else None

    def setup(self):
        self.version = self.message()
        if self.version is None:
            raise EOFError
        self.id = self.message()[0]
        value, self.region = self.message()
        assert value == -1
        while len(self.own) < self.vectors:
            value, fd = self.message()
            self.order.append(value)
            (self.own if value == self.id else self.bells.setdefault(value, [])).append(fd)

    def told(self, n, seconds=20):
        """n more messages, or fewer"""
        self.sock.settimeout(seconds)
        got = []
        try:
            while len(got) < n:
                m = self.message()
                if m is None:
                    break
                got.append(m)
        except OSError:
            pass
        return got

    def refused(self):
        try:
            return self.sock.recv(8) == b""
        except OSError:
            return False

    def close(self):
        self.sock.close()
        for fd in sum(self.bells.values(), self.own) + [self.region]:
            if fd is not None:
                os.close(fd)


def as_user(uid, function):
    """In a child of that user: does function() hold?"""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os._exit(0 if function() else 1)
        except BaseException as e:
            print("#", repr(e), flush=True)
            os._exit(2)
    return os.waitpid(pid, 0)[1] == 0


def joins():
    d = Daemon("joins", "--nodes", "3", "--vectors", "2")
    ok("it serves", d.proc.poll() is None and "serves" in d.said())
    before = d.fds()
    a = Peer(d, vectors=2)
    ok("protocol 0, the first id is 0", a.version == (0, None) and a.id == 0, vars(a))
    ok("the memory has the size that was asked for", os.fstat(a.region).st_size == 32 << 20)
    b = Peer(d, vectors=2)
    ok("the second peer is told of the first, then of itself", b.order == [0, 0, 1, 1], b.order)
    told = a.told(2)
    ok("the first is told of the second", [t[0] for t in told] == [1, 1] and
       all(t[1] is not None for t in told), told)
    os.eventfd_write(told[1][1], 1)
    ok("what it rings is what the second hears, on that vector",
       os.eventfd_read(b.own[1]) == 1 and not select.select([b.own[0]], [], [], 0)[0])
    os.eventfd_write(b.bells[0][0], 1)
    ok("and the other way round", os.eventfd_read(a.own[0]) == 1)
    ma, mb = mmap.mmap(a.region, 32 << 20), mmap.mmap(b.region, 32 << 20)
    ma[31 << 20:(31 << 20) + 5] = b"hello"
    ok("both see the same memory", mb[31 << 20:(31 << 20) + 5] == b"hello")
    ok("which begins with the magic", mb[:8] == b"vfabbpln")
    try:
        os.ftruncate(b.region, 4096)
        short = True
    except PermissionError:
        short = False
    ok("nobody can make it shorter", not short)
    nodes = d.nodes()
    ok("the table shows both, and who they are",
       [(n["state"], n.get("peer"), n.get("pid")) for n in nodes] ==
       [("joined", 0, os.getpid()), ("joined", 1, os.getpid()), ("none", None, None)], nodes)
    text = subprocess.run([TOOL, "show", "--dir", tmp, "joins"], capture_output=True, text=True).stdout
    ok("as text, too", "node1: joined generation 1 since " in text and "vectors 2" in text, text)
    ok("with the state of a slot that is empty", nodes[0]["slot"] is None)

    b.close()
    told = a.told(1)
    ok("the first is told that the second left", told == [(1, None)], told)
    ok("the table says so", soon(lambda: d.states() == ["joined", "none", "none"]), d.states())
    c = Peer(d, vectors=2)
    ok("no id is given twice", c.id == 2, c.id)
    ok("a node that was never used comes before one that was left", d.states() ==
       ["joined", "none", "joined"])
    e = Peer(d, "node1", vectors=2)
    ok("a node can be asked for", d.nodes()[1].get("peer") == 3 and d.nodes()[1]["generation"] == 2)
    f = Peer(d, setup=False)
    ok("a fourth of three nodes is refused", f.refused() and "all 3 nodes are taken" in d.said())
    g = Peer(d, "node1", setup=False)
    ok("so is a node that another one is", g.refused() and "wants to be node 1" in d.said())
    ok("which is counted", d.show()["refused"] == 2)
    for p in (a, c, e, f, g):
        p.close()
    ok("no file descriptor is left of them", soon(lambda: d.fds() == before), (d.fds(), before))
    ok("SIGTERM ends it with status 0", d.end() == 0)
    ok("nothing of it is left", not os.path.exists(d.dir))
    ok("show says that nobody serves it", d.show() is None)


def strangers():
    if os.getuid():
        ok("other users # SKIP only root can be another user", True)
        return
    d = Daemon("own")
    ok("another user cannot connect", as_user(NOBODY, lambda: not reaches(d)))
    d.end()
    d = Daemon("strangers", "--allow", "1")

    def is_refused():
        p = Peer(d, setup=False)
        return p.refused()

    ok("where some other user may join, not every one may", as_user(NOBODY, is_refused) and
       f"of user {NOBODY}" in d.said())
    ok("nor ask", as_user(NOBODY, lambda: d.show() is None))
    ok("that other user may", as_user(1, lambda: Peer(d).id == 0))
    ok("and is in the table", d.nodes()[0]["generation"] == 1)
    d.end()


def reaches(d):
    try:
        Peer(d, setup=False)
        return True
    except PermissionError:
        return False


def bad_peers():
    d = Daemon("bad", "--nodes", "4", "--vectors", "4", "--stall", "2")
    a = Peer(d)
    slow = Peer(d, setup=False)
    soon(lambda: d.states()[1] == "joined")
    # Each of these is 5 messages for who does not read; the kernel takes some hundreds
    turns, left = 0, False
    while d.states()[1] == "joined" and turns < 500:
        turns += 1
        p = Peer(d)
        p.close()
        for value, fd in a.told(5 if turns > 1 else 9, 5):
            left |= (value, fd) == (1, None)
            if fd is not None:
                os.close(fd)
    ok("a peer that does not read is served no more", d.states()[1] == "mute", (turns, d.states()))
    ok("after more than a few messages", 20 < turns < 500, turns)
    ok("others go on", a.sock.fileno() >= 0 and d.states()[0] == "joined")
    ok("they are told that it left", left or (1, None) in a.told(2, 5))
    p = Peer(d)
    ok("a newcomer is not told of it", 1 not in p.bells, p.order)
    ok("its node is not free: it may still write", d.states()[1] == "mute")
    slow.close()
    ok("until its connection ends", soon(lambda: d.states()[1] == "none"))
    p.close()

    speaks = Peer(d)
    speaks.sock.send(b"hello")
    ok("a peer that speaks is served no more", soon(lambda: "mute" in d.states()), d.states())
    speaks.close()
    half = Peer(d)
    half.sock.shutdown(socket.SHUT_WR)
    ok("nor one that shuts its side", soon(lambda: "mute" in d.states()), d.states())
    half.close()
    ok("what ends is free", soon(lambda: d.states() == ["joined"] + ["none"] * 3), d.states())
    ok("each was counted", d.show()["muted"] == 3)

    cpu = sum(os.times()[2:4]), time_of(d)
    slow = Peer(d)
    slow.sock.send(b"x" * 1000)
    time.sleep(1.5)
    used = time_of(d) - cpu[1]
    ok("one that is mute costs no time", used < 0.5, used)
    slow.close()

    # A region that a node wrote rubbish to
    m = mmap.mmap(a.region, 32 << 20)
    m[0:65536] = os.urandom(65536)
    ok("the table is what the daemon knows, whatever is in the memory",
       d.states() == ["joined"] + ["none"] * 3 or soon(lambda: d.states() == ["joined"] + ["none"] * 3, 2))
    ok("what is written over its slot is mended within seconds", soon(lambda: m[:8] == b"vfabbpln", 5))
    m[65536:65536 + 64] = b"\xff" * 63 + b"\xfe"
    ok("a slot of rubbish is shown as such", d.nodes()[0]["slot"] == {"state": "garbled"}, d.nodes()[0])
    m[65536:65536 + 64] = struct.pack("<IIQIIIII28x", 2, 2, 3 << 32 | 17, 1, 500, 10000, 5, 6)
    slot = {"state": "active", "incarnation": "3.17", "cooperative": True, "endpoints": 5, "windows": 6}
    ok("one that makes sense, as what it says", d.nodes()[0]["slot"] == slot, d.nodes()[0])
    text = subprocess.run([TOOL, "show", "--dir", tmp, d.name], capture_output=True, text=True).stdout
    ok("as text, too", "slot active incarnation 3.17 cooperative yes endpoints 5 windows 6\n" in text, text)
    a.close()
    d.end()


def stalls():
    d = Daemon("stalls", "--nodes", "64", "--vectors", "16", "--size", "256M", "--stall", "2")
    slow = Peer(d, setup=False)
    soon(lambda: d.states()[0] == "joined")
    # More than the kernel takes, less than is kept
    for _ in range(30):
        Peer(d, vectors=16).close()
    ok("a peer that does not read has time", d.states()[0] == "joined")
    ok("but not for ever", soon(lambda: d.states()[0] == "mute") and "for too long" in d.said())
    slow.close()
    d.end()

    d = Daemon("late", "--nodes", "8")
    late = Peer(d)
    # 5 messages each, all of them more than the kernel takes and the queue holds
    others = threading.Thread(target=lambda: [Peer(d).close() for _ in range(150)])
    others.start()
    others.join(3)
    ok("while somebody is far behind, newcomers wait", others.is_alive())
    while others.is_alive():
        while select.select([late.sock], [], [], 0.01)[0]:
            m = late.message()
            if m[1] is not None:
                os.close(m[1])
    ok("who reads late is driven out by nobody who comes and goes quickly",
       d.states()[0] == "joined" and d.show()["muted"] == 0, d.states())
    late.close()
    d.end()


def time_of(d):
    with open(f"/proc/{d.proc.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def many():
    d = Daemon("many", "--nodes", "8")
    first = Peer(d)
    before = d.fds()
    start = time.monotonic()
    for i in range(1000):
        Peer(d, setup=False).close()
        if i % 20 == 19:
            while select.select([first.sock], [], [], 0)[0]:
                m = first.message()
                if m[1] is not None:
                    os.close(m[1])
    took = time.monotonic() - start
    print(f"# 1000 connections in {took:.1f} s")

    def drained():
        while select.select([first.sock], [], [], 0)[0]:
            m = first.message()
            if m[1] is not None:
                os.close(m[1])
        return d.fds() == before
    ok("a thousand connections leave no file descriptor", soon(drained), (d.fds(), before))
    s = d.show()
    ok("each is in the books", s["joined"] + s["refused"] == 1001, s)
    ok("and who was there before still is", d.states()[0] == "joined", d.said())
    soon(lambda: "none" in d.states())
    p = Peer(d)
    ok("the last one has the next id", p.id == s["joined"], p.id)
    p.close()
    first.close()
    d.end()


def ids():
    d = Daemon("ids", "--nodes", "64", "--vectors", "1", "--size", "256M")
    while d.show()["joined"] < 65536 and d.proc.poll() is None:
        for _ in range(500):
            Peer(d, setup=False).close()
    last = Peer(d, setup=False)
    ok("after 65536 peers nobody joins", last.refused() and "all 65536 peer ids were used" in d.said())
    d.end()


def limits():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
    d = Daemon("few", before=few)
    ok("too few open files are refused before anybody joins",
       d.proc.wait(20) == 1 and "needs " in d.said() and "open files" in d.said())
    d = Daemon("files", "--nodes", "8")
    limit = d.fds() + 12
    was = resource.prlimit(d.proc.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(d.proc.pid, resource.RLIMIT_NOFILE, (limit, was[1]))
    peers = [Peer(d), Peer(d)]
    last = Peer(d, setup=False)
    ok("where eventfds run out, a peer is refused", last.refused() and "no eventfds" in d.said())
    keep = [Peer(d, setup=False) for _ in range(3)]
    ok("all are, and none hangs", all(k.refused() for k in keep))
    resource.prlimit(d.proc.pid, resource.RLIMIT_NOFILE, (d.fds(), was[1]))
    last = Peer(d, setup=False)
    ok("where there is none for the connection, too", last.refused() and
       "out of file descriptors" in d.said())
    ok("others have noticed nothing", peers[0].told(4) and d.proc.poll() is None)
    for p in peers:
        p.close()
    resource.prlimit(d.proc.pid, resource.RLIMIT_NOFILE, was)
    ok("afterwards it lets in again", soon(lambda: Peer(d, setup=True).id is not None))
    d.end()

    d = Daemon("huge", "--hugepages", "2M")
    if d.proc.poll() is None:
        p = Peer(d)
        ok("huge pages", os.fstatvfs(p.region).f_bsize == 2 << 20)
        p.close()
        d.end()
    else:
        ok("huge pages that are not there are refused", d.proc.returncode == 1 and
           "nr_hugepages" in d.said() and not os.path.exists(d.dir))


def places():
    d = Daemon("place")
    p = Peer(d)
    other = Daemon("place")
    ok("a name that is served is refused", other.proc.wait(20) == 1 and
       f"served already, by process {d.proc.pid}" in other.said())
    ok("and goes on", d.states()[0] == "joined")
    uuid = d.show()["uuid"]
    d.end(signal.SIGKILL)
    ok("killed, it leaves its sockets", os.path.exists(os.path.join(d.dir, "join")))
    ok("who is joined has its memory", mmap.mmap(p.region, 32 << 20)[:8] == b"vfabbpln")
    ok("and sees the end of the connection", p.told(1, 5) == [])
    d = Daemon("place")
    ok("another one takes the place of one that was killed", d.proc.poll() is None and
       Peer(d).id == 0, d.said())
    ok("with another memory, and another UUID", d.show()["uuid"] != uuid)
    p.close()
    for sig in (signal.SIGINT, signal.SIGHUP):
        ok(f"{sig.name} ends it", d.end(sig) == 0 and not os.path.exists(d.dir))
        d = Daemon("place")
    d.end()

    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(os.path.join(tmp, "notify"))
    listener.settimeout(20)
    d = Daemon("told", env={**os.environ, "NOTIFY_SOCKET": os.path.join(tmp, "notify")})
    ok("a service manager is told", listener.recv(100) == b"READY=1")
    p = Peer(d)
    d.end()
    ok("also of the end", listener.recv(100) == b"STOPPING=1")
    m = mmap.mmap(p.region, 32 << 20)
    ok("which the memory says, too", m[4100:4104] == b"\0\0\0\0")
    p.close()


def refusals():
    for options, text in (
            (["--size", "48M"], "not a power of two"), (["--size", "16M"], "they need 32M"),
            (["--size", "1x"], "not a number of bytes"), (["--size", ""], "not a number of bytes"),
            (["--size", "2048G"], "not a number of bytes"), (["--nodes", "0"], "from 1 to 64"),
            (["--nodes", "65"], "from 1 to 64"), (["--vectors", "17"], "from 1 to 16"),
            (["--hugepages", "4M"], "not 2M or 1G"), (["--hugepages", "1G"], "less than a huge page"),
            (["--allow", "no such user"], "no user of this machine"), (["--stall", "0"], "from 1 to 3600"),
            (["--json"], "goes with show"), (["--nosuch"], "unrecognized option"),
            (["more"], "is one too many")):
        r = subprocess.run([TOOL, "--dir", tmp, "--size", "32M", *options, "refused"],
                           capture_output=True, text=True)
        ok(f"refused: {' '.join(options)}", r.returncode == 2 and text in r.stderr and not r.stdout and
           r.stderr.startswith("vfabswitchd: ") and not os.path.exists(os.path.join(tmp, "refused")),
           r.stderr)
    for name in ("", "a/b", ".x", "a b", "x" * 33):
        r = subprocess.run([TOOL, "--dir", tmp, name], capture_output=True, text=True)
        ok(f"refused: the name '{name}'", r.returncode == 2 and "is no name" in r.stderr, r.stderr)
    for words, text in ((["show", "--nodes", "3", "x"], "takes --json and --dir only"),
                        (["show"], "name a backplane"), ([], "name a backplane")):
        r = subprocess.run([TOOL, *words], capture_output=True, text=True)
        ok(f"refused: {' '.join(words) or 'no name'}", r.returncode == 2 and text in r.stderr, r.stderr)
    r = subprocess.run([TOOL, "show", "--dir", tmp, "nobody"], capture_output=True, text=True)
    ok("show: nobody serves it", r.returncode == 1 and "start vfabswitchd nobody" in r.stderr, r.stderr)
    r = subprocess.run([TOOL, "--dir", tmp + "/" + "d" * 90, "x"], capture_output=True, text=True)
    ok("a directory with too long a name", r.returncode == 1 and "shorter --dir" in r.stderr, r.stderr)


tmp = tempfile.mkdtemp(prefix="vfs")
os.chmod(tmp, 0o755)
signal.alarm(300)
try:
    for test in [globals()[w] for w in sys.argv[1:]] or [joins, strangers, bad_peers, stalls, many, ids, limits, places,
                                                         refusals]:
        test()
finally:
    shutil.rmtree(tmp, ignore_errors=True)
print(f"1..{count}")
sys.exit(failed != 0)
