#include "build_info.h"

#ifndef WELKIN_COMMIT
#define WELKIN_COMMIT
#endif

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *welkin_build_commit(void) { return TEXT(WELKIN_COMMIT); }
