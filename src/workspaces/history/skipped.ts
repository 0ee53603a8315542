/**
 * Folders that have no history, wherever they are: what other programs keep or make again by themselves. Files that
 * `.gitignore` names do have one: a `.env` or a build is what one may want back.
 */
const SKIPPED = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '__pycache__',
  '.venv',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
]);

/** Whether a path lies in a folder that has no history, or is one. */
export function isSkipped(path: string): boolean {
  return path.split('/').some(name => SKIPPED.has(name));
}
