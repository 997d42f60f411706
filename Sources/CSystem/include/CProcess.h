/* Processes, signals, sockets and the terminal: what Swift cannot import, or not without pointers. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Starts a program. `words` is `count` strings, each ended by NUL. Descriptor from[i] becomes i in the
   child, -1 is /dev/null, -2 is the parent's own. Detached: in a session of its own, and nothing else is open in it. Signals are as at the
   start of a program. Returns 0 or an errno. */
int coffre_spawn(const char *path, const char *words, size_t count, const int *from, int descriptors,
                 int detached, int *pid);
/* The exit status if the process ended by itself, minus the signal that killed it; or -1000 - errno. */
int coffre_wait(int pid);
/* Blocks TERM, INT, HUP, QUIT and USR1 in the calling thread and those it starts, and ignores PIPE. */
void coffre_hold_signals(void);
/* Waits for one of them. */
int coffre_wait_signal(void);
/* Ends the process by a signal, held or not; returns only where that signal ends none. */
void coffre_end_by(int number);
/* Opens /dev/null as those of 0 to 2 that are closed, and takes SIGCHLD as at the start of a program. 0 or -1. */
int coffre_settle(void);
int coffre_pipe(int descriptors[2]);
int coffre_unmount(const char *path);
int coffre_forbid_dumps(void);
/* The device of what a link of /proc leads to, as two numbers; its filesystem is not asked. 0 or -1. */
int coffre_device_of(const char *path, unsigned *major, unsigned *minor);
/* A listening socket at a path, or a connection to one; -1 and errno: EAGAIN if nobody accepted it or
   made room for it within the time. */
int coffre_listen(const char *path);
int coffre_connect(const char *path, int milliseconds);
/* Bytes sit there, or the end, within the time: 1; else 0. Negative waits for ever. */
int coffre_poll(int fd, int milliseconds);
/* Reads a line from a terminal without echo, at most `limit` bytes, the newline included. -1 and errno: EINTR
   after the process was stopped, or after a signal it ignores; what was typed so far is lost. The echo is back
   when it returns or when a signal ends the process. */
long coffre_read_hidden(int tty, void *buffer, size_t limit);
/* A line for the system's log, syslog(3): an error, or what is only to be known. */
void coffre_log(const char *text, int is_error);
/* Two ends of a socket for packets; each may carry one descriptor, -1 for none. -1 and errno; 0 bytes at the end. */
int coffre_packet_sockets(int descriptors[2]);
long coffre_send_packet(int fd, const void *bytes, size_t count, int passed);
long coffre_receive_packet(int fd, void *bytes, size_t limit, int *passed);
/* Opens the system's log, and reads the time zone, while both can be had. */
void coffre_open_log(void);
