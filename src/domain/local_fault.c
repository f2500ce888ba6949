/* Names and texts of local faults. */
#include "domain/local_fault.h"

#include "base/check.h"

#include <errno.h>

static const struct {
    const char *name, *text, *fix;
} faults[LOCAL_FAULTS] = {
    [LOCAL_FAULT_DESCRIPTORS] =
        {"descriptors", "No file descriptor is free for a connection (EMFILE or ENFILE).",
         "Raise the limit of open files (LimitNOFILE=, ulimit -n, fs.file-max)."},
    [LOCAL_FAULT_MEMORY] = {"memory",
                            "The kernel has no memory for a connection (ENOMEM or ENOBUFS).",
                            "Free memory, or raise net.ipv4.tcp_mem."},
    [LOCAL_FAULT_ADDRESS] =
        {"address",
         "No local port is free, or the --source-address is not on this machine (EADDRNOTAVAIL).",
         "Put the address back on the machine, widen net.ipv4.ip_local_port_range, or add a "
         "--source-address."},
    [LOCAL_FAULT_FORBIDDEN] =
        {"forbidden", "This system does not permit a connection (EACCES or EPERM).",
         "Allow outgoing connections in this machine's firewall (nftables, iptables, SELinux)."},
    [LOCAL_FAULT_ROUTE] = {"route", "This machine has no route to the Internet (ENETUNREACH).",
                           "Look at the network interface and the default route (ip route)."},
    [LOCAL_FAULT_NAME_SERVERS] =
        {"name_servers",
         "The name servers of this machine (resolv.conf, --dns-server) do not "
         "answer.",
         "Start the resolver, or name another one with --dns-server."},
    [LOCAL_FAULT_PROXY] = {"proxy", "The proxy (--proxy) takes no connections, or not ours.",
                           "Start the proxy, or correct the URL and the credentials of --proxy."},
    [LOCAL_FAULT_CONNECTIONS] = {"connections", "All connections to receivers are in use.",
                                 "Raise --loops, or the limit of open files."},
};

enum local_fault local_fault_of_error(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE: return LOCAL_FAULT_DESCRIPTORS;
    case ENOMEM:
    case ENOBUFS: return LOCAL_FAULT_MEMORY;
    case EADDRNOTAVAIL: return LOCAL_FAULT_ADDRESS;
    case EACCES:
    case EPERM: return LOCAL_FAULT_FORBIDDEN;
    default: return LOCAL_FAULT_NONE;
    }
}

const char *local_fault_name(enum local_fault f)
{
    ASSERT(f > LOCAL_FAULT_NONE && (unsigned)f < LOCAL_FAULTS);
    return faults[f].name;
}

const char *local_fault_text(enum local_fault f)
{
    ASSERT(f > LOCAL_FAULT_NONE && (unsigned)f < LOCAL_FAULTS);
    return faults[f].text;
}

const char *local_fault_fix(enum local_fault f)
{
    ASSERT(f > LOCAL_FAULT_NONE && (unsigned)f < LOCAL_FAULTS);
    return faults[f].fix;
}
