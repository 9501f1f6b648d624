/* ScELA's libpmi.so.0 tells a program, beyond PMI, which ranks of its job have failed.
 *
 * This works under scela-run --on-failure wait: its agents mark failed ranks in memory that the
 * ranks of a node share, except with --pmi port. Elsewhere no rank is ever reported as failed. The
 * functions may be called from any thread, after PMI_Init.
 */
#ifndef SCELA_PMI_EXT_H
#define SCELA_PMI_EXT_H

/* The names are the interface's: NOLINTBEGIN(readability-identifier-naming) */
#ifdef __cplusplus
extern "C" {
#endif

/* Returns 1 if gets are answered from shared memory and failures are reported, else 0. */
int SCELA_PMI_Has_segment(void);
/* Returns 1 if the rank has failed, 0 if no failure of it is known. Makes no system call. */
int SCELA_PMI_Rank_failed(int rank);
/* Returns a number that grows whenever a rank fails. Makes no system call. */
unsigned SCELA_PMI_Failures(void);
/* Blocks until SCELA_PMI_Failures() differs from `seen`, for at most timeout_ms milliseconds; a
   negative timeout_ms means without limit. Returns 1 if it differs, 0 if the time is up. Returns -1
   if PMI_Init was not called or failures are not reported here. */
int SCELA_PMI_Wait_failure(unsigned seen, int timeout_ms);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */
#endif
