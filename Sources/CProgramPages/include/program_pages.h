#ifndef WELKIN_PROGRAM_PAGES_H
#define WELKIN_PROGRAM_PAGES_H

/// Removes the pages of the program and its libraries from the process: code, and data that never changes (Linux; elsewhere nothing).
///
/// The system has them in its cache of files as long as it has room there, and gives back those that are needed again. A debugger's
/// breakpoints go with them.
void welkin_release_program_pages(void);

#endif
