// What Swift cannot import from glibc: variadic calls, macros, names behind _GNU_SOURCE, thread-local slots.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/xattr.h>

#include "CBus.h"
#include "CConfine.h"
#include "CProcess.h"

int coffre_open(int directory, const char *path, int flags, unsigned mode);
int coffre_fallocate(int fd, int mode, off_t offset, off_t length);
/* renameat2(2) with RENAME_NOREPLACE; EEXIST if the new name is there. Where the filesystem has no such call it is for
   anything but directories. */
int coffre_rename_new(int from, const char *name, int to, const char *new_name);
/* The flag that `chattr +i` sets, which holds for root as well. */
int coffre_is_immutable(int fd);
int coffre_set_immutable(int fd, int on);
/* When a file was made, in nanoseconds since 1970; -1 where that is not kept. */
int coffre_birth(int fd, uint64_t *nanoseconds);
/* The flag that `chattr +d` sets, by which dump(8) and some backup programs pass a file by. */
int coffre_is_undumped(int fd);
int coffre_set_undumped(int fd, int on);
int coffre_memfd_secret(void);
int coffre_accept4(int fd);
int coffre_peer(int fd, int *pid, unsigned *uid, unsigned *gid);
long coffre_getrandom(void *buffer, size_t length);
int coffre_limit_core(void);
int coffre_mlock(void *address, size_t length);
/* MADV_DONTDUMP and MADV_WIPEONFORK; returns the number of advices the kernel took. */
int coffre_advise_secret(void *address, size_t length);
/* From now on small pieces are wiped when they are given back by free(3). */
void coffre_wipe_freed_memory(void);
void coffre_rwlock_init(pthread_rwlock_t *lock);
void coffre_cond_init(pthread_cond_t *condition);
void coffre_name_thread(const char *name);

/* The calling thread's own value, NULL at first. What was set is given to `release` when the thread
   ends. Returns 0 or an errno. */
void *coffre_thread_slot(void);
int coffre_set_thread_slot(void *value, void (*release)(void *));

extern const int coffre_o_path, coffre_o_directory, coffre_o_nofollow, coffre_o_cloexec;
