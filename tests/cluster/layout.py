"""What a cluster looks like: names, addresses, folders, and the files that each host has of its own.

Pure: builds names and texts. Host 0 is the launcher's, "head"; host N is node00N.
"""
import ipaddress

HOME = "/root"
SHARED = "/srv"  # one file system for all hosts, as a cluster's shared disk
# Each host has these to itself, empty at first. What is left in WATCHED is a job's fault.
WATCHED = ("/tmp", "/dev/shm", "/run", "/var/tmp", HOME)
PRIVATE = WATCHED + ("/var/log", "/etc/ssh")
CACHE = HOME + "/.cache"  # hosts keep agents there
OF_THE_HARNESS = ("/run/sshd", "/run/sshd.pid", HOME + "/.ssh", CACHE)
FILL = "/.cluster-fill"  # in a folder whose disk is full
SSHD = "/usr/sbin/sshd"
SSHD_PID = "/run/sshd.pid"
SSHD_LOG = "/var/log/sshd.log"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"

MAX_HOSTS = 1000  # a bridge has 1024 ports
_NETWORK = ipaddress.IPv4Address("10.99.0.0")
_NETWORK6 = ipaddress.IPv6Address("fd00::")
NETWORK, NETWORK6 = "10.99.0.0/16", "fd00::/64"
# Hosts reach each other by way of the bridge's own address: the table of link addresses, one for the whole
# machine and 1024 entries long, then has two entries a host and not one a pair.
GATEWAY = "10.99.255.254"
NOBODY = "10.99.254.254"  # the name "nobody": an address that no host has


def name(index):
    return f"node{index:03}" if index else "head"


def address(index):
    return str(_NETWORK + (256 + index if index else 1))


def address6(index):
    return str(_NETWORK6 + (256 + index if index else 1))


def hosts_file(count):
    lines = ["127.0.0.1 localhost", "::1 localhost6", f"{NOBODY} nobody"]
    for index in range(count + 1):
        lines += [f"{address(index)} {name(index)}", f"{address6(index)} {name(index)}-v6"]
    return "\n".join(lines) + "\n"


def known_hosts(keys):
    """The file, from the public key of each host."""
    return "".join(f"{name(i)},{name(i)}-v6,{address(i)},{address6(i)} {key}\n" for i, key in enumerate(keys))


def sshd_config(kex, extra):
    """sshd takes the first value it reads: extra lines win."""
    lines = list(extra)
    if kex:
        lines.append(f"KexAlgorithms {kex}")
    lines += [f"HostKey {HOST_KEY}", f"PidFile {SSHD_PID}", "UsePAM no", "PasswordAuthentication no",
              "KbdInteractiveAuthentication no", "PermitRootLogin yes", "MaxStartups 1000", "MaxSessions 1000",
              "UseDNS no", "PrintMotd no", "PrintLastLog no", "X11Forwarding no",
              "Subsystem sftp internal-sftp"]
    return "\n".join(lines) + "\n"


def passwd(text, shell):
    """The machine's passwd with another shell and home for root."""
    lines = [line for line in text.splitlines() if not line.startswith("root:")]
    return "\n".join([f"root:x:0:0:root:{HOME}:{shell}"] + lines) + "\n"


def network_of_host(index):
    """Lines of ip -batch for the host's own namespace."""
    return (f"link set lo up\nlink set eth0 up\n"
            f"addr add {address(index)}/16 brd + dev eth0 noprefixroute\n"
            f"addr add {address6(index)}/64 dev eth0 nodad\n"
            f"route add {GATEWAY} dev eth0 src {address(index)}\n"
            f"route add {NETWORK} via {GATEWAY} src {address(index)}\n")


def bridge():
    """Lines of ip -batch that make the bridge: with an address of its own, else it has the least of its ports'."""
    return (f"link set lo up\n"
            f"link add br0 address 02:00:00:00:00:02 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n"
            f"addr add {GATEWAY}/16 dev br0\nlink set br0 up\n")


def port(index):
    """The bridge's end of the host's cable."""
    return f"h{index}"


def cable(index, pid):
    """A line of ip -batch: a cable from the bridge to the namespace of the process."""
    return f"link add {port(index)} up master br0 type veth peer name eth0 netns {pid}\n"


def firewall(closed):
    """Commands of ip that let only port 22 out of a host, so that all else meets silence; or that end this."""
    for family, network, hole in (("-4", NETWORK, "10.99.254.253"), ("-6", NETWORK6, "fd00::dead")):
        verb = "add" if closed else "del"
        if closed:
            yield [family, "neigh", "replace", hole, "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent"]
        yield [family, "route", verb, network, "via", hole, "dev", "eth0", "onlink", "table", "22"]
        for priority, what in (("101", ["sport", "22", "lookup", "main"]), ("102", ["dport", "22", "lookup", "main"]),
                               ("103", ["lookup", "22"])):
            yield [family, "rule", verb, "pref", priority, "ipproto", "tcp", "to", network, *what]
