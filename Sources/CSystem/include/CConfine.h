/* Giving up what a process that serves a vault does not need, for ever: Landlock and seccomp. */
#pragma once
#include <stdint.h>

/* No program it starts gets more rights than it has, PR_SET_NO_NEW_PRIVS. 0 or -1. */
int coffre_no_new_privileges(void);

/* The version of Landlock the kernel has, 0 for none. */
int coffre_landlock_version(void);
/* A set of rules that refuses whatever is not allowed; -1 and errno. */
int coffre_landlock_rules(int version);
/* Allows what is below an open path: to read, or to change as well. 0 or -1. */
int coffre_landlock_allow(int rules, int version, int path, int changing);
/* From now on for this thread and those it starts. 0 or -1. */
int coffre_landlock_enter(int rules);

/* Refuses with EPERM, in all threads, what Confinement.swift lists. 0 or an errno. */
int coffre_refuse_calls(void);
