/**
 * Imported into Jest and its workers. A worker that has nothing more to do frees its heap before it ends; with hundreds
 * of megabytes on a busy machine that takes longer than the half second after which Jest ends it by force and speaks of
 * leaks. process.exit() ends it without that. A worker whose Jest is gone ends as well.
 */
if (process.argv[1]?.includes('jest-worker')) {
  process.once('beforeExit', code => process.exit(code));
  process.once('disconnect', () => process.exit());
  // Node.js keeps a process with such a listener alive for it: a worker without work would never end by itself.
  process.channel?.unrefCounted?.();
}
