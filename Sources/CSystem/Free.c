#define _GNU_SOURCE
#include "CSystem.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static int wipes;

/* The C library maps what is larger by itself, and the kernel zeroes that when it takes it back. */
enum { SMALL = 128 << 10 };

void coffre_wipe_freed_memory(void) {
#ifdef __GLIBC__
  /* The threshold would rise with what is freed. */
  mallopt(M_MMAP_THRESHOLD, SMALL);
#endif
  __atomic_store_n(&wipes, 1, __ATOMIC_RELAXED);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FREE_IS_TAKEN
#endif
#endif

#if defined(__GLIBC__) && !defined(FREE_IS_TAKEN)
/* In the place of the C library's, for all that is linked here: a name of a file passes through strings, arrays
   and libraries that know nothing of secrets. Who else has taken that place, a preloaded allocator say, has
   given out the memory and takes it back. */
static void (*next)(void *);

__attribute__((constructor)) static void find_next(void) { next = (void (*)(void *))dlsym(RTLD_NEXT, "free"); }

void free(void *memory) {
  if (memory != NULL && __atomic_load_n(&wipes, __ATOMIC_RELAXED)) {
    size_t size = malloc_usable_size(memory);
    if (size <= SMALL) explicit_bzero(memory, size);
  }
  /* The few bytes that libraries free before they are all there are never used again. */
  if (next != NULL) next(memory);
}
#endif
