#define _GNU_SOURCE
#include "CSystem.h"

#include <malloc.h>
#include <string.h>

static int wipes;

/* What is larger is one of our buffers, which wipe themselves. */
enum { SMALL = 8192 };

void coffre_wipe_freed_memory(void) { __atomic_store_n(&wipes, 1, __ATOMIC_RELAXED); }

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FREE_IS_TAKEN
#endif
#endif

#if defined(__GLIBC__) && !defined(FREE_IS_TAKEN)
/* In the place of the C library's, for all that is linked here: a name of a file passes through strings, arrays
   and libraries that know nothing of secrets. */
extern void __libc_free(void *memory);

void free(void *memory) {
  if (memory != NULL && __atomic_load_n(&wipes, __ATOMIC_RELAXED)) {
    size_t size = malloc_usable_size(memory);
    if (size <= SMALL) explicit_bzero(memory, size);
  }
  __libc_free(memory);
}
#endif
