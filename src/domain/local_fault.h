/* Faults of this machine, or of services that its operator runs, that prevent an attempt. They say
 * nothing about the receiver: the callback keeps its place in the schedule, and the endpoint's
 * health does not change. docs/operators/monitoring.md lists them. */
#pragma once

#include "base/buf.h"

enum local_fault {
    LOCAL_FAULT_NONE,
    LOCAL_FAULT_DESCRIPTORS,  /* EMFILE, ENFILE */
    LOCAL_FAULT_MEMORY,       /* ENOMEM, ENOBUFS */
    LOCAL_FAULT_ADDRESS,      /* EADDRNOTAVAIL: no free port, or the source address is gone */
    LOCAL_FAULT_FORBIDDEN,    /* EACCES, EPERM: this machine's own firewall */
    LOCAL_FAULT_ROUTE,        /* ENETUNREACH, and there is no route to the Internet at all */
    LOCAL_FAULT_NAME_SERVERS, /* this machine's name servers answer nothing */
    LOCAL_FAULT_PROXY,        /* --proxy */
    LOCAL_FAULT_CONNECTIONS,  /* all connections of the loop were in use until the deadline */
};
#define LOCAL_FAULTS 9

/* The fault that an errno of a socket call means. LOCAL_FAULT_NONE: no fault, or a missing route,
 * which send/opening.c must look up. */
enum local_fault local_fault_of_error(int error);
const char *local_fault_name(enum local_fault f); /* "descriptors"; not for LOCAL_FAULT_NONE */
/* A sentence for operators: what is missing. */
const char *local_fault_text(enum local_fault f);
/* What an operator can do about it. */
const char *local_fault_fix(enum local_fault f);
