/* The copy of scela-pmix that scela-nla carries: the bytes of its stripped executable, which
 * nla/ranks/pmix_program.cpp executes where no scela-pmix is installed. scela-leaf has no copy.
 *
 * The included header has the digest of the copy, for compiler caches. */
#include SCELA_PMIX_DIGEST

__asm__(
    ".section .rodata\n"
    ".global kScelaPmixImage\n"
    ".balign 16\n"
    "kScelaPmixImage:\n"
    ".incbin \"" SCELA_PMIX_FILE
    "\"\n"
    ".global kScelaPmixImageEnd\n"
    "kScelaPmixImageEnd:\n"
    ".byte 0\n"
    ".previous\n");
