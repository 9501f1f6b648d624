/* The copy of scela-pmix that scela-nla carries: the bytes of its stripped executable, which
 * nla/ranks/pmix_program.cpp executes where no scela-pmix is installed. scela-leaf has no copy. */

__asm__(
    ".section .rodata\n"
    ".global scela_pmix_image\n"
    ".balign 16\n"
    "scela_pmix_image:\n"
    ".incbin \"" SCELA_PMIX_FILE
    "\"\n"
    ".global scela_pmix_image_end\n"
    "scela_pmix_image_end:\n"
    ".byte 0\n"
    ".previous\n");
