#pragma once
// The API level of libfuse 3.14 (Debian 12): newer libraries keep it.
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
