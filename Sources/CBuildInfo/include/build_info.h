#ifndef WELKIN_BUILD_INFO_H
#define WELKIN_BUILD_INFO_H

/// The commit that the program was built from, in hexadecimal; empty in a build that did not name one with -DWELKIN_COMMIT.
const char *welkin_build_commit(void);

#endif
