// For dl_iterate_phdr.
#define _GNU_SOURCE

#include "program_pages.h"

#ifdef __linux__
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int release_segments(struct dl_phdr_info *file, size_t size, void *unused) {
    (void)size, (void)unused;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[i];
        // Memory that was ever writable may differ from its file, relocated addresses for example.
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        const uintptr_t address = file->dlpi_addr + segment->p_vaddr;
        const uintptr_t start = (address + page - 1) / page * page;
        const uintptr_t end = (address + segment->p_memsz) / page * page;
        // Pages that cannot be removed, because they are locked for example, stay.
        if (start < end) (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void welkin_release_program_pages(void) { (void)dl_iterate_phdr(release_segments, NULL); }
#else
void welkin_release_program_pages(void) {}
#endif
