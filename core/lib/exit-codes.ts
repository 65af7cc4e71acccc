/** The exit codes of the commands and of a node, once; 0 is a clean end. Data, no state. */

/** It cannot run here, or not go on: the disk, the port, a directory that is not ours, a simulation that failed. */
export const EXIT_CANNOT_RUN = 1;
/** It was called wrongly: a setting, a flag. Nothing was touched. */
export const EXIT_USAGE = 2;
/** A mistake inside Tidemark (EX_SOFTWARE of sysexits.h). */
export const EXIT_SOFTWARE = 70;
