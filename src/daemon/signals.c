/* SIGTERM and SIGINT stop, SIGHUP reads the settings again; other signals that tools send to
 * daemons are ignored. */
#include "daemon/signals.h"
#include "daemon/daemon.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static sigset_t handled(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

void daemon_block_signals(void)
{
    sigset_t set = handled();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN); /* other servers reopen their logs; here SIGHUP does */
    signal(SIGUSR2, SIG_IGN);
}

int signals_next(void)
{
    sigset_t set = handled();
    struct timespec wait = {.tv_nsec = 250000000};
    int signal = sigtimedwait(&set, NULL, &wait);
    return signal > 0 ? signal : 0;
}

bool daemon_stop_asked(void)
{
    sigset_t set;
    return sigpending(&set) == 0 &&
           (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1);
}
