# SPDX-License-Identifier: GPL-2.0
"""What libvfab promises to a process that is a node of a backplane; coop.sh runs this.

bpowner is the node that has a domain, each coopnode another node with an endpoint. The
domain has four ranks on nodes 1 to 4, by two planes.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOOLS = 'build/tools'
TMP = tempfile.mkdtemp()
PROCS = []
COUNT = FAILED = 0


@atexit.register
def clean_up():
    """Nothing is left"""
    for proc in PROCS:
        if proc.poll() is None:
            proc.kill()
            proc.wait()
    shutil.rmtree(TMP)


def ok(name, good, *why):
    """One line of TAP"""
    global COUNT, FAILED
    COUNT += 1
    if not good:
        FAILED = 1
        for line in why:
            print('#', line)
    print('ok' if good else 'not ok', COUNT, '-', name, flush=True)


class Talk:
    """A program that answers each line with one"""
    def __init__(self, *args):
        self.proc = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)
        PROCS.append(self.proc)

    def send(self, line):
        """Without waiting for the answer"""
        self.proc.stdin.write(line + '\n')
        self.proc.stdin.flush()

    def hear(self):
        """The answer"""
        return self.proc.stdout.readline().strip()

    def ask(self, line):
        """Both"""
        self.send(line)
        return self.hear()

    def kill(self):
        """SIGKILL"""
        self.proc.kill()
        self.proc.wait()


def says(name, node, line, want):
    """A command's answer begins so"""
    got = node.ask(line)
    ok(name, got == want or got.startswith(want + ' '), f'{line}: {got!r}, not {want!r}')
    return got


def refused(name, node, line, error, text):
    """A command's error, and some of its sentence"""
    got = node.ask(line)
    ok(name, got.startswith(error + ' ') and text in got, f'{line}: {got!r}')


def until(node, line, want, seconds=20):
    """The answer becomes so; how long it took"""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        got = node.ask(line)
        if want in got:
            break
        time.sleep(0.05)
    return want in got, time.monotonic() - began, got


def domain(node):
    """The domain as this node joins it"""
    return f'backplane:{TMP}/rack/node{node}/job'


def open_node(rank):
    """A process at this rank"""
    node = Talk(f'{TOOLS}/test/coopnode')
    got = node.ask(f'open {domain(rank + 1)} {rank}')
    if got != 'ok':
        ok(f'rank {rank} attaches', False, got)
    return node


def attaching():
    """Who may attach"""
    node = Talk(f'{TOOLS}/test/coopnode')
    refused('a path that is none', node, 'open backplane:rack/job 0', 'EINVAL', 'backplane:SOCKET/DOMAIN')
    refused('a domain that is not named', node, f'open backplane:{TMP}/rack/node1/ 0', 'EINVAL', 'is not')
    refused('nobody serves', node, f'open backplane:{TMP}/none/node1/job 0', 'ENOENT', 'start vfabswitchd')
    refused('no such domain', node, f'open backplane:{TMP}/rack/node1/jobs 0', 'ENOENT', 'has a domain "jobs"')
    refused("another node's rank", node, f'open {domain(1)} 1', 'EXDEV', 'is placed on node 2')
    refused('no such rank', node, f'open {domain(1)} 4', 'EINVAL', "4 ranks")
    refused('a node that there is not', node, f'open {domain(9)} 0', 'ENOENT', 'start vfabswitchd')
    says('it attaches', node, f'open {domain(1)} 0', 'ok')
    refused('the rank is held', node, f'second {domain(1)} 0', 'EBUSY', 'is held')
    refused('every rank is', node, f'second {domain(1)} 4294967295', 'EHOSTUNREACH', 'is held')
    other = Talk(f'{TOOLS}/test/coopnode')
    refused('the node is taken', other, f'open {domain(1)} 0', 'EPROTO', 'another may be this node')
    says('nothing is there', node, 'peer 1', 'ok vacant paths 2 losses 0')
    says('it lets go', node, 'close', 'ok')
    says('and attaches again', node, f'open {domain(1)} 4294967295', 'ok')
    node.kill()
    for ranks, status in (('0', 0), ('0-1', 2)):
        got = subprocess.run([f'{TOOLS}/vfabrun', '--domain', domain(1), '--ranks', ranks, 'true'],
                             stderr=subprocess.PIPE, text=True, check=False)
        ok(f'vfabrun starts {ranks}: status {status}', got.returncode == status and
           (not status or 'is one node of a backplane' in got.stderr), got)


def windows():
    """Memory and doorbells of two nodes"""
    a, b = open_node(0), open_node(1)
    good, _, got = until(a, 'peer 1', 'ok held')
    ok('they see each other', good, got)
    refused('no such tag', a, 'lookup 1 5 0', 'ENOENT', 'tag 5')
    a.send('lookup 1 5 20000')
    time.sleep(0.3)
    says('a window', b, 'alloc 8192 5 rw', 'ok')
    ok('who waits for it finds it', a.hear() == 'ok')
    says('it is imported', a, 'import rw absorb', 'ok')
    says('it is zeroed', a, 'load peer 7', 'ok 0')
    says('a store', a, 'store peer 7 abc', 'ok')
    says('is seen', b, 'load own 7', 'ok abc')
    refused('a tag twice', b, 'alloc 4096 5 rw', 'EEXIST', 'tag 5')
    refused('no room', b, 'alloc 100000000000 0 rw', 'EINVAL', 'are possible')
    a.send('add peer 0 100000')
    b.send('add own 0 100000')
    ok('additions', a.hear() == b.hear() == 'ok')
    says('all count', a, 'load peer 0', f'ok {0x200000:x}')
    b.send('wait 3 20000')
    time.sleep(0.3)
    says('a doorbell', a, 'ring 1 3', 'ok')
    ok('wakes who sleeps', b.hear() == 'ok')
    refused('nobody rings', b, 'wait 3 100', 'ETIMEDOUT', 'nobody rang')
    says('an eventfd', b, 'bind 4', 'ok')
    says('nothing yet', b, 'poll 100', 'ETIMEDOUT')
    says('a doorbell', a, 'ring 1 4', 'ok')
    says('is told', b, 'poll 20000', 'ok')
    refused('a doorbell of nobody', a, 'ring 2 0', 'EHOSTUNREACH', 'nothing is attached')

    says('the window is freed', b, 'free', 'ok')
    says('the import reads all ones', a, 'load peer 7', f'ok {2**64 - 1:x}')
    says('a store goes nowhere', a, 'store peer 7 1', 'ok')
    says('the view says so', a, 'peer 1', 'ok held paths 2 losses 0 revoked 1')
    says('and a wait ends', a, 'wait 0 20000', 'ECONNRESET')
    says('release', a, 'release', 'ok')
    says('a window to read', b, 'alloc 4096 6 r', 'ok')
    says('is found', a, 'lookup 1 6 1000', 'ok')
    refused('not to write', a, 'import rw sigbus', 'EACCES', 'for reading')
    says('but to read', a, 'import r sigbus', 'ok')
    says('it reads', a, 'load peer 0', 'ok 0')
    says('freed again', b, 'free', 'ok')
    says('the other kind of loss', a, 'load peer 0', 'SIGBUS')
    says('release', a, 'release', 'ok')
    sizes = 0
    for tag in range(100, 140):
        sizes += b.ask(f'alloc 1048576 {tag} rw') == 'ok'
    refused('40 MiB of 10', b, 'alloc 1048576 99 rw', 'ENOSPC', 'is full')
    ok('most of it could be had', 8 <= sizes <= 10, sizes)
    a.ask('close')
    b.ask('close')


def routes(owner):
    """What the owner changes is obeyed"""
    a, b = open_node(0), open_node(1)
    b.ask('alloc 4096 5 rw')
    a.ask('lookup 1 5 10000')
    a.ask('import rw absorb')
    until(b, 'peer 0', 'ok held')
    says('all paths', a, 'peer 1', 'ok held paths 2')
    ok('a link goes', owner.ask('link 1 0 down') == 'done')
    says('a path less', a, 'peer 1', 'ok held paths 1 losses 0')
    ok('a table of the other plane', owner.ask('entry 1 1 down') == 'done')
    says('no path', a, 'peer 1', 'ok unreachable paths 0 losses 1')
    says('the import is gone', a, 'load peer 0', f'ok {2**64 - 1:x}')
    refused('a ring', a, 'ring 1 0', 'EHOSTUNREACH', 'no route')
    refused('a lookup', a, 'lookup 1 5 0', 'EHOSTUNREACH', 'no route')
    says('the other side', b, 'peer 0', 'ok unreachable paths 0 losses 1')
    owner.ask('link 1 0 up')
    says('it returns', a, 'peer 1', 'ok held paths 1 losses 1')
    a.ask('release')
    says('and can be found', a, 'lookup 1 5 10000', 'ok')
    says('imported', a, 'import rw absorb', 'ok')
    says('and read', a, 'load peer 0', 'ok 0')
    owner.ask('entry 1 1 up')
    owner.ask('member 1 3')
    says('another partition', a, 'peer 1', 'ok unreachable paths 0 losses 2')
    owner.ask('member 0 3')
    says('and there, too', a, 'peer 1', 'ok held paths 2 losses 2')
    owner.ask('member 0 0')
    owner.ask('member 1 0')
    a.ask('close')
    b.ask('close')


def ends(owner):
    """Ends of all kinds"""
    a, b = open_node(0), open_node(1)
    b.ask('alloc 4096 5 rw')
    a.ask('lookup 1 5 10000')
    a.ask('import rw absorb')
    b.ask('store own 0 77')
    a.send('wait 0 20000')
    time.sleep(0.2)
    b.kill()
    ok('a process is killed: who waits is told', a.hear().startswith('ECONNRESET'))
    says('and sees which it was', a, 'peer 1', 'ok vacant paths 2 losses 1')
    says('and reads nothing of it', a, 'load peer 0', f'ok {2**64 - 1:x}')
    a.ask('release')
    b = open_node(1)
    good, _, got = until(b, 'peer 0', 'ok held')
    ok('another one comes', good, got)
    good, _, got = until(a, 'peer 1', 'ok held')
    ok('and is seen', good, got)

    b.ask('alloc 4096 8 rw')
    b.proc.send_signal(signal.SIGSTOP)
    good, took, got = until(a, 'peer 1', 'ok vacant', 40)
    ok('a process is stopped: it is lost within its timeout', good and 5 < took < 25, took, got)
    b.proc.send_signal(signal.SIGCONT)
    good, _, got = until(b, 'wait 0 100', 'ENODEV')
    ok('it goes on, and is fenced', good, got)
    refused('it has no memory', b, 'alloc 4096 7 rw', 'ENODEV', '')
    says('what it had is its own now', b, 'store own 0 1', 'ok')
    refused('it cannot attach beside that', b, f'second {domain(2)} 1', 'ENODEV', 'was expelled')
    b.ask('close')
    says('it returns', b, f'open {domain(2)} 1', 'ok')
    good, _, got = until(a, 'peer 1', 'ok held')
    ok('and is seen', good, got)

    owner.proc.send_signal(signal.SIGSTOP)
    good, took, got = until(a, 'wait 1 1000', 'ENODEV', 40)
    ok('the owner is stopped: its domain is lost within its timeout', good and 5 < took < 25, took, got)
    owner.proc.send_signal(signal.SIGCONT)
    a.ask('close')
    b.ask('close')


def main():
    """All of it"""
    daemon = subprocess.Popen([f'{TOOLS}/vfabswitchd', '--dir', TMP, '--size', '64M', '--nodes', '6',
                               'rack'], stderr=subprocess.DEVNULL)
    PROCS.append(daemon)
    while not os.path.exists(f'{TMP}/rack/status'):
        time.sleep(0.05)

    def own():
        owner = Talk(f'{TOOLS}/test/bpowner', f'{TMP}/rack/node0', 'job', '1:0,2:1,3:2,4:3')
        if owner.hear() != 'ready':
            ok('the owner', False)
            sys.exit(1)
        return owner

    owner = own()
    attaching()
    windows()
    routes(owner)
    ends(owner)
    owner.kill()

    owner = own()
    a = open_node(0)
    owner.ask('garble')
    refused('a domain that makes no sense is none', a, 'alloc 4096 1 r', 'ENODEV', '')
    a.ask('close')
    refused('and cannot be joined', a, f'open {domain(1)} 0', 'EBADMSG', 'makes no sense')
    owner.kill()
    owner = own()
    says('a new one', a, f'open {domain(1)} 0', 'ok')
    ok('it is deleted', owner.ask('delete') == 'done')
    refused('all endpoints end', a, 'alloc 4096 1 r', 'ENODEV', '')
    a.ask('close')
    owner.proc.wait()

    owner = own()
    a, b = open_node(0), open_node(1)
    daemon.send_signal(signal.SIGSTOP)
    c = Talk(f'{TOOLS}/test/coopnode')
    refused('a daemon that is stopped', c, f'open {domain(2)} 1', 'EAGAIN', 'is it stopped?')
    c.kill()
    daemon.kill()
    says('without vfabswitchd', b, 'alloc 4096 9 rw', 'ok')
    says('those who joined', a, 'lookup 1 9 10000', 'ok')
    says('go on', a, 'import rw absorb', 'ok')
    a.kill()
    good, took, got = until(b, 'peer 0', 'vacant', 40)
    ok('and find out who died by its beat', good, took, got)
    print(f'1..{COUNT}')
    sys.exit(FAILED)


main()
